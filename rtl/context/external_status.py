"""Status that a context receives from the dispatcher and the ports, and shows to its peers."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS
from rtl.parameters import T3Parameters

__all__ = ["ExternalStatus"]


class ExternalStatus(wiring.Component):
    """Status registers for the dispatcher, the aborts of this context for its peers, and the report
    of lost packets.

    A loss is reported once for each launch and each copy. A packet that is lost as either begins
    belongs to those before; a packet of those before that is lost later counts for the new one.

    Members
    -------
    launch : In(1)
        Strobe: a launch begins.
    cut_short : In(1)
        Strobe: a launch is aborted before it is done.
    copies : In(1)
        Strobe: a copy begins.
    launch_generation : In
        Generation of the current launch; the next launch follows it by 1 to 7.
    dispatched, finished, kernel_generation, lost : In
        See :class:`~rtl.interface.signatures.ContextSignature`.
    generation : Out
        Generation of the current launch, one cycle late. Register.
    aborted : Out(8)
        Bit *n*: the launch *n* generations before ``generation`` was cut short. Register.
    kernel_dispatched, ended : Out(credit_limit_bits)
        Dispatched and finished workgroups of the launch's kernel. Registers.
    progresses : Out(1)
        Strobe: ``ended`` has changed. Register.
    reports_loss : Out(1)
        A packet is lost in this cycle, the first one since a launch or a copy began. Combinational.

    Attributes
    ----------
    Benches read this attribute, but never drive it.

    seen : Signal
        A loss has been reported since a launch or a copy began.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        bits = p.credit_limit_bits
        super().__init__(
            {
                "launch": In(1),
                "cut_short": In(1),
                "copies": In(1),
                "launch_generation": In(GENERATION_BITS),
                "dispatched": In(bits),
                "finished": In(bits),
                "kernel_generation": In(GENERATION_BITS),
                "lost": In(1),
                "generation": Out(GENERATION_BITS),
                "aborted": Out(ABORT_BITS),
                "kernel_dispatched": Out(bits),
                "ended": Out(bits),
                "progresses": Out(1),
                "reports_loss": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.seen = Signal()

    def elaborate(self, platform):
        m = Module()
        ended = Signal.like(self.ended)
        is_kernel = self.kernel_generation == self.launch_generation
        m.d.comb += [
            ended.eq(Mux(is_kernel, self.finished, 0)),
            self.reports_loss.eq(self.lost & ~self.seen),
        ]
        registers = (
            (self.generation, self.launch_generation),
            (self.aborted, self._count_aborts()),
            (self.kernel_dispatched, Mux(is_kernel, self.dispatched, 0)),
            (self.ended, ended),
            (self.progresses, self.ended != ended),
            (self.seen, ~(self.launch | self.copies) & (self.seen | self.lost)),
        )
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any())
        return m

    def _count_aborts(self) -> Value:
        """Compute the next value of ``aborted``: a launch shifts the bits to older launches."""
        step = (self.launch_generation - self.generation)[: GENERATION_BITS - 1]
        return Mux(
            self.launch,
            (self.aborted << step)[:ABORT_BITS],
            self.aborted | self.cut_short,
        )
