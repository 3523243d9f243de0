"""Error priority encoder: selects the error that each context reports."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.signatures import ErrorSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["ErrorPriorityEncoder"]


class ErrorPriorityEncoder(wiring.Component):
    """Error priority encoder: selects, for each owner, the highest-priority error of a cycle.

    Channels have the highest priority, then banks, then the context's own unit, each in the order
    of the ports. Errors of banks and units are registered first, because errors of channels arrive
    one cycle late.

    Parameters
    ----------
    channels : int
        Number of errors of channels, which belong to any context or to none.
    banks : int
        Number of errors of the tracker's banks, which belong to any context.
    own : int
        Number of errors of each context's unit.

    Members
    -------
    channels : In(:class:`ErrorSignature`).array(channels)
        Errors of channels, from registers.
    banks : In(:class:`ErrorSignature`).array(banks)
    own : In(:class:`ErrorSignature`).array(contexts, own)
    contexts : Out(:class:`ErrorSignature`).array(contexts)
    unowned : Out(:class:`ErrorSignature`)
        Error of no context.
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
                "unowned": Out(error),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # These errors arrive late in a cycle, so they are registered before the selection.
        banks, *own = (self._register(m, errors) for errors in (self.banks, *self.own))
        shared = [*self.channels, *banks]
        for number, out in enumerate(self.contexts):
            self._first(m, [*shared, *own[number]], number, out)
        self._first(m, shared, None, self.unowned)
        come = [error.valid for errors in (self.banks, *self.own) for error in errors]
        came = [error.valid for errors in (banks, *own) for error in errors]
        m.d.comb += self.clock_enable.eq(Cat(come, came).any())
        return m

    def _register(self, m: Module, errors: Sequence) -> list:
        registers = [ErrorSignature(self._p).create() for _ in errors]
        for register, error in zip(registers, errors, strict=True):
            m.d.sync += register.valid.eq(error.valid)
            with m.If(error.valid):
                m.d.sync += register.report.eq(error.report)
        return registers

    def _first(self, m: Module, errors: Sequence, owner: int | None, out) -> None:
        """Select the first error of an owner, or the first of no context (None)."""
        valid = Signal(len(errors))
        for bit, error in zip(valid, errors, strict=True):
            unowned = error.report.unowned
            is_own = unowned if owner is None else ~unowned & (error.report.owner == owner)
            m.d.comb += bit.eq(error.valid & is_own)
        # A signal keeps the expression from being duplicated for each bit of the report.
        first = Signal(len(errors))
        m.d.comb += [
            first.eq(one_hot_first(valid)),
            out.valid.eq(valid.any()),
            out.report.eq(one_hot_select(first, [error.report for error in errors])),
        ]
