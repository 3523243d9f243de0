from dataclasses import replace

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.trigger.credit_window import CreditWindow
from verification.seeded_bugs.of_gates import BUGS_OF_GATES

SMALL = T3Parameters(contexts=1, workgroup_bits=10, sets=4, credit_window=8)
LAUNCH_CONFIGURATION = {
    "workgroups": 64,
    "tracked_first": 16,
    "tracked_end": 20,
    "credit_window": 6,
    "command_window": 100,
    "timeout": 0,
}
OUTPUTS = ("oldest", "credit_limit", "changes", "done", "reports")


def simulate(stimulus, *, p=SMALL, block=CreditWindow, **launch_configuration):
    """The outputs in each cycle, as dictionaries with ``error`` for the timeout's dispatch index
    or None.

    The stimulus of a cycle is a dictionary of inputs; ``complete`` holds a dispatch index or None.
    Without ``tick`` the cycle is one.
    """
    dut = block(p)
    seen = []

    async def bench(ctx):
        ctx.set(dut.launch_configuration, LAUNCH_CONFIGURATION | launch_configuration)
        for inputs in stimulus:
            dispatch_index = inputs.get("complete")
            ctx.set(dut.complete, dispatch_index is not None)
            ctx.set(dut.complete_dispatch_index, dispatch_index or 0)
            for name in ("launch", "aborting", "own", "issued", "unfinished"):
                ctx.set(getattr(dut, name), inputs.get(name, 0))
            if p.contexts > 1:
                ctx.set(dut.released, inputs.get("released", 0))
            ctx.set(dut.tick, inputs.get("tick", 1))
            outputs = {name: ctx.get(getattr(dut, name)) for name in OUTPUTS}
            outputs["error"] = None
            if ctx.get(dut.error.valid):
                report = ctx.get(dut.error.report)
                assert (report.code, report.wavefront) == (ErrorCode.TIMEOUT, 0)
                outputs["error"] = report.dispatch_index
            seen.append(outputs)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def column(seen, name):
    return [outputs[name] for outputs in seen]


LAUNCH = {"launch": 1}


def test_nothing_is_admitted_before_launch():
    seen = simulate([{}] * 4)
    assert column(seen, "oldest") == column(seen, "credit_limit") == column(seen, "done") == [0] * 4


def test_launch():
    seen = simulate([LAUNCH, *[{}] * 4])
    assert column(seen, "oldest") == [0, 16, 16, 16, 16]
    assert column(seen, "credit_limit") == [0, 0, 22, 22, 22]


def test_base_moves_over_complete_dispatch_indices():
    # Out of order: 17 and 18 wait for 16.
    dispatch_indices = [None, 18, 17, 16, None, None, None, None, 19, None, None, None]
    seen = simulate(
        [LAUNCH, *[{"complete": dispatch_index} for dispatch_index in dispatch_indices[1:]], {}]
    )
    assert column(seen, "oldest") == [0, 16, 16, 16, 16, 17, 18, 19, 19, 19, 20, 20, 20]
    assert column(seen, "credit_limit") == [0, 0, 22, 22, 22, 22, 23, 24, 25, 25, 25, 26, 26]
    assert column(seen, "done") == [0] * 11 + [1, 1]


def test_one_dispatch_index_per_cycle():
    stimulus = [LAUNCH, *[{"complete": dispatch_index} for dispatch_index in range(16, 40)], {}, {}]
    seen = simulate(stimulus, tracked_end=40)
    assert column(seen, "oldest") == [0, 16, 16, *range(17, 41)]


def test_completion_of_a_bit_that_is_consumed():
    # Dispatch index 24 shares the bit of 16, which oldest passes in cycle 2.
    dispatch_indices = [None, 16, 24, 17, 18, 19, 20, 21, 22, 23]
    stimulus = [
        LAUNCH,
        *[{"complete": dispatch_index} for dispatch_index in dispatch_indices[1:]],
        *[{}] * 4,
    ]
    seen = simulate(stimulus, tracked_end=40)
    assert seen[-1]["oldest"] == 25


def test_launch_wins():
    # Completions and credits of the launch's cycle, and earlier ones, are lost.
    stimulus = [LAUNCH, {"complete": 17}, {"complete": 16, "launch": 1, "own": 1, "issued": 1}]
    seen = simulate([*stimulus, *[{}] * 4], command_window=3)
    assert column(seen, "oldest") == [0] + [16] * 6
    # The first cycle of the new launch admits nothing either.
    assert column(seen, "credit_limit") == [0, 0, 19, 0, 19, 19, 19]


def test_launch_ends_done():
    stimulus = [
        LAUNCH,
        *[{"complete": dispatch_index} for dispatch_index in range(16, 20)],
        {},
        {},
        LAUNCH,
        {},
        {},
    ]
    assert column(simulate(stimulus), "done") == [0] * 7 + [1, 0, 0]


def test_done_at_once_without_tracked_dispatch_indices():
    assert column(simulate([LAUNCH, {}, {}], tracked_end=16), "done") == [0, 0, 1]


def test_limit_by_credits():
    stimulus = [LAUNCH, {}, {"issued": 1}, {"own": 1}, {"issued": 1, "own": 1}, {}, {}, {}]
    seen = simulate(stimulus, command_window=1)
    assert column(seen, "credit_limit") == [0, 0, 17, 17, 18, 19, 21, 21]


def test_limit_is_not_above_the_last_dispatch_index():
    most = (1 << SMALL.credit_limit_bits) - 1
    seen = simulate([LAUNCH, {}, {}], credit_window=most, command_window=most)
    assert column(seen, "credit_limit") == [0, 0, most]
    # The largest sums that there are.
    highest = dict.fromkeys(("tracked_first", "tracked_end", "credit_window"), most)
    both = {"issued": 1, "own": 1}
    seen = simulate([LAUNCH, both, both, {}, {}], **highest, command_window=most)
    assert column(seen, "credit_limit") == [0, 0, most, most, most]


def test_commands_of_all_dispatch_indices():
    """The count of those that need no more of the engine has a bit more than they."""
    count = 1 << SMALL.dispatch_index_bits
    stimulus = [LAUNCH, {}, *[{"issued": 1, "complete": number} for number in range(count)], {}, {}]
    window = {"credit_window": count, "command_window": 1}
    seen = simulate(stimulus, tracked_first=0, tracked_end=count, **window)
    assert column(seen, "credit_limit") == [0, 0, 1, *range(1, count + 2)]


def test_changes_of_the_limit():
    """The strobe precedes each other value; that of a launch, after which the limit is 0, means
    nothing."""
    stimulus = [LAUNCH, {}, {"complete": 16}, {}, {}, {"aborting": 1}, {}, {}, {}]
    seen = simulate(stimulus)
    assert column(seen, "credit_limit") == [0, 0, 22, 22, 22, 23, 23, 0, 0]
    assert column(seen, "changes")[1:] == [1, 0, 0, 1, 0, 1, 0, 0]


def test_timeout():
    dispatch_indices = {3: 16, 17: 17}
    stimulus = [{"complete": dispatch_indices.get(cycle)} for cycle in range(30)]
    stimulus[0] = LAUNCH
    seen = simulate(stimulus, timeout=5)
    # oldest moves in cycles 4 and 18; the counter starts behind them, and anew after a report.
    assert {
        cycle: dispatch_index
        for cycle, dispatch_index in enumerate(column(seen, "error"))
        if dispatch_index
    } == {
        10: 17,
        16: 17,
        24: 18,
    }


def test_only_ticks_count():
    stimulus = [LAUNCH, *[{"tick": cycle % 8 == 0} for cycle in range(1, 60)]]
    errors = column(simulate(stimulus, timeout=3), "error")
    # Ticks in the cycles 8, 16 and so on; reported in the cycle after the third one.
    assert [cycle for cycle, error in enumerate(errors) if error] == [25, 49]
    # A tick in the cycle of a move or of a report is not counted.
    stimulus = [{"tick": cycle in (5, 10, 12, 13, 14, 15)} for cycle in range(20)]
    stimulus[0], stimulus[9]["complete"] = LAUNCH, 16
    errors = column(simulate(stimulus, timeout=2), "error")
    assert [cycle for cycle, error in enumerate(errors) if error] == [14]


def test_no_timeout_when_off_or_done():
    stimulus = [LAUNCH, *[{}] * 20]
    assert not any(column(simulate(stimulus), "error"))
    assert not any(column(simulate(stimulus, timeout=3, tracked_end=16), "error"))
    assert not any(column(simulate([{"unfinished": 1}] * 20, timeout=3), "error"))


@pytest.mark.parametrize("bit", [6, 8, 12, 16, 20, 24, 28, 31])
def test_timeout_of_every_width(bit):
    """No timeout occurs before all of its bits are reached."""
    seen = simulate([LAUNCH, *[{}] * 40], timeout=(1 << bit) + 9)
    assert not any(column(seen, "error"))


def test_launch_of_all_dispatch_indices():
    """The end of the launch has one bit more than a dispatch index; a report names the last
    dispatch index in its place."""
    last = (1 << SMALL.dispatch_index_bits) - 1
    stimulus = [LAUNCH, {}, {"unfinished": 1}, {"complete": last - 1}, {"complete": last}]
    stimulus += [{"unfinished": 1}] * 12
    seen = simulate(stimulus, tracked_first=last - 1, tracked_end=last + 1, timeout=6)
    assert column(seen, "oldest")[-1] == last + 1
    assert column(seen, "done") == [*[0] * 7, *[1] * 10]
    assert [error for error in column(seen, "error") if error is not None] == [last]
    assert column(seen, "credit_limit")[-1] == last + 1 + 6


def test_timeout_of_what_cannot_be_sent():
    """At the end only ticks in which the link takes nothing count; before it, every tick."""
    unfinished = [1, 1, 1, 1, 0, *[1] * 10]
    stimulus = [LAUNCH, *[{"unfinished": one} for one in unfinished]]
    errors = column(simulate(stimulus, timeout=4, tracked_end=16), "error")
    assert errors == [None] * 5 + [16] + [None] * 4 + [16] + [None] * 4 + [16]
    errors = column(simulate(stimulus, timeout=4), "error")
    assert errors == [None] * 5 + [16] + [None] * 4 + [16] + [None] * 4 + [16]


def test_abort():
    """Nothing is admitted, no end is reported, and no timeout occurs, until the next launch."""
    aborting = {"aborting": 1, "unfinished": 1}
    after = {"unfinished": 1}
    stimulus = [LAUNCH, *[{}] * 3, *[aborting] * 2, *[after] * 9]
    seen = simulate([*stimulus, LAUNCH, *[{}] * 3], timeout=6)
    assert column(seen, "credit_limit") == [0, 0, *[22] * 4, *[0] * 11, 22, 22]
    assert not any(column(seen, "error"))
    # A launch that has ended is aborted like any other.
    seen = simulate([LAUNCH, *[{}] * 3, {"aborting": 1}, *[after] * 9], timeout=6, tracked_end=16)
    assert column(seen, "done") == [0, 0, 1, 1, 1, *[0] * 9]
    assert not any(column(seen, "error"))


def test_launch_wins_over_an_abort():
    seen = simulate([{"launch": 1, "aborting": 1}, *[{}] * 3])
    assert column(seen, "credit_limit") == [0, 0, 22, 22]


def test_a_release_counts_as_progress():
    """Before the end of the slots, and behind it while a gate is closed."""
    p = replace(SMALL, contexts=2)
    for tracked_end in (16, 24):
        stimulus = [LAUNCH, *({"unfinished": 1, "released": n % 4 == 3} for n in range(30))]
        seen = simulate(stimulus, p=p, timeout=5, tracked_first=16, tracked_end=tracked_end)
        assert not any(column(seen, "error"))
        seen = simulate(stimulus[:5] + [{"unfinished": 1}] * 9, p=p, timeout=5, tracked_end=24)
        assert len([error for error in column(seen, "error") if error is not None]) == 1


STEPS = [(0, 30, [17, 18, 19, 20]), (1, 30, [18, 20]), (2, 30, [20]), (3, 30, []), (31, 19, [19])]


def check_reports(block=CreditWindow):
    """Reports come in the first cycle of a slot that is a multiple of the step, or the end of the
    launch; software that asked for nothing hears nothing, and none comes after an abort."""
    stimulus = [LAUNCH, *[{}] * 2, *({"complete": index} for index in (18, 17, 16, 19)), *[{}] * 6]
    for log2, end, steps in STEPS:
        launch = {"tracked_first": 16, "tracked_end": end, "report_log2": log2, "block": block}
        seen = simulate(stimulus, reports_steps=1, **launch)
        assert [one["oldest"] for one in seen if one["reports"]] == steps
        assert not any(column(simulate(stimulus, reports_steps=0, **launch), "reports"))
    completes = [{"complete": index} for index in (16, 17)]
    stimulus = [LAUNCH, {}, *[{"aborting": 1}] * 3, *completes, *[{}] * 3]
    seen = simulate(stimulus, reports_steps=1, tracked_first=16, block=block)
    assert column(seen, "oldest")[-1] == 18 and not any(column(seen, "reports"))


def test_progress_is_reported():
    check_reports()


BUGS = [bug for _, bug in BUGS_OF_GATES if bug.block == CreditWindow.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check_reports(bug.seeded())
