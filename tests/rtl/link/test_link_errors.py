"""Link errors: every error is reported, in turn, within a bound."""

import random
from collections import deque

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.link.errors import LinkErrors
from rtl.parameters import T3Parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

CHANNELS = 3
BOUND = 2 * CHANNELS
KINDS = (ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)


def check(block=LinkErrors):
    """Random errors, sometimes of all links in every cycle: places have turns."""
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(T3Parameters(contexts=1, channels=CHANNELS))
    places = [(channel, kind) for channel in range(CHANNELS) for kind in KINDS]

    async def bench(ctx):
        waiting, turns, longest = {}, deque(places), 0
        for cycle in range(2000):
            if cycle % 50 == 0:
                often = rng.choice([0, 0.02, 0.3, 1])
            come = [place for place in places if rng.random() < often]
            for name, kind in zip(("down", "reset"), KINDS, strict=True):
                ctx.set(getattr(dut, name), sum(1 << n for n, code in come if code is kind))
            assert ctx.get(dut.error.valid) == bool(waiting)
            assert ctx.get(dut.clock_enable) == bool(waiting or come)
            if waiting:
                while turns[0] not in waiting:
                    turns.rotate(-1)
                report = ctx.get(dut.error.report)
                assert (report.channel, ErrorCode(report.code)) == turns[0] and report.unowned
                longest = max(longest, cycle - waiting.pop(turns[0]))
                turns.rotate(-1)
            for place in come:
                waiting.setdefault(place, cycle)
            await ctx.tick()
        assert longest == BOUND

    run_gated(dut, bench)


def test_errors_have_turns():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == LinkErrors.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
