"""List of measured blocks, compared with the elaborated hardware."""

from collections import Counter
from dataclasses import replace

import pytest
from amaranth.hdl import Fragment

from rtl.blocks import BLOCKS, TOP
from rtl.parameters import T3Parameters
from rtl.top import T3
from t3.silicon.area import Area
from t3.silicon.blocks import MEASURED, REFERENCE
from t3.silicon.inventory import Inventory, area_jobs
from t3.silicon.node7 import GATE_UM2, SRAM, mm2

SMALL = replace(REFERENCE, channels=2, banks=4)


def _class_of(block):
    return type(block.make(SMALL))


def test_reference_is_one_gpu_of_the_paper():
    defaults = T3Parameters()
    assert (REFERENCE.channels, REFERENCE.sets, REFERENCE.ways) == (32, 256, 8)
    assert replace(REFERENCE, channels=1, banks=1, with_data=False) == defaults


def test_counts_are_those_of_the_hardware(monkeypatch):
    inside = [block for block in MEASURED if block.block != "link_endpoint"]
    kinds = {_class_of(block) for block in inside}
    elaborated = Counter()
    for kind in kinds:
        original = kind.elaborate

        def elaborate(self, platform, original=original, kind=kind):
            elaborated[kind] += 1
            return original(self, platform)

        monkeypatch.setattr(kind, "elaborate", elaborate)
    Fragment.get(T3(SMALL), None)
    for block in inside:
        assert elaborated[_class_of(block)] == block.count(SMALL), block.name


def test_a_black_box_is_measured_as_a_block():
    """Every part is counted once: neither never nor twice."""
    measured = {b.block for b in MEASURED if b.in_area and not b.inside}
    boxed = {box for block in MEASURED for box in block.boxes}
    assert boxed <= measured
    # A block of the sum is a black box in all others.
    alone = {b.block for b in MEASURED if b.in_area and not b.inside and not b.instead_of}
    assert alone - {TOP, "link_endpoint"} == boxed


def test_every_block_is_measured():
    assert {block.block for block in MEASURED} == BLOCKS.keys()


def test_names_are_unique_and_parents_exist():
    names = [block.name for block in MEASURED]
    assert len(set(names)) == len(names)
    assert {b.inside for b in MEASURED} | {b.instead_of for b in MEASURED} <= {*names, ""}


def _inventory():
    """Inventory in which block number n has 2**n flip-flops: a sum identifies its blocks."""
    jobs = area_jobs(SMALL)
    areas = {job.block.name: Area(2**n, 0.0, 0.0, 0, 0, 0, 0.0) for n, job in enumerate(jobs)}
    return Inventory(SMALL, areas), {job.block.name: 2**n for n, job in enumerate(jobs)}


def test_sums():
    inventory, size = _inventory()
    whole = (
        size["tracker_front"]
        + 4 * size["tracker_bank"]
        + size["tracker glue"]
        + SMALL.contexts * size["trigger"]
        + SMALL.contexts * size["credit_window"]
        + SMALL.contexts * size["range_limits"]
        + SMALL.contexts * SMALL.peers * size["peer_status"]
        + SMALL.contexts * size["criticality"]
        + size["registers"]
        + SMALL.contexts * size["dma_engine"]
        + 2 * size["channel"]
        + size["top glue"]
    )
    assert inventory.whole().flip_flops == whole
    change = 2 * (size["channel without data"] - size["channel"])
    assert inventory.without_data().flip_flops == whole + change
    assert inventory.apart()["nmc_unit"].flip_flops == 2 * size["nmc_unit"]


def test_equivalent_area():
    area = Area(1, 4.0, 6.0, 1, 1000, 400, 99.0)
    expected = 10 * GATE_UM2 + 600 * 0.027 * 2 / 0.5 + 400 * 0.027 / 0.5
    assert mm2(area) == pytest.approx(expected * 1e-6)
    assert SRAM.um2_per_bit == pytest.approx(0.108)
