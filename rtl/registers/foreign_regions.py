"""Check of a staged region against the regions of the other contexts."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import RegionEntry
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["Claims", "ForeignRegions"]


def Claims(p: T3Parameters):
    """Regions that a context has: those of its next launch, then those that are in use."""
    return data.ArrayLayout(RegionEntry(p), 2 * p.regions)


class ForeignRegions(wiring.Component):
    """Comparison of a context's staged region with the regions of all other contexts.

    Combinational. All contexts share it, since the register port performs one write at a time.

    Members
    -------
    page : In(contexts)
        Context of the write, one-hot.
    staged : In(array of :func:`RegionEntry`)
        Region that each context has staged.
    claims : In(array of :func:`Claims`)
    overlaps : Out(1)
        The staged region of the write's context overlaps a region of another context.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "page": In(p.contexts),
                "staged": In(data.ArrayLayout(RegionEntry(p), p.contexts)),
                "claims": In(data.ArrayLayout(Claims(p), p.contexts)),
                "overlaps": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        base, limit = (Signal.like(self.staged[0][name], name=name) for name in ("base", "limit"))
        m.d.comb += [
            signal.eq(one_hot_select(self.page, [staged[name] for staged in self.staged]))
            for signal, name in ((base, "base"), (limit, "limit"))
        ]
        hits = [
            ~own & claim.enable & (base < claim.limit) & (claim.base < limit)
            for own, claims in zip(self.page, self.claims, strict=True)
            for claim in claims
        ]
        m.d.comb += self.overlaps.eq(Cat(hits).any())
        return m
