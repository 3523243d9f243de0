# amaranth: UnusedElaboratable=no
"""Agrees with the other side on a new beginning, whichever of them is reset."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.wide_counter import WideCounter

from .layouts import SessionState
from .parameters import LinkParameters

__all__ = ["LinkSession"]


class LinkSession(wiring.Component):
    """The states of a session, of which every control flit tells this side's.

    Nothing is remembered over a reset, so time must do: what arrives ``lifetime_cycles`` after this
    side became quiet was made after that, and what arrives as much later was made when nothing was
    left of what this side sent before. `docs/link.md` has the argument.

    Parameters
    ----------
    link : :class:`LinkParameters`

    Members
    -------
    heard : In(1)
        An intact flit arrives.
    told : In(:class:`SessionState`)
        The other side's state when it made that flit; of one with a packet, ``OPEN``.
    restart : In(1)
        Give the session up.
    empty : In(1)
        Nothing of the former session is left here.
    state : Out(:class:`SessionState`)
        A register.
    open : Out(1)
        ``state`` is ``OPEN``.
    lost : Out(1)
        In this cycle it hears that the other side begins anew.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs to read, never to drive.

    cycles : Signal
        Since the state became ``QUIET``, ``READY`` or ``OPEN``, up to twice ``lifetime_cycles``.
    """

    def __init__(self, link: LinkParameters):
        super().__init__(
            {
                "heard": In(1),
                "told": In(SessionState),
                "restart": In(1),
                "empty": In(1),
                "state": Out(SessionState),
                "open": Out(1),
                "lost": Out(1),
                "awake": Out(1),
            }
        )
        self.cycles = Signal((2 * link.lifetime_cycles).bit_length())

    def elaborate(self, platform):
        m = Module()
        m.submodules.timer = timer = WideCounter(len(self.cycles))
        over = timer.o[-1]
        begins = Signal()
        quiet, ready, opened = (self.told == state for state in SessionState)
        m.d.comb += [
            self.cycles.eq(timer.o),
            timer.step.eq(~over),
            timer.clear.eq(begins),
            self.awake.eq(timer.awake | begins),
            self.open.eq(self.state == SessionState.OPEN),
            # In a young session, a quiet flit is one of those before it.
            self.lost.eq(self.open & self.heard & quiet & over),
        ]
        with m.Switch(self.state):
            with m.Case(SessionState.QUIET):
                with m.If(self.heard & (quiet | ready) & over & self.empty):
                    m.d.comb += begins.eq(1)
                    m.d.sync += self.state.eq(SessionState.READY)
            with m.Case(SessionState.READY):
                # At first an open flit may be one of the other side's former session.
                with m.If(self.heard & (ready | (opened & over))):
                    m.d.comb += begins.eq(1)
                    m.d.sync += self.state.eq(SessionState.OPEN)
        with m.If(self.restart | self.lost):
            m.d.comb += begins.eq(1)
            m.d.sync += self.state.eq(SessionState.QUIET)
        return m
