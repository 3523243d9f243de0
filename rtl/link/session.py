"""Session of a link: both sides agree on a restart after a reset of either side."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.wide_counter import WideCounter

from .layouts import SessionState
from .parameters import LinkParameters

__all__ = ["LinkSession"]


class LinkSession(wiring.Component):
    """State machine of a session, whose state every control frame reports.

    No state survives a reset, so the protocol relies on time: a frame that arrives
    ``lifetime_cycles`` after this side became quiet was made after this time, and a frame that
    arrives another ``lifetime_cycles`` later was made when no earlier frame of this side was left.
    `docs/link.md` has the argument.

    Members
    -------
    intact : In(1)
        An intact frame ends.
    peer_state : In(:class:`SessionState`)
        State of the other side when it made the frame; ``OPEN`` in a frame with packets.
    restart : In(1)
        End the session.
    empty : In(1)
        No packet of the former session is left on this side.
    state : Out(:class:`SessionState`)
        State of the session. Register.
    open : Out(1)
        ``state`` is ``OPEN``.
    lost : Out(1)
        The other side restarts, and so ends the session, in this cycle.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    cycles : Signal
        Cycles since the last change of state, up to twice ``lifetime_cycles``.
    """

    def __init__(self, link: LinkParameters):
        super().__init__(
            {
                "intact": In(1),
                "peer_state": In(SessionState),
                "restart": In(1),
                "empty": In(1),
                "state": Out(SessionState),
                "open": Out(1),
                "lost": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.cycles = Signal((2 * link.lifetime_cycles).bit_length())

    def elaborate(self, platform):
        m = Module()
        m.submodules.timer = timer = WideCounter(len(self.cycles))
        expired = timer.o[-1]
        begins = Signal()
        quiet, ready, opened = (self.peer_state == state for state in SessionState)
        m.d.comb += [
            self.cycles.eq(timer.o),
            timer.step.eq(~expired),
            timer.clear.eq(begins),
            self.clock_enable.eq(timer.clock_enable | begins),
            self.open.eq(self.state == SessionState.OPEN),
            # Before the timer expires, a QUIET frame may be older than the session.
            self.lost.eq(self.open & self.intact & quiet & expired),
        ]
        with m.Switch(self.state):
            with m.Case(SessionState.QUIET):
                with m.If(self.intact & (quiet | ready) & expired & self.empty):
                    m.d.comb += begins.eq(1)
                    m.d.sync += self.state.eq(SessionState.READY)
            with m.Case(SessionState.READY):
                # At first an OPEN frame may belong to the other side's former session.
                with m.If(self.intact & (ready | (opened & expired))):
                    m.d.comb += begins.eq(1)
                    m.d.sync += self.state.eq(SessionState.OPEN)
        with m.If(self.restart | self.lost):
            m.d.comb += begins.eq(1)
            m.d.sync += self.state.eq(SessionState.QUIET)
        return m
