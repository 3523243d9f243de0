"""Status that a context receives from the downstream GPU and the dispatcher."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import GENERATION_BITS, Downstream
from rtl.parameters import T3Parameters

__all__ = ["ExternalStatus"]


class ExternalStatus(wiring.Component):
    """Status registers for the downstream GPU and the dispatcher.

    Only status of the current launch is used.

    Members
    -------
    launch : In(1)
        Strobe: a launch begins.
    launched : In(1)
        A launch is running.
    launch_generation : In
        Generation of the current launch.
    credit_limit_in, generation_in, aborted_in, dispatched, finished, kernel_generation : In
        See :class:`~rtl.interface.signatures.ContextSignature`.
    generation : Out
        Generation of the current launch, one cycle late. Register.
    admitted : Out(credit_limit_bits)
        Dispatch indices that the downstream GPU admits: none before its first launch and while it
        is at a former launch, all while it is at a later launch. Register. They are distinguished
        by half of the generations' range; :class:`~rtl.registers.launch_check.LaunchCheck` keeps
        the GPUs that close.
    downstream : Out(:func:`Downstream`)
        State of the downstream GPU. Register.
    kernel_dispatched, ended : Out(credit_limit_bits)
        Dispatched and finished workgroups of the launch's kernel. Registers.
    peer_aborted : Out(1)
        Strobe: the downstream GPU aborted the launch. At most once for each launch, however often
        ``aborted_in`` rises. Register.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    seen : Signal
        The downstream GPU has aborted the launch since it began.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        bits = p.credit_limit_bits
        super().__init__(
            {
                "launch": In(1),
                "launched": In(1),
                "launch_generation": In(GENERATION_BITS),
                "credit_limit_in": In(bits),
                "generation_in": In(GENERATION_BITS),
                "aborted_in": In(1),
                "dispatched": In(bits),
                "finished": In(bits),
                "kernel_generation": In(GENERATION_BITS),
                "generation": Out(GENERATION_BITS),
                "admitted": Out(bits),
                "downstream": Out(Downstream()),
                "kernel_dispatched": Out(bits),
                "ended": Out(bits),
                "peer_aborted": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.seen = Signal()

    def elaborate(self, platform):
        m = Module()
        ahead, admitted = Signal(GENERATION_BITS), Signal.like(self.admitted)
        aborts, seen = Signal(), self.seen
        m.d.comb += [
            ahead.eq(self.generation_in - self.launch_generation),
            aborts.eq(self.aborted_in & ~ahead.any() & self.launched),
        ]
        # Before its first launch the downstream GPU admits nothing, whatever its generation.
        admits = self.credit_limit_in.any()
        with m.If(self.launch | ahead[-1] | ~admits):
            m.d.comb += admitted.eq(0)
        with m.Elif(ahead.any()):
            # The downstream GPU has begun a later launch and waits for no tile of this launch.
            m.d.comb += admitted.eq((1 << len(admitted)) - 1)
        with m.Else():
            m.d.comb += admitted.eq(self.credit_limit_in)
        is_kernel = self.kernel_generation == self.launch_generation
        registers = (
            (self.generation, self.launch_generation),
            (self.admitted, admitted),
            (self.downstream.admits, admits),
            (self.downstream.generation, self.generation_in),
            (self.kernel_dispatched, Mux(is_kernel, self.dispatched, 0)),
            (self.ended, Mux(is_kernel, self.finished, 0)),
            (self.peer_aborted, aborts & (self.launch | ~seen)),
            (seen, aborts | (seen & ~self.launch)),
        )
        m.d.sync += [register.eq(following) for register, following in registers]
        changes = Cat(register != following for register, following in registers)
        m.d.comb += self.clock_enable.eq(changes.any())
        return m
