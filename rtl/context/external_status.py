"""Status that a context receives from the dispatcher and the ports, and shows to its peers and to
other contexts."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS, LaunchProgress
from rtl.parameters import T3Parameters

__all__ = ["ExternalStatus"]

_OF_PROGRESS = ("valid", "generation", "oldest", "complete")


class ExternalStatus(wiring.Component):
    """Status registers for the dispatcher, the aborts of this context for its peers, its progress
    for the contexts that await it, and the report of lost packets.

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
    launched, aborting : In(1)
        A launch began since the last abort; an abort is in progress.
    oldest, done : In
        See :class:`~rtl.trigger.credit_window.CreditWindow`.
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
    progress : Out(:func:`LaunchProgress`)
        Progress of the launch, one cycle late; valid from the second cycle behind ``launch`` on.
        Register.
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
                "launched": In(1),
                "aborting": In(1),
                "oldest": In(bits),
                "done": In(1),
                "dispatched": In(bits),
                "finished": In(bits),
                "kernel_generation": In(GENERATION_BITS),
                "lost": In(1),
                "generation": Out(GENERATION_BITS),
                "aborted": Out(ABORT_BITS),
                "kernel_dispatched": Out(bits),
                "ended": Out(bits),
                "progresses": Out(1),
                "progress": Out(LaunchProgress(p)),
                "reports_loss": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.seen = Signal()
        self._is_awaited = p.await_bits > 0

    def elaborate(self, platform):
        m = Module()
        ended = Signal.like(self.ended)
        is_kernel = self.kernel_generation == self.launch_generation
        m.d.comb += [
            ended.eq(Mux(is_kernel, self.finished, 0)),
            self.reports_loss.eq(self.lost & ~self.seen),
        ]
        registers = [
            (self.generation, self.launch_generation),
            (self.aborted, self._count_aborts()),
            (self.kernel_dispatched, Mux(is_kernel, self.dispatched, 0)),
            (self.ended, ended),
            (self.progresses, self.ended != ended),
            (self.seen, ~(self.launch | self.copies) & (self.seen | self.lost)),
        ]
        if self._is_awaited:
            registers += self._follow_progress(m)
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any())
        return m

    def _step(self) -> Value:
        """Compute the generations from the launch before to a launch that begins."""
        return (self.launch_generation - self.generation)[: GENERATION_BITS - 1]

    def _count_aborts(self) -> Value:
        """Compute the next value of ``aborted``: a launch shifts the bits to older launches."""
        return Mux(
            self.launch,
            (self.aborted << self._step())[:ABORT_BITS],
            self.aborted | self.cut_short,
        )

    def _follow_progress(self, m: Module) -> list[tuple[Signal, Value]]:
        """Compute the next value of ``progress``.

        In the cycle of ``launch``, ``oldest`` and ``done`` still belong to the launch before.
        """
        progress = self.progress
        following = Signal.like(progress, name="progress_next")
        ended = progress.complete | (self.launched & self.done)
        m.d.comb += [
            following.valid.eq(self.launched & ~self.launch & ~self.aborting),
            following.generation.eq(self.launch_generation),
            following.oldest.eq(Mux(following.valid, self.oldest, progress.oldest)),
            following.changes.eq(
                Cat(progress[name] != following[name] for name in _OF_PROGRESS).any()
            ),
        ]
        with m.If(~self.aborting):
            m.d.comb += following.complete.eq(
                Mux(self.launch, (ended << self._step())[:ABORT_BITS], ended)
            )
        return [(progress[name], following[name]) for name in (*_OF_PROGRESS, "changes")]
