"""The bench of each block reports the block's seeded bug.

``test_benches.py`` shows that the benches pass on the unchanged blocks.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rtl.export.back_end import verilog_text
from tb.benches import BENCHES, Bench
from tb.runner import build_bench, run_tests
from verification.seeded_bugs.bug import SeededBug
from verification.seeded_bugs.table import SEEDED_BUGS

SEED = 1
# Proofs also have seeded bugs in nodes of their own.
BUGS = tuple(bug for bug in SEEDED_BUGS if bug.module.startswith("rtl."))


@dataclass(frozen=True, kw_only=True)
class Inside:
    """Bench of a larger block that covers a block without a bench of its own.

    Parameters
    ----------
    bench : str
        Name of the larger block's bench.
    user : str
        Module of the larger block, in which the block is replaced.
    """

    bench: str
    user: str


INSIDE = {
    "Congestion": Inside(bench="criticality", user="rtl.trigger.criticality"),
    "ContextPage": Inside(bench="registers", user="rtl.registers.port"),
    "ContextUnit": Inside(bench="top", user="rtl.top"),
    "ControlReceiver": Inside(bench="link_endpoint", user="rtl.link.flow"),
    "ControlSender": Inside(bench="link_endpoint", user="rtl.link.flow"),
    "ForeignRegions": Inside(bench="registers", user="rtl.registers.port"),
    "FrameQueue": Inside(bench="link_endpoint", user="rtl.link.flow"),
    "GlobalPage": Inside(bench="registers", user="rtl.registers.port"),
    "LaunchCheck": Inside(bench="registers", user="rtl.registers.context_page"),
    "LinkReceiver": Inside(bench="link_endpoint", user="rtl.link.flow"),
    "LinkSender": Inside(bench="link_endpoint", user="rtl.link.flow"),
    "LinkSession": Inside(bench="link_endpoint", user="rtl.link.endpoint"),
    "MemoryQueue": Inside(bench="issue_ack_buffer", user="rtl.lib.protected_queue"),
    "ProtectedQueue": Inside(bench="issue_ack_buffer", user="rtl.channel.issue_ack_buffer"),
    "SecdedCheck": Inside(bench="protected_memory", user="rtl.lib.protected_memory"),
    "SerialProduct": Inside(bench="criticality", user="rtl.trigger.criticality"),
    "TrackerTable": Inside(bench="tracker_bank", user="rtl.tracker.bank"),
}


def bench_of(bug: SeededBug) -> Bench:
    if bug.block in INSIDE:
        return BENCHES[INSIDE[bug.block].bench]
    return next(bench for bench in BENCHES.values() if bug.original in bench.blocks)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.block)
def test_there_is_a_bench(bug):
    assert bench_of(bug)
    if bug.block in INSIDE:
        user = import_module(INSIDE[bug.block].user)
        assert getattr(user, bug.block) is bug.original


def failures(results: Path) -> list[tuple[str, str]]:
    """Type and message of each test that failed."""
    found = ElementTree.parse(results).iter("failure")
    return [(each.get("type", ""), each.get("message", "")) for each in found]


@pytest.mark.verify
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.block)
def test_bench_fails(bug, monkeypatch, tmp_path):
    """An assertion of the bench fails, not the build or the run."""
    print(f"seed {SEED}, {bug.fault}")
    bench = bench_of(bug)
    if bug.block in INSIDE:
        monkeypatch.setattr(f"{INSIDE[bug.block].user}.{bug.block}", bug.seeded())
        dut = bench.make()
    else:
        dut = bench.make(**{bench.blocks[bug.original]: bug.seeded()})
    build_bench(verilog_text(dut, bench.name), name=bench.name, directory=tmp_path)
    with pytest.raises(AssertionError):
        run_tests(name=bench.name, test_module=bench.module, directory=tmp_path, seed=SEED)
    found = failures(tmp_path / "results.xml")
    print(found)
    assert found and {kind for kind, _ in found} == {"AssertionError"}
