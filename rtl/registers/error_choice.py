"""Of the errors of all blocks in a cycle, the one that is reported to each context."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.signatures import ErrorSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["ErrorChoice"]


class ErrorChoice(wiring.Component):
    """The first error of each owner: those of the channels, the banks, its own unit, each in the
    order of the ports. Those of banks and units wait a cycle for that: the channels' come a cycle
    late.

    Parameters
    ----------
    p : T3Parameters
    channels : int
        Errors of channels: of any context, or of none.
    banks : int
        Errors of the tracker's banks: of any context.
    own : int
        Errors of each context's unit.

    Members
    -------
    channels : In(:class:`ErrorSignature`).array(channels)
        From registers.
    banks : In(:class:`ErrorSignature`).array(banks)
    own : In(:class:`ErrorSignature`).array(contexts, own)
    contexts : Out(:class:`ErrorSignature`).array(contexts)
    stray : Out(:class:`ErrorSignature`)
        Of no context.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, p: T3Parameters, *, channels: int, banks: int, own: int):
        self._p = p
        error = ErrorSignature(p)
        super().__init__(
            {
                "channels": In(error).array(channels),
                "banks": In(error).array(banks),
                "own": In(error).array(p.contexts, own),
                "contexts": Out(error).array(p.contexts),
                "stray": Out(error),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Known late in a cycle: they are chosen from in the next one.
        banks, *own = (self._register(m, errors) for errors in (self.banks, *self.own))
        shared = [*self.channels, *banks]
        for number, out in enumerate(self.contexts):
            self._first(m, [*shared, *own[number]], number, out)
        self._first(m, shared, None, self.stray)
        come = [error.valid for errors in (self.banks, *self.own) for error in errors]
        came = [error.valid for errors in (banks, *own) for error in errors]
        m.d.comb += self.awake.eq(Cat(come, came).any())
        return m

    def _register(self, m: Module, errors: Sequence) -> list:
        registers = [ErrorSignature(self._p).create() for _ in errors]
        for register, error in zip(registers, errors, strict=True):
            m.d.sync += register.valid.eq(error.valid)
            with m.If(error.valid):
                m.d.sync += register.report.eq(error.report)
        return registers

    def _first(self, m: Module, errors: Sequence, owner: int | None, out) -> None:
        """The first one that is an owner's, or of no context (None)."""
        valid = Signal(len(errors))
        for bit, error in zip(valid, errors, strict=True):
            stray = error.report.stray
            is_own = stray if owner is None else ~stray & (error.report.owner == owner)
            m.d.comb += bit.eq(error.valid & is_own)
        # A signal: each report's bit would hold the expression for all of them.
        first = Signal(len(errors))
        m.d.comb += [
            first.eq(one_hot_first(valid)),
            out.valid.eq(valid.any()),
            out.report.eq(one_hot_select(first, [error.report for error in errors])),
        ]
