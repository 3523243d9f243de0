"""External status: the downstream GPU for the current launch, whose abort is reported once."""

import random

import pytest

from rtl.context.external_status import ExternalStatus
from rtl.parameters import T3Parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

P = T3Parameters(contexts=1)
MOST = (1 << P.credit_limit_bits) - 1
GENERATIONS = 16


def admission(inputs):
    """Admission of the downstream GPU for the current launch, as ``registers.md`` states it."""
    ahead = (inputs["generation_in"] - inputs["launch_generation"]) % GENERATIONS
    if inputs["launch"] or ahead >= GENERATIONS // 2 or not inputs["credit_limit_in"]:
        return 0
    return MOST if ahead else inputs["credit_limit_in"]


def check(block=ExternalStatus):
    """Launches, with a downstream GPU whose abort comes and goes."""
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(P)

    async def bench(ctx):
        inputs = {"launch_generation": 0, "launched": 0, "aborted_in": 0, "generation_in": 0}
        inputs |= {"credit_limit_in": 0, "dispatched": 0, "finished": 0, "kernel_generation": 0}
        reported, launches, reports = False, 0, 0
        for _ in range(3000):
            # Long spans without a change, in which the clock stops.
            inputs["launch"] = int(rng.random() < 0.02)
            launches += inputs["launch"]
            if inputs["launch"]:
                inputs["launched"] = 1
                # A launch ends the report of an abort, whether its generation is new or not.
                step = int(rng.random() < 0.7)
                inputs["launch_generation"] = (inputs["launch_generation"] + step) % GENERATIONS
                reported = False
            elif rng.random() < 0.01:
                inputs["launched"] = 0
            if rng.random() < 0.1:
                inputs["aborted_in"] ^= 1
            if rng.random() < 0.05:
                near = inputs["launch_generation"] + rng.choice([-1, 0, 0, 0, 0, 1])
                inputs["generation_in"] = near % GENERATIONS
                inputs["kernel_generation"] = near % GENERATIONS
                for name in ("credit_limit_in", "dispatched", "finished"):
                    inputs[name] = rng.choice([0, rng.getrandbits(P.credit_limit_bits)])
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            is_kernel = inputs["kernel_generation"] == inputs["launch_generation"]
            is_launch = inputs["generation_in"] == inputs["launch_generation"]
            aborts = bool(inputs["aborted_in"] and inputs["launched"] and is_launch)
            expected = {
                "generation": inputs["launch_generation"],
                "admitted": admission(inputs),
                "kernel_dispatched": inputs["dispatched"] * is_kernel,
                "ended": inputs["finished"] * is_kernel,
                "peer_aborted": aborts and not reported,
            }
            reports += expected["peer_aborted"]
            reported |= aborts
            await ctx.tick()
            downstream = ctx.get(dut.downstream)
            assert downstream.admits == (inputs["credit_limit_in"] > 0)
            assert downstream.generation == inputs["generation_in"]
            for name, value in expected.items():
                assert ctx.get(getattr(dut, name)) == value, name
        assert launches / 4 < reports < launches

    run_gated(dut, bench)


def test_status_of_the_launch():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == ExternalStatus.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
