"""A channel's error, known late in one cycle and told in the next."""

from collections.abc import Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport
from rtl.interface.signatures import ErrorSignature
from rtl.parameters import T3Parameters

__all__ = ["ErrorRegister"]


class ErrorRegister(wiring.Component):
    """Remembers of what leaves in a cycle why it may be wrong, and tells it a cycle later.

    That something leaves is known early, why it is wrong late: a late signal ends at the register
    of its cause, and enables nothing.

    Parameters
    ----------
    p : T3Parameters
    codes : sequence of ErrorCode
        The causes; of those of one cycle the first is told.

    Members
    -------
    taken : In(1)
        Something leaves.
    causes : In(len(codes))
        What is wrong with it; it counts if it is ``taken``.
    report : In(:func:`ErrorReport`)
        What it is, but for the code.
    error : Out(:class:`ErrorSignature`)
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.
    """

    def __init__(self, p: T3Parameters, codes: Sequence[ErrorCode]):
        self._codes = tuple(codes)
        super().__init__(
            {
                "taken": In(1),
                "causes": In(len(self._codes)),
                "report": In(ErrorReport(p)),
                "error": Out(ErrorSignature(p)),
                "awake": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fresh, causes = Signal(), Signal.like(self.causes)
        report = Signal.like(self.report)
        m.d.sync += fresh.eq(self.taken)
        with m.If(self.taken):
            m.d.sync += [causes.eq(self.causes), report.eq(self.report)]
        m.d.comb += [
            self.error.valid.eq(fresh & causes.any()),
            self.error.report.eq(report),
            self.awake.eq(self.taken | fresh),
        ]
        # The last of these that is assigned holds: the first cause.
        for cause, code in reversed(list(zip(causes, self._codes, strict=True))):
            with m.If(cause):
                m.d.comb += self.error.report.code.eq(code)
        return m
