"""The counter of outstanding requests, against plain sums; its clock stops while not enabled."""

import random

import pytest

from rtl.channel.outstanding_counter import OutstandingCounter
from tests.support.simulation import run_gated
from verification.seeded_bugs.bug import SeededBug


@pytest.mark.parametrize("seed", range(3))
def test_counts(seed):
    """Begins count in the next cycle, ends in the one after; surplus ends are ignored."""
    check_counts(seed)


def check_counts(seed, kind=OutstandingCounter):
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = kind(begins=2, ends=4)

    async def bench(ctx):
        count, begun, ended, seen = 0, 0, 0, set()
        for cycle in range(3000):
            more = rng.random() < 0.6 if cycle // 100 % 2 else rng.random() < 0.2
            begin, end = (rng.getrandbits(2), 0) if more else (0, rng.getrandbits(4))
            together = 0 if more or rng.random() < 0.8 else rng.getrandbits(4)
            if rng.random() < 0.3:  # the clock may stop
                begin = end = 0
                together *= rng.getrandbits(1)
            ctx.set(dut.begin, begin)
            ctx.set(dut.end, end)
            ctx.set(dut.end_count, together)
            assert ctx.get(dut.none) == (count == 0 and begun == 0), cycle
            seen.add((count == 0, begun == 0))
            count = max(count + begun - ended, 0)
            begun, ended = begin.bit_count(), end.bit_count() + together
            await ctx.tick()
        assert len(seen) == 4

    run_gated(dut, bench)


def test_as_many_as_a_memory_controller_may_hold():
    """The counter holds up to 4,095 accesses, which may end one by one."""
    dut = OutstandingCounter(begins=2, ends=4)

    async def bench(ctx):
        most = 4094
        ctx.set(dut.begin, 3)
        for _ in range(most // 2):
            await ctx.tick()
        ctx.set(dut.begin, 0)
        ctx.set(dut.end, 1)
        for _ in range(most + 1):
            assert not ctx.get(dut.none)
            await ctx.tick()
        ctx.set(dut.end, 0)
        await ctx.tick()
        assert ctx.get(dut.none)

    run_gated(dut, bench)


# Without ``begun`` the counter would only count later, and no output differs: begins count as long.
@pytest.mark.parametrize(
    "cause", ["self.begin", "self.end", "self.end_count", "ended", "ended_together"]
)
def test_a_counter_whose_clock_stops_early_is_noticed(cause):
    causes = ["self.begin", "self.end", "self.end_count", "begun", "ended", "ended_together"]
    bug = SeededBug(
        module="rtl.channel.outstanding_counter",
        block="OutstandingCounter",
        fault=f"{cause} does not enable the clock",
        right=f"Cat({', '.join(causes)}).any()",
        wrong=f"Cat({', '.join(one for one in causes if one != cause)}).any()",
    )
    with pytest.raises(AssertionError):
        check_counts(0, bug.seeded())
