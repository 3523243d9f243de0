"""Sums in switches as schedules: closed forms, steps, and the mistakes that the check refuses."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.collectives.check import check
from sysmodel.collectives.mscclpp_writer import mscclpp_plan
from sysmodel.collectives.reference import reference
from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.collectives.steps import steps_of
from sysmodel.collectives.traffic import equal_chunks, steps, traffic
from sysmodel.lib.errors import InputError

IN_SWITCH = algorithm("in-switch")
REDUCES = ("reduce-scatter", "all-reduce")


def schedule_of(operation, ranks=8):
    return expanded(IN_SWITCH.schedule(operation, ranks))


@pytest.mark.parametrize("ranks", [2, 3, 8, 72])
def test_bytes_by_hand(ranks):
    """A rank sends all chunks, its own too, and gets one sum; then it sends that one to all."""
    expected = {
        "reduce-scatter": (ranks, 1, ranks, 1),
        "all-gather": (1, ranks - 1, 1, ranks - 1),
        "all-reduce": (ranks + 1, ranks, ranks + 1, ranks),
    }
    for operation in IN_SWITCH.operations:
        schedule = schedule_of(operation, ranks)
        check(schedule)
        for one in traffic(schedule, equal_chunks(schedule, 64)):
            found = one.sent, one.received, one.read, one.written
            assert found == tuple(64 * chunks for chunks in expected[operation])
        costs = one.costs(steps(schedule))
        assert costs == IN_SWITCH.closed_form(operation, ranks).times(64)


def test_results_are_the_sums():
    print("seed 5")
    inputs = np.random.default_rng(5).standard_normal((6, 24))
    whole = inputs.sum(axis=0)
    for rank, found in enumerate(reference(schedule_of("all-reduce", 6), inputs)):
        assert found == pytest.approx(whole), rank
    for rank, found in enumerate(reference(schedule_of("reduce-scatter", 6), inputs)):
        assert found == pytest.approx(whole.reshape(6, 4)[rank]), rank


def test_an_all_reduce_is_one_step_in_which_the_sums_are_awaited():
    (step,) = steps_of(schedule_of("all-reduce"))
    for rank, work in enumerate(step.work):
        *pushed, copied = work
        # All ranks send in the same order, so that a switch holds few sums.
        assert [one.chunk.owner for one in pushed] == [*range(8)]
        assert [one.targets for one in pushed] == [((owner, 0),) for owner in range(8)]
        assert all(one.merged and not one.awaits for one in pushed)
        assert (copied.chunk.owner, copied.awaits, copied.multicast) == (rank, True, True)
        assert sorted(chunk.owner for chunk in step.arriving[rank]) == [*range(8)]


def test_halves_alone_await_nothing():
    for operation in ("reduce-scatter", "all-gather"):
        (step,) = steps_of(schedule_of(operation))
        assert not any(one.awaits for work in step.work for one in work)


def test_a_schedule_streams_only_in_single_steps():
    ring = replace(expanded(algorithm("ring").schedule("all-reduce", 4)), streams=True)
    with pytest.raises(ValueError, match="ring streams; allowed: one step in each stage"):
        list(steps_of(ring))


def _changed(operation, rank, owner, **values):
    """Schedule with another flow of a rank for an owner's chunk in the first stage."""
    schedule = schedule_of(operation, 4)
    flows = [list(own) for own in schedule.flows[0]]
    flows[rank] = [
        replace(flow, **values) if flow.chunk.owner == owner else flow for flow in flows[rank]
    ]
    stages = (tuple(map(tuple, flows)), *schedule.flows[1:])
    return replace(schedule, flows=stages)


@pytest.mark.parametrize("operation", REDUCES)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"merged": False}, "stage 0, rank 2, chunk 2: .* of some ranks; allowed: of all, or none"),
        ({"to": ()}, "stage 0, rank [12], chunk 2: "),
        ({"to": (2, 3)}, "stage 0, rank [123], chunk 2: "),
        ({"own": False}, "stage 0, rank 1, chunk 2: .*; allowed: the rank's own data"),
    ],
)
def test_sums_that_lack_a_rank_are_refused(operation, values, message):
    message = message.replace("or none", "or of none")
    with pytest.raises(InputError, match=message):
        check(_changed(operation, 1, 2, **values))


def test_the_receivers_own_packets_are_part_of_the_sum():
    with pytest.raises(InputError, match="rank 2, chunk 2: .*the rank's own data"):
        check(_changed("reduce-scatter", 2, 2, own=False))
    with pytest.raises(InputError, match="rank 2, chunk 2: .*of some ranks"):
        check(_changed("reduce-scatter", 2, 2, merged=False))


def test_no_plan_says_it():
    with pytest.raises(InputError, match="a sum in a switch is not supported in a plan"):
        mscclpp_plan(schedule_of("reduce-scatter"))
