"""The DMA engine's proof fails for bugs that let a segment leave its command's region."""

import pytest

import rtl.dma.engine
from verification.proofs import dma_engine
from verification.proofs.run import prove
from verification.seeded_bugs.bug import SeededBug

pytestmark = pytest.mark.verify

_ENGINE = next(proof for proof in dma_engine.PROOFS if proof.name == "dma-engine-2-walkers-1")
_OUTSIDE = "a segment leaves its command's region"
_NOT_DROPPED = SeededBug(
    module="rtl.dma.engine",
    block="DmaEngine",
    fault="a segment outside is reported, but leaves",
    right="here.eq(Cat(lanes) & walker.inside.replicate(p.channels)),",
    wrong="here.eq(Cat(lanes)),",
)
_OF_WALKER = [
    SeededBug(
        module="rtl.dma.walker",
        block="RowWalker",
        fault="a row that ends in the region's last granule may end beyond the region",
        right="& self.row_ends & ends_before",
        wrong="& self.row_ends",
    ),
    SeededBug(
        module="rtl.dma.walker",
        block="RowWalker",
        fault="a segment to the end of the region's last granule is inside",
        right="& self.row_ends & ends_before",
        wrong="& (ends_before | ~self.row_ends)",
    ),
    SeededBug(
        module="rtl.dma.walker",
        block="RowWalker",
        fault="a region that is not enabled still counts",
        right="region.enable & ~less_than(self.atom, region.base) & below_limit",
        wrong="~less_than(self.atom, region.base) & below_limit",
    ),
]


def _assert_refuted(proof, tmp_path):
    result = prove(proof, tmp_path)
    assert result.status == "failed"
    assert any(_OUTSIDE in note for note in result.notes), result.notes


def test_a_segment_that_is_not_dropped(tmp_path):
    proof = _ENGINE.with_copy(_NOT_DROPPED.original, _NOT_DROPPED.seeded())
    _assert_refuted(proof, tmp_path)


@pytest.mark.parametrize("bug", _OF_WALKER, ids=lambda bug: bug.fault)
def test_a_segment_that_is_judged_wrongly(bug, monkeypatch, tmp_path):
    monkeypatch.setattr(rtl.dma.engine, "RowWalker", bug.seeded())
    _assert_refuted(_ENGINE, tmp_path)
