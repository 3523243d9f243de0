"""Verdicts on runs, and their counts."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from rtl.interface.encodings import ErrorCode
from verification.faults.judge import judge, judge_all
from verification.faults.outcome import Kind, Result, Verdict
from verification.faults.registry import KINDS
from verification.faults.ring import RingRun
from verification.faults.run import Tally, shares

CYCLES, TIMEOUT_CYCLES = 1000, 3000
RING = SimpleNamespace(
    fault_free=SimpleNamespace(cycles=CYCLES),
    setup=SimpleNamespace(timeout_cycles=TIMEOUT_CYCLES),
    kernels=[SimpleNamespace(workgroups=12)] * 2,
)


def verdict(*, tile=None, **changes):
    run = dict(finished=True, right=True, reports={}, corrected=0, cycles=CYCLES) | changes
    codes = (ErrorCode.TIMEOUT,)
    return judge(RING, RingRun(**run), injected="x", begin=500, codes=codes, tile=tile)


def report(code=ErrorCode.TIMEOUT, dispatch_index=3, cycle=900):
    return {
        "finished": False,
        "right": False,
        "reports": {1: (code.value, dispatch_index, 2, cycle)},
    }


def test_right_results():
    assert verdict().outcome is Verdict.HARMLESS
    assert verdict(corrected=2).outcome is Verdict.CORRECTED


def test_wrong_or_no_results_without_a_report():
    assert verdict(right=False).outcome is Verdict.SILENT
    assert verdict(finished=False, right=False).outcome is Verdict.HANG


def test_reports():
    found = verdict(**report())
    assert (found.outcome, found.code) == (Verdict.REPORTED, "TIMEOUT")
    assert found.report_cycles == 400
    assert verdict(**report(code=ErrorCode.OVERRUN)).outcome is Verdict.MISREPORTED
    assert verdict(**report(dispatch_index=12)).outcome is Verdict.MISREPORTED
    wrong_tile = verdict(**report(), tile=lambda gpu, dispatch_index: dispatch_index != 3)
    assert wrong_tile.outcome is Verdict.MISREPORTED


def test_packets_are_reported_with_their_slot():
    def found(**changes):
        return judge(
            RING,
            RingRun(finished=False, right=False, corrected=0, cycles=9, **changes),
            injected="x",
            begin=500,
            codes=(ErrorCode.PACKET_LATE,),
            tile=lambda gpu, dispatch_index: (gpu, dispatch_index) == (1, 3),
        ).outcome

    late = (ErrorCode.PACKET_LATE.value, 3, 0, 600)
    assert found(reports={1: late}) is Verdict.REPORTED
    assert found(reports={2: late}) is Verdict.MISREPORTED


def test_an_error_counts_although_the_result_is_there():
    run = report() | {"finished": True, "right": True}
    assert verdict(**run).outcome is Verdict.REPORTED


def test_the_first_of_two_reports_counts():
    early, late = report(cycle=600)["reports"], report(code=ErrorCode.OVERRUN, cycle=700)["reports"]
    assert verdict(finished=False, reports={0: late[1], 2: early[1]}).code == "TIMEOUT"


def test_a_late_report_is_a_hang():
    late = 500 + CYCLES + TIMEOUT_CYCLES + 1000
    assert verdict(**report(cycle=late)).outcome is Verdict.HANG


FINE = RingRun(finished=True, right=True, reports={}, corrected=0, cycles=CYCLES)
WRONG = replace(FINE, right=False)
LOST = replace(FINE, **report(code=ErrorCode.TRACKER_CORRUPT))
WAITS = replace(FINE, **report())
NOTIFIED = replace(FINE, reports=LOST.reports)


@pytest.mark.parametrize(
    "runs, outcome",
    [
        ([FINE, FINE], Verdict.HARMLESS),
        ([LOST, FINE], Verdict.REPORTED),
        ([WAITS, NOTIFIED], Verdict.MISREPORTED),  # the second context has lost nothing
        ([FINE, LOST], Verdict.MISREPORTED),  # the lost entry is not of the second context
        ([LOST, WAITS], Verdict.MISREPORTED),
        ([WRONG, NOTIFIED], Verdict.SILENT),  # a report to the other context is none to the first
        ([LOST, WRONG], Verdict.SILENT),
        ([LOST, replace(FINE, finished=False, right=False)], Verdict.HANG),
    ],
)
def test_two_contexts_of_which_the_first_one_is_hit(runs, outcome):
    codes = ErrorCode.TRACKER_CORRUPT, ErrorCode.TIMEOUT
    found = judge_all(RING, runs, {0}, injected="x", begin=500, codes=codes)
    assert found.outcome is outcome


def test_one_context_may_lose_a_shared_entry_but_not_both():
    for runs, outcome in (
        ([FINE, WAITS], Verdict.REPORTED),
        ([WAITS, FINE], Verdict.REPORTED),
        ([WAITS, WAITS], Verdict.MISREPORTED),
    ):
        codes = (ErrorCode.TIMEOUT,)
        found = judge_all(RING, runs, {0, 1}, injected="x", begin=500, codes=codes)
        assert found.outcome is outcome


def some_kind(name, share):
    return Kind(name, "", "", share, lambda bench, rng: None)


def test_tally():
    tally = Tally(some_kind("x", 1))
    tally.add(4, Result(Verdict.REPORTED, "a", "TIMEOUT", report_cycles=7))
    tally.add(3, Result(Verdict.HANG, "b", "TIMEOUT", report_cycles=900))
    tally.add(2, Result(Verdict.CORRECTED, "c", delay_cycles=0))
    for number in range(10, 0, -1):
        tally.add(number, Result(Verdict.SILENT, f"{number}"))
    assert tally.faults == 13
    assert tally.codes == {"TIMEOUT": 2}
    assert (tally.report_cycles, tally.delay_cycles) == (900, 0)
    assert [number for number, _ in tally.failures] == [1, 2, 3, 3, 4]


@pytest.mark.parametrize("faults", [1, 20, 9999])
def test_shares(faults):
    kinds = [some_kind("a", 1), some_kind("b", 3), some_kind("c", 3)]
    counts = shares(kinds, faults)
    assert min(counts) >= 1
    assert faults <= sum(counts) <= faults + len(kinds)
    assert counts[1] == counts[2]
    assert abs(counts[1] - 3 * faults / 7) <= 1


def test_names_of_kinds():
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names) == 35
