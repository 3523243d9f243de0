"""Pending errors of the channels' link endpoints."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["LinkErrors"]


class LinkErrors(wiring.Component):
    """Serialiser of link errors: reports them one by one, so that simultaneous errors are all
    counted.

    The lowest channel has priority, and ``LINK_DOWN`` before ``LINK_RESET``. An error is reported
    at least one cycle after it occurs.

    Members
    -------
    down, reset : In(channels)
        Errors of each channel's link.
    hold : In(1)
        Another error is reported in this cycle.
    error : Out(:class:`ErrorSignature`)
        Error of no context. Depends on ``hold``.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    waiting : Signal
        Pending errors, two bits per channel: ``LINK_DOWN`` and ``LINK_RESET``.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "down": In(p.channels),
                "reset": In(p.channels),
                "hold": In(1),
                "error": Out(ErrorSignature(p)),
                "clock_enable": Out(1),
            }
        )
        self.waiting = Signal(2 * p.channels)

    def elaborate(self, platform):
        m = Module()
        waiting, error = self.waiting, self.error
        first = Signal.like(waiting)
        comes = Cat(Cat(pair) for pair in zip(self.down, self.reset, strict=True))
        channels = [Const(bit // 2) for bit in range(len(waiting))]
        m.d.comb += [
            first.eq(one_hot_first(waiting)),
            error.valid.eq(waiting.any() & ~self.hold),
            error.report.code.eq(
                Mux(Cat(first[1::2]).any(), ErrorCode.LINK_RESET, ErrorCode.LINK_DOWN)
            ),
            error.report.channel.eq(one_hot_select(first, channels)),
            error.report.unowned.eq(1),
            self.clock_enable.eq(waiting.any() | comes.any()),
        ]
        m.d.sync += waiting.eq((waiting & ~Mux(self.hold, 0, first)) | comes)
        return m
