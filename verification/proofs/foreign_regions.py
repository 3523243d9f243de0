"""Proof of the comparison of a staged region with the regions of the other contexts."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal

from rtl.parameters import T3Parameters
from rtl.registers.foreign_regions import ForeignRegions

from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=3,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    context_bits=2,
    workgroup_bits=3,
    sets=1,
    credit_window=8,
)


class ForeignHarness(Elaboratable):
    """Harness with arbitrary regions, and an arbitrary atom of the staged region.

    The staged region and the claims are not empty, as the checks of a commit require.
    """

    def __init__(self, regions: type = ForeignRegions):
        self._regions = regions

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._regions(_P)
        atom = Signal(_P.atom_address_bits)
        free(m, dut.page, dut.staged, dut.claims, atom)
        m.d.comb += Assume(Cat(dut.page == 1 << one for one in range(_P.contexts)).any())
        shared, apart = [], []
        for number, staged in enumerate(dut.staged):
            mine = Signal(name=f"mine_{number}")
            m.d.comb += mine.eq(dut.page[number])
            m.d.comb += Assume(~mine | (staged.base < staged.limit))
            inside = (staged.base <= atom) & (atom < staged.limit)
            for other, claims in enumerate(dut.claims):
                if other == number:
                    continue
                for claim in claims:
                    m.d.comb += Assume(~claim.enable | (claim.base < claim.limit))
                    there = (claim.base <= atom) & (atom < claim.limit)
                    shared.append(mine & claim.enable & inside & there)
                    before, behind = staged.limit <= claim.base, claim.limit <= staged.base
                    apart.append(~mine | ~claim.enable | before | behind)
        m.d.comb += [
            Assert(dut.overlaps | ~Cat(shared).any(), "an atom of two contexts"),
            Assert(~dut.overlaps | ~Cat(apart).all(), "refused although all regions are apart"),
            Cover(dut.overlaps, "an overlap"),
            Cover(~dut.overlaps & dut.page[0], "no overlap"),
        ]
        return m


PROOFS = (
    Proof(
        name="foreign-regions",
        statement="A staged region overlaps if and only if one of its atoms lies in an enabled "
        "region of another context",
        blocks=(ForeignRegions,),
        harness=ForeignHarness,
        geometry="3 contexts of 2 regions, addresses of 4 bits",
        reason="the proof depends on no width",
        depth=1,
        cover_depth=1,
    ),
)
