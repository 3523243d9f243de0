"""Sessions of a link: whatever is reset, what belongs to one session stays in it."""

from types import SimpleNamespace

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, ResetInserter, Signal

from rtl.link.layouts import SessionState
from rtl.link.parameters import LinkParameters
from rtl.link.session import LinkSession

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_LINK = LinkParameters(lifetime_cycles=8)
_LATEST = _LINK.lifetime_cycles - 3  # from the cycle that makes a flit to the one that judges it
_GONE = _LINK.lifetime_cycles
_QUIET, _READY, _OPEN = SessionState


class LinkSessionHarness(Elaboratable):
    """Two sides, each of which may be reset or restarted in any cycle, and the worst link.

    In each cycle it gives a side nothing, or any flit that the other made in the last five cycles.

    Of each side one session is followed, whichever: from a cycle in which it opens to the one in
    which it ends.
    """

    def __init__(self, session: type = LinkSession):
        self._session = session

    def elaborate(self, platform):
        m = Module()
        sides = [self._side(m, name) for name in "ab"]
        for here, there in (sides, sides[::-1]):
            self._arrive(m, here, there)
        self._assert_pairs(m, sides)
        for here, there in (sides, sides[::-1]):
            self._assert_states(m, here, there)
        return m

    def _side(self, m: Module, name: str) -> SimpleNamespace:
        """A side, its followed session, and for each kind of flit the cycles since it made one."""
        session, reset = self._session(_LINK), Signal(name=f"reset_{name}")
        m.submodules[name] = ResetInserter(reset)(session)
        free(m, reset, session.restart, session.empty, session.heard, session.told)
        was_open, chosen = Signal(name=f"was_open_{name}"), Signal(name=f"chosen_{name}")
        follows, follows_on = Signal(name=f"follows_{name}"), Signal(name=f"follows_on_{name}")
        m.d.comb += follows.eq(session.open & Mux(was_open, follows_on, ~chosen & AnySeq(1)))
        m.d.sync += [
            was_open.eq(session.open & ~reset),
            follows_on.eq(follows),
            chosen.eq(chosen | follows),
        ]
        had_others = Signal(name=f"had_others_{name}")
        with m.If(session.open & ~follows & ~chosen):
            m.d.sync += had_others.eq(1)
        ages = {}
        for kind, made in (
            ("quiet", session.state == _QUIET),
            ("ready", session.state == _READY),
            ("followed", follows),
            ("other", session.open & ~follows),
        ):
            age = Signal(range(_GONE + 1), init=_GONE, name=f"{kind}_{name}")
            m.d.sync += age.eq(Mux(made, 1, age + (age != _GONE)))
            ages[kind] = age
        return SimpleNamespace(
            session=session,
            reset=reset,
            follows=follows,
            follows_on=follows_on,
            was_open=was_open,
            chosen=chosen,
            apart=Signal(name=f"apart_{name}"),
            had_others=had_others,
            **ages,
        )

    def _arrive(self, m: Module, here, there) -> None:
        """Something that lives; whether an open flit is of the followed session."""
        session = here.session
        here.of_followed = Signal(name=f"of_followed_{here.follows.name}")
        age = Signal(range(_GONE + 1), name=f"age_{here.follows.name}")
        free(m, here.of_followed)
        with m.Switch(session.told):
            with m.Case(_QUIET):
                m.d.comb += age.eq(there.quiet)
            with m.Case(_READY):
                m.d.comb += age.eq(there.ready)
            with m.Case(_OPEN):
                m.d.comb += age.eq(Mux(here.of_followed, there.followed, there.other))
        m.d.comb += [
            Assume(session.told.as_value() <= _OPEN.value),
            Assume(~session.heard | (age <= _LATEST)),
        ]

    def _assert_pairs(self, m: Module, sides) -> None:
        """If two sessions exchange a flit, neither of them does so with any other session."""
        joined = Signal()
        joins = [_takes(side) & side.follows & side.of_followed for side in sides]
        m.d.sync += joined.eq(joined | joins[0] | joins[1])
        for here, there in (sides, sides[::-1]):
            here.joined = joined
            m.d.sync += here.apart.eq(
                here.apart
                | (_takes(here) & here.follows & ~here.of_followed)
                | (_takes(there) & ~there.follows & there.of_followed)
            )
            m.d.comb += [
                Assert(~(joined & here.apart), "a session exchanges flits with two others"),
                Cover(joined & here.session.open & ~here.follows, "another session"),
                Cover(joined & here.had_others, "not the first session"),
                Cover(here.apart & there.chosen, "two sessions that never meet"),
                Cover(here.session.lost & joined, "the other side begins anew"),
            ]

    def _assert_states(self, m: Module, here, there) -> None:
        """How long which flits live, and who waits for whom."""
        session, cycles, other = here.session, here.session.cycles, there.session
        quiet, ready = session.state == _QUIET, session.state == _READY
        lives = here.followed != _GONE
        opens_other = other.open & ~there.follows
        for holds, message in (
            (session.state.as_value() <= _OPEN.value, "state"),
            (cycles <= 2 * _GONE, "cycles"),
            (~here.follows_on | here.chosen, "followed, not chosen"),
            (here.chosen | (here.followed == _GONE), "made, not chosen"),
            (~(here.joined | here.apart) | here.chosen, "met, not chosen"),
            (~session.open | here.was_open | (cycles == 0), "open"),
            (~here.was_open | session.open | (quiet & (cycles == 0)), "closed"),
            (~quiet | _made_before(here.ready, cycles), "ready before quiet"),
            (~quiet | _made_before(here.followed, cycles), "followed before quiet"),
            (~quiet | _made_before(here.other, cycles), "other before quiet"),
            (~ready | _made_before(here.quiet, cycles), "quiet before ready"),
            (~ready | (here.followed == _GONE), "followed before ready"),
            (~ready | (here.other == _GONE), "other before ready"),
            (~session.open | _made_before(here.ready, cycles), "ready before open"),
            (~session.open | _made_before(here.quiet, cycles), "quiet before open"),
            ((here.followed == _GONE) | (here.other == _GONE), "flits of two sessions"),
            (~here.follows | (here.other == _GONE), "flits of another session"),
            (~(session.open & ~here.follows) | ~lives, "flits of the followed session"),
            (
                ~(quiet & (cycles > _GONE) & other.open) | (other.cycles + _GONE >= cycles),
                "opens although the other one is quiet",
            ),
            (~(ready & other.open) | (other.cycles <= cycles), "opens before the other is ready"),
            (
                ~(here.joined & here.follows) | there.follows | (other.state == _QUIET),
                "joined, and another one begins",
            ),
            (~(here.joined & here.follows) | (there.other == _GONE), "joined, and hears another"),
            (~(here.joined & lives) | ~opens_other, "joined, and heard by another"),
            (
                ~(here.apart & here.follows) | opens_other | (other.state == _QUIET),
                "apart, and the followed one begins",
            ),
            (~(here.apart & here.follows) | (there.followed == _GONE), "apart, and hears it"),
            (~(here.apart & lives) | ~there.follows, "apart, and heard by it"),
        ):
            m.d.comb += invariant(holds, message)


def _takes(side: SimpleNamespace):
    """Whether it takes a flit of a session."""
    session = side.session
    return session.open & session.heard & (session.told == _OPEN)


def _made_before(age, cycles):
    """Whether what was made last is older than a state that has lasted for so many cycles."""
    return (age == _GONE) | (age > cycles)


PROOFS = (
    Proof(
        name="link-session",
        statement="Of two sessions that exchange a flit neither exchanges one with any other "
        "session, whichever side is reset or restarted when, over a link that loses, repeats, "
        "delays and reorders",
        blocks=(LinkSession,),
        harness=LinkSessionHarness,
        geometry="flits of at most 5 cycles, a quiet time of 16",
        reason="Times only have to exceed each other",
        depth=12,
        cover_depth=48,
        slow=True,
    ),
)
