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
    """The first error of each owner, a cycle later.

    Of each group it is registered before it is chosen among the groups.

    Parameters
    ----------
    p : T3Parameters
    shared : list of int
        Errors of each group that may be of any context, or of none.
    own : int
        Errors of each context's unit: groups of one, after the shared ones.

    Members
    -------
    shared : In(:class:`ErrorSignature`).array(sum(shared))
    own : In(:class:`ErrorSignature`).array(contexts, own)
    contexts : Out(:class:`ErrorSignature`).array(contexts)
    stray : Out(:class:`ErrorSignature`)
        Of no context.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, p: T3Parameters, *, shared: Sequence[int], own: int):
        self._p, self._groups = p, shared
        error = ErrorSignature(p)
        super().__init__(
            {
                "shared": In(error).array(sum(shared)),
                "own": In(error).array(p.contexts, own),
                "contexts": Out(error).array(p.contexts),
                "stray": Out(error),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shared, rest = [], list(self.shared)
        for size in self._groups:
            shared.append(rest[:size])
            rest = rest[size:]
        registers = []
        for number, out in enumerate(self.contexts):
            groups = [*shared, *([error] for error in self.own[number])]
            registers += self._choose(m, groups, number, out)
        registers += self._choose(m, shared, None, self.stray)
        comes = Cat(error.valid for errors in (self.shared, *self.own) for error in errors)
        m.d.comb += self.awake.eq(comes.any() | Cat(one.valid for one in registers).any())
        return m

    def _choose(self, m: Module, groups: list[Sequence], owner: int | None, out) -> list:
        """An owner's first error; gives the registers of the groups."""
        registered = []
        for errors in groups:
            first, register = (ErrorSignature(self._p).create() for _ in range(2))
            self._first(m, errors, owner, first)
            m.d.sync += register.valid.eq(first.valid)
            with m.If(first.valid):
                m.d.sync += register.report.eq(first.report)
            registered.append(register)
        self._first(m, registered, owner, out)
        return registered

    def _first(self, m: Module, errors: Sequence, owner: int | None, out) -> None:
        """The first one that is an owner's, or of no context (None)."""
        valid = Signal(len(errors))
        for bit, error in zip(valid, errors, strict=True):
            stray = error.report.stray
            is_own = stray if owner is None else ~stray & (error.report.owner == owner)
            m.d.comb += bit.eq(error.valid & is_own)
        reports = [error.report for error in errors]
        m.d.comb += [
            out.valid.eq(valid.any()),
            out.report.eq(one_hot_select(one_hot_first(valid), reports)),
        ]
