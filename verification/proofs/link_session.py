"""Proof of the link's sessions: flits of one session are never accepted in another."""

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
_LATEST = _LINK.lifetime_cycles - 3  # from making a flit to judging it
_GONE = _LINK.lifetime_cycles
_QUIET, _READY, _OPEN = SessionState


class LinkSessionHarness(Elaboratable):
    """Harness of two sides with the worst possible link; each may be reset or restarted at any
    time.

    In each cycle, the link gives a side any flit that the other side made in the last five cycles,
    or none.

    The harness observes one arbitrary session of each side, from a cycle in which it opens to the
    cycle in which it ends.
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
        """Make a side with its observed session and the age of its last flit of each kind."""
        session, reset = self._session(_LINK), Signal(name=f"reset_{name}")
        m.submodules[name] = ResetInserter(reset)(session)
        free(m, reset, session.restart, session.empty, session.intact, session.peer_state)
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
        """Deliver a live flit; an open one may belong to the observed session."""
        session = here.session
        here.of_followed = Signal(name=f"of_followed_{here.follows.name}")
        age = Signal(range(_GONE + 1), name=f"age_{here.follows.name}")
        free(m, here.of_followed)
        with m.Switch(session.peer_state):
            with m.Case(_QUIET):
                m.d.comb += age.eq(there.quiet)
            with m.Case(_READY):
                m.d.comb += age.eq(there.ready)
            with m.Case(_OPEN):
                m.d.comb += age.eq(Mux(here.of_followed, there.followed, there.other))
        m.d.comb += [
            Assume(session.peer_state.as_value() <= _OPEN.value),
            Assume(~session.intact | (age <= _LATEST)),
        ]

    def _assert_pairs(self, m: Module, sides) -> None:
        """Assert that two sessions that exchange a flit exchange none with other sessions."""
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
                Cover(joined & here.session.open & ~here.follows, "a later session"),
                Cover(joined & here.had_others, "an earlier session"),
                Cover(here.apart & there.chosen, "two sessions that never meet"),
                Cover(here.session.lost & joined, "the other side restarts"),
            ]

    def _assert_states(self, m: Module, here, there) -> None:
        """Relate the states of the sides to the ages of their flits."""
        session, cycles, other = here.session, here.session.cycles, there.session
        quiet, ready = session.state == _QUIET, session.state == _READY
        lives = here.followed != _GONE
        opens_other = other.open & ~there.follows
        for holds, message in (
            (session.state.as_value() <= _OPEN.value, "state"),
            (cycles <= 2 * _GONE, "cycles"),
            (~here.follows_on | here.chosen, "observed without a choice"),
            (here.chosen | (here.followed == _GONE), "a flit without a choice"),
            (~(here.joined | here.apart) | here.chosen, "met without a choice"),
            (~session.open | here.was_open | (cycles == 0), "open"),
            (~here.was_open | session.open | (quiet & (cycles == 0)), "closed"),
            (~quiet | _made_before(here.ready, cycles), "ready before quiet"),
            (~quiet | _made_before(here.followed, cycles), "observed before quiet"),
            (~quiet | _made_before(here.other, cycles), "other before quiet"),
            (~ready | _made_before(here.quiet, cycles), "quiet before ready"),
            (~ready | (here.followed == _GONE), "observed before ready"),
            (~ready | (here.other == _GONE), "other before ready"),
            (~session.open | _made_before(here.ready, cycles), "ready before open"),
            (~session.open | _made_before(here.quiet, cycles), "quiet before open"),
            ((here.followed == _GONE) | (here.other == _GONE), "flits of two sessions"),
            (~here.follows | (here.other == _GONE), "flits of another session"),
            (~(session.open & ~here.follows) | ~lives, "flits of the observed session"),
            (
                ~(quiet & (cycles > _GONE) & other.open) | (other.cycles + _GONE >= cycles),
                "opens although the other side is quiet",
            ),
            (
                ~(ready & other.open) | (other.cycles <= cycles),
                "opens before the other side is ready",
            ),
            (
                ~(here.joined & here.follows) | there.follows | (other.state == _QUIET),
                "joined, and another session begins",
            ),
            (
                ~(here.joined & here.follows) | (there.other == _GONE),
                "joined, and receives another",
            ),
            (~(here.joined & lives) | ~opens_other, "joined, and received by another"),
            (
                ~(here.apart & here.follows) | opens_other | (other.state == _QUIET),
                "apart, and the observed session begins",
            ),
            (~(here.apart & here.follows) | (there.followed == _GONE), "apart, and receives it"),
            (~(here.apart & lives) | ~there.follows, "apart, and received by it"),
        ):
            m.d.comb += invariant(holds, message)


def _takes(side: SimpleNamespace):
    """Signal that a side accepts a flit of a session."""
    session = side.session
    return session.open & session.intact & (session.peer_state == _OPEN)


def _made_before(age, cycles):
    """Signal that a flit's age exceeds the duration of the current state."""
    return (age == _GONE) | (age > cycles)


PROOFS = (
    Proof(
        name="link-session",
        statement="Two sessions that exchange a flit exchange none with any other session, even if "
        "either side is reset or restarted at any time, over a link that loses, repeats, delays "
        "and reorders flits",
        blocks=(LinkSession,),
        harness=LinkSessionHarness,
        geometry="flits that live for at most 5 cycles, a quiet time of 16",
        reason="only the order of the times matters",
        depth=12,
        cover_depth=48,
        slow=True,
    ),
)
