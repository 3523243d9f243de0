"""Steps of every schedule, executed on numbers in places, against the operation's definition."""

from collections import Counter, defaultdict

import pytest

from sysmodel.collectives.check import needed_results
from sysmodel.collectives.registry import algorithms
from sysmodel.collectives.schedule import expanded
from sysmodel.collectives.steps import places, steps_of
from sysmodel.collectives.traffic import equal_chunks, traffic
from sysmodel.lib.errors import InputError

RANKS = [2, 3, 4, 5, 6, 8, 12, 16]


def _schedules():
    for name, one in algorithms().items():
        for operation in one.operations:
            for ranks in RANKS:
                try:
                    yield pytest.param(
                        expanded(one.schedule(operation, ranks)), id=f"{name}-{operation}-{ranks}"
                    )
                except InputError:
                    continue


def _first_data(schedule):
    """Data of each rank before the collective: a counter of ranks by place and chunk."""
    memory = [{} for _ in range(schedule.ranks)]
    for stage in schedule.flows[:1]:
        for rank, flows in enumerate(stage):
            for flow in flows:
                if flow.own:
                    source = flow.chunk.source
                    place = 0 if source < 0 else 1 + (source - flow.chunk.owner) % schedule.ranks
                    memory[rank][flow.chunk, place] = Counter([rank])
    return memory


def _run(step, awaits, memory, arrived):
    """Execute the work of a step that awaits other work of it, or the rest; count arrivals."""
    stores, sums = {}, defaultdict(Counter)
    for rank, work in enumerate(step.work):
        for one in (one for one in work if one.awaits == awaits):
            value = sum((memory[rank][one.chunk, place] for place in one.operands), Counter())
            for peer, place in one.targets:
                if one.merged:
                    sums[peer, one.chunk, place] += value
                    continue
                stores[peer, one.chunk, place] = value
                if peer != rank:
                    arrived[peer][one.chunk] += 1
    for peer, chunk, _ in sums:  # the network adds: one packet arrives
        arrived[peer][chunk] += 1
    # All loads come before the stores: no store may overwrite another operand.
    for (peer, chunk, place), value in (*stores.items(), *sums.items()):
        memory[peer][chunk, place] = value


@pytest.mark.parametrize("schedule", list(_schedules()))
def test_steps_do_the_operation(schedule):
    memory = _first_data(schedule)
    for step in steps_of(schedule):
        arrived = [Counter() for _ in range(schedule.ranks)]
        for awaits in (False, True):  # sends that await arrivals come behind these
            _run(step, awaits, memory, arrived)
        assert arrived == [Counter(one) for one in step.arriving]
    for rank in range(schedule.ranks):
        for chunk, needed in needed_results(schedule, rank):
            place = 0 if chunk.source < 0 else 1 + (chunk.source - chunk.owner) % schedule.ranks
            holds = {other for other in range(schedule.ranks) if needed >> other & 1}
            assert memory[rank][chunk, place] == Counter(holds)


@pytest.mark.parametrize("schedule", list(_schedules()))
def test_steps_have_the_traffic_of_the_flows(schedule):
    expected = traffic(schedule, equal_chunks(schedule, schedule.parts))
    for rank in range(schedule.ranks):
        work = [one for step in steps_of(schedule) for one in step.work[rank]]
        arriving = [chunk for step in steps_of(schedule) for chunk in step.arriving[rank]]
        kept = sum(peer == rank for one in work if not one.merged for peer, _ in one.targets)
        assert sum(len(one.operands) for one in work) == expected[rank].read
        assert len(arriving) == expected[rank].received
        assert len(arriving) + kept == expected[rank].written
        assert places(schedule) > max((p for one in work for p in one.operands), default=0)


def test_ring_has_a_sum_in_each_step_after_the_first():
    (ring,) = [one for name, one in algorithms().items() if name == "ring"]
    steps = list(steps_of(expanded(ring.schedule("reduce-scatter", 4))))
    assert [[len(work[0].operands) for work in step.work] for step in steps] == [
        [1] * 4, [2] * 4, [2] * 4, [2] * 4
    ]  # fmt: skip
    assert [step.sends for step in steps] == [True, True, True, False]
    # GPU 0 begins with the chunk of the next GPU, and ends with its own.
    assert [step.work[0][0].chunk.owner for step in steps] == [1, 2, 3, 0]
