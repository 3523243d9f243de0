"""External status: the dispatcher for the current launch, the aborts that peers see, and lost
packets."""

import random

import pytest

from rtl.context.external_status import ExternalStatus
from rtl.parameters import T3Parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

P = T3Parameters(contexts=1)
GENERATIONS = 16
REACH = 7  # generations by which a launch follows the one before, at most


def check(block=ExternalStatus):
    """Launches that are counted without a bound, some cut short, and a kernel near the launch.
    Packets are lost in some times: the first one behind each launch and each copy is reported."""
    seed = 6
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(P)
    names = ("aborts", "old aborts", "kernel", "other kernel", "losses", "known losses")
    seen = dict.fromkeys(names, 0)

    async def bench(ctx):
        here, aborted, runs, ended = 0, set(), False, 0
        since, loses = [], False  # losses since the last launch or copy
        counts = {"dispatched": 0, "finished": 0, "kernel_generation": 0}
        for _ in range(5000):
            launches = rng.random() < 0.05
            if launches:
                here, runs = here + rng.choice([1, 1, 1, 2, REACH]), True
            cuts = runs and not launches and rng.random() < 0.02
            if rng.random() < 0.05:
                counts["kernel_generation"] = (here + rng.choice([-1, 0, 0, 0, 1])) % GENERATIONS
                for name in ("dispatched", "finished"):
                    counts[name] = rng.choice([0, rng.getrandbits(P.credit_limit_bits)])
            loses = rng.random() < (0.9 if loses else 0.02)
            copies, lost = rng.random() < 0.01, loses and rng.random() < 0.5
            inputs = {"launch": launches, "cut_short": cuts, "copies": copies, "lost": lost}
            inputs |= counts
            inputs["launch_generation"] = here % GENERATIONS
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), int(value))
            assert ctx.get(dut.reports_loss) == (lost and not since)
            seen["losses"] += lost and not since
            seen["known losses"] += lost and bool(since)
            since += [lost] * lost
            if launches or copies:
                since = []
            if cuts:
                aborted.add(here)
                runs = False
            is_kernel = counts["kernel_generation"] == here % GENERATIONS
            expected = {
                "generation": here % GENERATIONS,
                "aborted": sum((here - back in aborted) << back for back in range(8)),
                "kernel_dispatched": counts["dispatched"] * is_kernel,
                "ended": counts["finished"] * is_kernel,
                "progresses": counts["finished"] * is_kernel != ended,
            }
            ended = expected["ended"]
            await ctx.tick()
            for name, value in expected.items():
                assert ctx.get(getattr(dut, name)) == value, name
            seen["aborts"] += expected["aborted"] & 1
            seen["old aborts"] += expected["aborted"] > 1
            seen["kernel" if is_kernel else "other kernel"] += 1
        print(seen)
        assert min(seen.values()) > 10

    run_gated(dut, bench)


def test_status_of_the_kernel():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == ExternalStatus.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
