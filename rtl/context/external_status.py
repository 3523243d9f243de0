"""Status that a context receives from the downstream GPU and the dispatcher."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS, Downstream
from rtl.parameters import T3Parameters

__all__ = ["ExternalStatus"]


class ExternalStatus(wiring.Component):
    """Status registers for the downstream GPU and the dispatcher, and the aborts of this context.

    Only status of the current launch is used. Generations are compared by half of their range, so
    a GPU that is 9 to 15 launches behind looks like one that is ahead. It counts as ahead only if
    it was seen at this launch or behind it before.

    Members
    -------
    launch : In(1)
        Strobe: a launch begins.
    launched : In(1)
        A launch is running.
    cut_short : In(1)
        Strobe: a launch is aborted before it is done.
    launch_generation : In
        Generation of the current launch; the next launch follows it by 1 to 7.
    credit_limit_in, generation_in, aborted_in, dispatched, finished, kernel_generation : In
        See :class:`~rtl.interface.signatures.ContextSignature`.
    generation : Out
        Generation of the current launch, one cycle late. Register.
    aborted : Out(8)
        Bit *n*: the launch *n* generations before ``generation`` was cut short. Register.
    admitted : Out(credit_limit_bits)
        Dispatch indices that the downstream GPU admits: none before its first launch and while it
        is at a former launch, all while it is at a later launch. Register.
    downstream : Out(:func:`Downstream`)
        State of the downstream GPU. The generation is the latest that means something: with a limit
        or an abort. Register.
    kernel_dispatched, ended : Out(credit_limit_bits)
        Dispatched and finished workgroups of the launch's kernel. Registers.
    progresses : Out(1)
        Strobe: ``ended`` has changed. Register.
    peer_aborted : Out(1)
        Strobe: the downstream GPU aborted the launch. At most once for each launch, and not for an
        abort that may belong to a launch 16 generations before. Register.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    is_near : Signal
        The downstream GPU was seen at this launch, up to 8 behind it, or ahead when it was known
        to be ahead. If it looks ahead now, it is.
    seen : Signal
        An abort of the launch has been reported.
    stale : Signal
        The downstream GPU was behind a launch that began, and has begun no launch since.
    old : Signal
        Since the launch began, the downstream GPU looks ahead and shows an abort of the launch.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        bits = p.credit_limit_bits
        super().__init__(
            {
                "launch": In(1),
                "launched": In(1),
                "cut_short": In(1),
                "launch_generation": In(GENERATION_BITS),
                "credit_limit_in": In(bits),
                "generation_in": In(GENERATION_BITS),
                "aborted_in": In(ABORT_BITS),
                "dispatched": In(bits),
                "finished": In(bits),
                "kernel_generation": In(GENERATION_BITS),
                "generation": Out(GENERATION_BITS),
                "aborted": Out(ABORT_BITS),
                "admitted": Out(bits),
                "downstream": Out(Downstream()),
                "kernel_dispatched": Out(bits),
                "ended": Out(bits),
                "progresses": Out(1),
                "peer_aborted": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.is_near, self.seen = Signal(), Signal()
        self.stale, self.old = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        ended = Signal.like(self.ended)
        is_kernel = self.kernel_generation == self.launch_generation
        m.d.comb += ended.eq(Mux(is_kernel, self.finished, 0))
        registers = (
            (self.generation, self.launch_generation),
            (self.aborted, self._count_aborts()),
            *self._look_downstream(m),
            (self.kernel_dispatched, Mux(is_kernel, self.dispatched, 0)),
            (self.ended, ended),
            (self.progresses, self.ended != ended),
        )
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any())
        return m

    def _count_aborts(self) -> Value:
        """Compute the next value of ``aborted``, whose bits keep to their launches."""
        step = (self.launch_generation - self.generation)[: GENERATION_BITS - 1]
        return Mux(
            self.launch,
            (self.aborted << step)[:ABORT_BITS],
            self.aborted | self.cut_short,
        )

    def _look_downstream(self, m: Module) -> list[tuple[Signal, Value]]:
        """Compute the next values of the registers for the downstream GPU."""
        name, ahead, before = (Signal(GENERATION_BITS, name=n) for n in ("name", "ahead", "before"))
        admits, aborts = self.credit_limit_in.any(), self.aborted_in.any()
        is_ahead, shows, reports = Signal(), Signal(), Signal()
        m.d.comb += [
            # Without a limit and an abort, the GPU may be one that was reset.
            name.eq(Mux(admits | aborts, self.generation_in, self.downstream.generation)),
            ahead.eq(name - self.launch_generation),
            before.eq(name - self.generation),
            is_ahead.eq(~ahead[-1] & ahead.any()),
            shows.eq(self.launched & ~ahead[-1] & self.aborted_in.bit_select(ahead[:-1], 1)),
            reports.eq(
                shows & ~self.launch & ~self.seen & (self.is_near | ~(self.old | self.stale))
            ),
        ]
        admitted = Signal.like(self.admitted)
        with m.If(self.launch | ahead[-1] | ~admits | (is_ahead & ~self.is_near)):
            m.d.comb += admitted.eq(0)
        with m.Elif(is_ahead):
            # The downstream GPU has begun a later launch and waits for no tile of this launch.
            m.d.comb += admitted.eq((1 << len(admitted)) - 1)
        with m.Else():
            m.d.comb += admitted.eq(self.credit_limit_in)
        # A GPU that was behind the launch before, and looks ahead of this launch, is far behind.
        stays_near = self.is_near & ~(self.launch & before[-1])
        return [
            (self.admitted, admitted),
            (self.downstream.admits, admits),
            (self.downstream.generation, name),
            (self.is_near, Mux(is_ahead, stays_near, self.is_near | (admits & self.launched))),
            (self.peer_aborted, reports),
            (self.seen, ~self.launch & (self.seen | reports)),
            (
                self.stale,
                (self.launch & ahead[-1]) | (self.stale & (name == self.downstream.generation)),
            ),
            (self.old, shows & Mux(self.launch, is_ahead, self.old)),
        ]
