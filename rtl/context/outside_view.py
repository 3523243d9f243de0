"""What a context knows of the world outside its GPU's hardware."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import GENERATION_BITS
from rtl.parameters import T3Parameters

__all__ = ["OutsideView"]


class OutsideView(wiring.Component):
    """Registers what the downstream GPU and the dispatcher tell, as far as it is of the launch that
    runs.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    launch : In(1)
        Strobe: another launch begins.
    launched : In(1)
        One runs.
    launch_generation : In
        Its.
    credit_limit_in, generation_in, aborted_in, dispatched, finished, kernel_generation : In
        See :class:`~rtl.interface.signatures.ContextSignature`.
    generation : Out
        A register that follows the launch's: the limits given out are its from the cycle after it
        begins.
    admitted : Out(credit_limit_bits)
        By the downstream GPU. Nothing before its first launch and while it is at a former one,
        everything when it is at a later one. A register.
    given_out, ended : Out(credit_limit_bits)
        Workgroups of the launch's kernel. Registers.
    gave_up : Out(1)
        Strobe: the downstream GPU has given up the launch.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
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
                "given_out": Out(bits),
                "ended": Out(bits),
                "gave_up": Out(1),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ahead, admitted = Signal(GENERATION_BITS), Signal.like(self.admitted)
        aborted, was_aborted = Signal(), Signal()
        m.d.comb += ahead.eq(self.generation_in - self.launch_generation)
        # Nothing is admitted before its first launch, whatever generation it shows.
        admits = self.credit_limit_in.any()
        with m.If(self.launch | ahead[-1] | ~admits):
            m.d.comb += admitted.eq(0)
        with m.Elif(ahead.any()):
            # It has begun a later launch: it waits for nothing of this one.
            m.d.comb += admitted.eq((1 << len(admitted)) - 1)
        with m.Else():
            m.d.comb += admitted.eq(self.credit_limit_in)
        is_kernel = self.kernel_generation == self.launch_generation
        registers = (
            (self.generation, self.launch_generation),
            (self.admitted, admitted),
            (self.given_out, Mux(is_kernel, self.dispatched, 0)),
            (self.ended, Mux(is_kernel, self.finished, 0)),
            (aborted, self.aborted_in & ~ahead.any() & self.launched),
            (was_aborted, aborted),
        )
        m.d.sync += [register.eq(following) for register, following in registers]
        m.d.comb += [
            self.gave_up.eq(aborted & ~was_aborted),
            self.awake.eq(Cat(register != following for register, following in registers).any()),
        ]
        return m
