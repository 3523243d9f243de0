"""What the channels' link endpoints report, until the GPU's log has it."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["LinkErrors"]


class LinkErrors(wiring.Component):
    """Tells them one by one, so that links which fail together are all counted.

    Lowest channel first, ``LINK_DOWN`` before ``LINK_RESET``. What comes in a cycle is told in the
    next one at the earliest.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    down, reset : In(channels)
        Of each channel's link.
    hold : In(1)
        Another error is told in this cycle.
    error : Out(:class:`ErrorSignature`)
        Of no context. Depends on ``hold``.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs to read, never to drive.

    waiting : Signal
        Two bits for each channel: its ``LINK_DOWN``, its ``LINK_RESET``.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "down": In(p.channels),
                "reset": In(p.channels),
                "hold": In(1),
                "error": Out(ErrorSignature(p)),
                "awake": Out(1),
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
            error.report.stray.eq(1),
            self.awake.eq(waiting.any() | comes.any()),
        ]
        m.d.sync += waiting.eq((waiting & ~Mux(self.hold, 0, first)) | comes)
        return m
