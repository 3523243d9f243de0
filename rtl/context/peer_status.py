"""Status that a context receives from one of its peers."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS, PeerLaunch
from rtl.parameters import T3Parameters

__all__ = ["PeerStatus"]


class PeerStatus(wiring.Component):
    """Status registers for a peer: what it admits, and whether it aborted the launch.

    Only status of the current launch is used. Generations are compared by half of their range, so
    a peer that is 9 to 15 launches behind looks like one that is ahead. A peer that looks ahead
    counts as ahead only if it was seen at this launch or behind it before. A peer that is not
    enabled counts as one that has no limit and no abort.

    Members
    -------
    enable : In(1)
        The context has the peer.
    launch : In(1)
        Strobe: a launch begins.
    launched : In(1)
        A launch is running.
    launch_generation : In
        Generation of the current launch; the next launch follows it by 1 to 7.
    generation : In
        ``launch_generation`` one cycle late.
    credit_limit_in, generation_in, aborted_in : In
        Words of the peer. See :class:`~rtl.interface.signatures.ContextSignature`.
    admitted : Out(credit_limit_bits)
        Slots that the peer admits: none before its first launch and while it is at a former launch,
        all while it is at a later launch. Register.
    peer_launch : Out(:func:`PeerLaunch`)
        State of the peer. The generation is that of the latest words with a limit or an abort.
        Register.
    aborts : Out(1)
        Strobe: the peer aborted the launch. At most once for each launch, and not for an abort that
        may belong to a launch 16 generations before. Register.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    is_near : Signal
        The peer was seen at this launch, up to 8 behind it, or ahead when it was known to be ahead.
        If the peer looks ahead now, it is ahead.
    seen : Signal
        An abort of the launch has been reported.
    stale : Signal
        The peer was behind a launch that began, and has begun no launch since.
    old : Signal
        Since the launch began, the peer looks ahead and shows an abort of the launch.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        super().__init__(
            {
                "enable": In(1),
                "launch": In(1),
                "launched": In(1),
                "launch_generation": In(GENERATION_BITS),
                "generation": In(GENERATION_BITS),
                "credit_limit_in": In(p.credit_limit_bits),
                "generation_in": In(GENERATION_BITS),
                "aborted_in": In(ABORT_BITS),
                "admitted": Out(p.credit_limit_bits),
                "peer_launch": Out(PeerLaunch()),
                "aborts": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.is_near, self.seen = Signal(), Signal()
        self.stale, self.old = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        registers = self._look(m)
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any())
        return m

    def _look(self, m: Module) -> list[tuple[Signal, Value]]:
        """Compute the next values of the registers."""
        name, ahead, before = (Signal(GENERATION_BITS, name=n) for n in ("name", "ahead", "before"))
        aborted = Signal(ABORT_BITS)
        admits, is_ahead, shows, reports = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            admits.eq(self.enable & self.credit_limit_in.any()),
            aborted.eq(Mux(self.enable, self.aborted_in, 0)),
            # Without a limit and an abort, the peer may be one that was reset.
            name.eq(Mux(admits | aborted.any(), self.generation_in, self.peer_launch.generation)),
            ahead.eq(name - self.launch_generation),
            before.eq(name - self.generation),
            is_ahead.eq(~ahead[-1] & ahead.any()),
            shows.eq(self.launched & ~ahead[-1] & aborted.bit_select(ahead[:-1], 1)),
            reports.eq(
                shows & ~self.launch & ~self.seen & (self.is_near | ~(self.old | self.stale))
            ),
        ]
        admitted = Signal.like(self.admitted)
        with m.If(self.launch | ahead[-1] | ~admits | (is_ahead & ~self.is_near)):
            m.d.comb += admitted.eq(0)
        with m.Elif(is_ahead):
            # The peer has begun a later launch and waits for no tile of this launch.
            m.d.comb += admitted.eq((1 << len(admitted)) - 1)
        with m.Else():
            m.d.comb += admitted.eq(self.credit_limit_in)
        # A peer that was behind the launch before, and looks ahead of this launch, is far behind.
        stays_near = self.is_near & ~(self.launch & before[-1])
        return [
            (self.admitted, admitted),
            (self.peer_launch.admits, admits),
            (self.peer_launch.generation, name),
            (self.is_near, Mux(is_ahead, stays_near, self.is_near | (admits & self.launched))),
            (self.aborts, reports),
            (self.seen, ~self.launch & (self.seen | reports)),
            (
                self.stale,
                (self.launch & ahead[-1]) | (self.stale & (name == self.peer_launch.generation)),
            ),
            (self.old, shows & Mux(self.launch, is_ahead, self.old)),
        ]
