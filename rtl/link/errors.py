"""Pending errors of the channels' link endpoints."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.round_robin import RoundRobinPick
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["LINK_ERRORS", "LinkErrors"]

LINK_ERRORS = (ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)
"""Codes of a link's errors."""


class LinkErrors(wiring.Component):
    """Serialiser of link errors: reports them one by one, so that simultaneous errors are all
    counted.

    Each link has a place for an error of each kind. In every cycle in which errors wait, one is
    reported, in turn: an error of cycle *t* is reported between *t + 1* and *t + 2 × channels*,
    whatever the other links report.

    Members
    -------
    down, reset : In(channels)
        Errors of each channel's link.
    error : Out(:class:`ErrorSignature`)
        Error of no context. From registers.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    waiting : Signal
        Pending errors, two bits per channel: ``LINK_DOWN`` and ``LINK_RESET``.
    pick : RoundRobinPick
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "down": In(p.channels),
                "reset": In(p.channels),
                "error": Out(ErrorSignature(p)),
                "clock_enable": Out(1),
            }
        )
        self.waiting = Signal(2 * p.channels)
        self.pick = RoundRobinPick(len(self.waiting))

    def elaborate(self, platform):
        m = Module()
        m.submodules.pick = pick = self.pick
        waiting, error = self.waiting, self.error
        comes = Cat(Cat(pair) for pair in zip(self.down, self.reset, strict=True))
        channels = [Const(bit // 2) for bit in range(len(waiting))]
        is_down = Cat(pick.grant[::2]).any()
        m.d.comb += [
            pick.requests.eq(waiting),
            pick.take.eq(1),
            error.valid.eq(waiting.any()),
            error.report.code.eq(Mux(is_down, ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)),
            error.report.channel.eq(one_hot_select(pick.grant, channels)),
            error.report.unowned.eq(1),
            self.clock_enable.eq(waiting.any() | comes.any()),
        ]
        m.d.sync += waiting.eq((waiting & ~pick.grant) | comes)
        return m
