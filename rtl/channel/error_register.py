"""Error register of a channel: reports an error one cycle after it is detected."""

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
    """Error register: captures the possible causes of an error of a request that leaves, and
    reports the error one cycle later.

    ``taken`` arrives early in a cycle and the causes late. A late signal ends at the register of
    its cause, and enables no other register.

    Parameters
    ----------
    codes : sequence of ErrorCode
        Error code of each cause, highest priority first.

    Members
    -------
    taken : In(1)
        A request leaves.
    causes : In(len(codes))
        Causes of an error of the request; valid with ``taken``.
    report : In(:func:`ErrorReport`)
        Report of the request, without the code.
    error : Out(:class:`ErrorSignature`)
    """

    def __init__(self, p: T3Parameters, codes: Sequence[ErrorCode]):
        self._codes = tuple(codes)
        super().__init__(
            {
                "taken": In(1),
                "causes": In(len(self._codes)),
                "report": In(ErrorReport(p)),
                "error": Out(ErrorSignature(p)),
                "clock_enable": Out(1),
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
            self.clock_enable.eq(self.taken | fresh),
        ]
        # The last assignment takes effect; it belongs to the first cause.
        for cause, code in reversed(list(zip(causes, self._codes, strict=True))):
            with m.If(cause):
                m.d.comb += self.error.report.code.eq(code)
        return m
