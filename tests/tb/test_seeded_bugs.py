"""The bench of a block notices each seeded bug.

That it does not notice anything in the block as it is, is what the other files here test.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rtl.export.back_end import verilog_text
from t3.verification.seeded_bugs.bug import SeededBug
from t3.verification.seeded_bugs.registry import SEEDED_BUGS
from tb.runner import build_bench, run_tests

SEED = 1
# Not the nodes that only a proof has.
BUGS = tuple(bug for bug in SEEDED_BUGS if bug.module.startswith("rtl."))


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a block with its bug goes: into a bench's ``make_dut``, or into the module that uses it.

    Parameters
    ----------
    bench : str
        The package in ``tb``.
    keyword : str
        Argument of ``make_dut`` that takes it.
    user : str
        Module in which it stands for the block, if it is a part of what the bench has.
    """

    bench: str
    keyword: str = "block"
    user: str = ""


# Those of which the bench is not called as their module, with one block.
PLACES = {
    "LocationLookup": Place(bench="address_map", keyword="location"),
    "RangeLookup": Place(bench="address_map", keyword="range_"),
    "Merge2": Place(bench="round_robin", keyword="merge2"),
    "Merge": Place(bench="round_robin", keyword="merge"),
    "RoundRobinPick": Place(bench="round_robin", keyword="pick"),
    "DmaEngine": Place(bench="dma"),
    "LinkReceiver": Place(bench="link_endpoint", user="rtl.link.endpoint"),
    "LinkSender": Place(bench="link_endpoint", user="rtl.link.endpoint"),
    "ProtectedQueue": Place(bench="issue_ack_buffer", user="rtl.channel.issue_ack_buffer"),
    "SecdedCheck": Place(bench="protected_memory", user="rtl.lib.protected_memory"),
    "TrackerTable": Place(bench="tracker_bank", user="rtl.tracker.bank"),
}


def place_of(bug: SeededBug) -> Place:
    bench = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", bug.block).lower()
    return PLACES.get(bug.block, Place(bench=bench))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.block)
def test_there_is_a_bench(bug):
    place = place_of(bug)
    assert find_spec(f"tb.{place.bench}"), f"{bug.block} has no bench tb.{place.bench}"
    if place.user:
        assert getattr(import_module(place.user), bug.block) is bug.original


def failures(results: Path) -> list[tuple[str, str]]:
    """Type and message of each test that failed."""
    found = ElementTree.parse(results).iter("failure")
    return [(each.get("type", ""), each.get("message", "")) for each in found]


@pytest.mark.verify
@pytest.mark.parametrize("bug", [pytest.param(one, id=one.block) for one in BUGS])
def test_is_noticed(bug, monkeypatch, tmp_path):
    """By an assertion of the bench, and not because it could not be built or run."""
    print(f"seed {SEED}, {bug.fault}")
    place, name = place_of(bug), bug.block.lower()
    bench = f"tb.{place.bench}.bench"
    make_dut = import_module(bench).make_dut
    seeded = {} if place.user else {place.keyword: bug.seeded()}
    if place.user:
        monkeypatch.setattr(f"{place.user}.{bug.block}", bug.seeded())
    build_bench(verilog_text(make_dut(**seeded), name), name=name, directory=tmp_path)
    with pytest.raises(AssertionError):
        run_tests(name=name, test_module=bench, directory=tmp_path, seed=SEED)
    (results,) = tmp_path.glob("*.result.xml")  # it begins with the name of this test
    found = failures(results)
    print(found)
    assert found and {kind for kind, _ in found} == {"AssertionError"}
