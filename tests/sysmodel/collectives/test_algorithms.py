"""Every algorithm for 2 to 64 ranks: it is right, and has the costs of its closed forms."""

import pytest

from sysmodel.collectives import registry
from sysmodel.collectives.check import check
from sysmodel.collectives.schedule import OPERATIONS, expanded
from sysmodel.collectives.traffic import equal_chunks, steps, traffic
from sysmodel.lib.errors import InputError

RANKS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64)
BYTES = 96  # of a chunk
MOST_FLOWS = 4_000  # longer cases are left to `make verify`


def flows_of(schedule):
    return schedule.ranks * sum(len(stage.flows) for stage in schedule.stages)


def cases():
    for one in registry.algorithms().values():
        for operation in one.operations:
            for ranks in RANKS:
                try:
                    large = flows_of(one.schedule(operation, ranks)) > MOST_FLOWS
                except InputError:
                    continue
                marks = [pytest.mark.verify] if large else []
                yield pytest.param(one, operation, ranks, marks=marks)


def named(value):
    return getattr(value, "name", str(value))


@pytest.mark.parametrize(("one", "operation", "ranks"), [*cases()], ids=named)
def test_the_schedule_is_right_and_has_the_costs_of_the_closed_form(one, operation, ranks):
    schedule = expanded(one.schedule(operation, ranks))
    check(schedule)
    closed = one.closed_form(operation, ranks).times(BYTES)
    found = traffic(schedule, equal_chunks(schedule, BYTES))
    assert {rank.costs(steps(schedule)) for rank in found} == {closed}


# Section 7 of the design, and textbooks: chunks that leave a rank, and steps in a row.
@pytest.mark.parametrize(
    ("name", "operation", "ranks", "sent", "in_a_row"),
    [
        ("ring", "reduce-scatter", 8, 7, 7),
        ("ring", "all-reduce", 8, 14, 14),
        ("ring", "all-to-all", 8, 28, 7),
        ("bidirectional", "all-gather", 8, 7, 7),
        ("multi-ring", "reduce-scatter", 8, 7, 7),
        ("direct", "reduce-scatter", 8, 7, 1),
        ("direct", "all-to-all", 5, 4, 1),
        ("halving-doubling", "all-reduce", 16, 30, 8),
        ("multicast", "all-gather", 8, 1, 1),
        ("send", "send", 4, 1, 1),
        ("hierarchical", "reduce-scatter", 32, 28 + 3, 2),  # (A-1)/A S, then (M-1)/(AM) S
    ],
)
def test_known_costs(name, operation, ranks, sent, in_a_row):
    closed = registry.algorithm(name).closed_form(operation, ranks)
    assert (closed.sent, closed.steps) == (sent, in_a_row)


def test_memory_of_a_ring_on_compute_units():
    """A reduce-scatter reads 2N - 1 chunks and writes N; an all-gather N - 1 each."""
    ring = registry.algorithm("ring")
    scatter, gather = (ring.closed_form(one, 8) for one in ("reduce-scatter", "all-gather"))
    assert (scatter.read, scatter.written) == (15, 8)
    assert (gather.read, gather.written) == (7, 7)


def test_every_operation_has_an_algorithm():
    known = registry.algorithms().values()
    assert {operation for one in known for operation in one.operations} == set(OPERATIONS)


def test_both_directions_are_busy():
    schedule = expanded(registry.algorithm("bidirectional").schedule("reduce-scatter", 6))
    one = traffic(schedule, equal_chunks(schedule, 8))[0]
    assert one.sent_to == one.received_from == {1: 5 * 4, 5: 5 * 4}


def test_partners_of_halving_and_doubling():
    halving = registry.algorithm("halving-doubling")
    for operation in ("reduce-scatter", "all-gather"):
        schedule = expanded(halving.schedule(operation, 8))
        sent = traffic(schedule, equal_chunks(schedule, 1))[5].sent_to
        assert sent == {5 ^ 1: 1, 5 ^ 2: 2, 5 ^ 4: 4}


def test_bytes_between_nodes():
    hierarchical = registry.algorithm("hierarchical")
    schedule = expanded(hierarchical.schedule("reduce-scatter", 12, ranks_per_node=4))
    one = traffic(schedule, equal_chunks(schedule, 1))[5]  # the second rank of the second node
    assert one.sent_to == {4: 3, 6: 3, 7: 3, 1: 1, 9: 1}


def test_multicast_counts_once_at_the_sender():
    schedule = expanded(registry.algorithm("multicast").schedule("all-gather", 4))
    one = traffic(schedule, equal_chunks(schedule, 10))[0]
    assert one.sent == 10 and one.sent_to == {1: 10, 2: 10, 3: 10} and one.received == 30


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("halving-doubling", "all-gather", 6), "ranks: 6 is not allowed; allowed: a power of two"),
        (("hierarchical", "all-gather", 7), "ranks: 7 is not allowed; allowed: several nodes"),
        (("ring", "send", 4), "operation: ring has no 'send'; allowed: reduce-scatter, all-gather"),
        (("ring", "all-gather", 1), "ranks: 1 is not allowed; allowed: 2 to 128"),
    ],
)  # fmt: skip
def test_refused_arguments(arguments, problem):
    name, operation, ranks = arguments
    for method in ("schedule", "closed_form"):
        with pytest.raises(InputError) as error:
            getattr(registry.algorithm(name), method)(operation, ranks)
        assert str(error.value).startswith(problem)


def test_refused_ranks_per_node():
    with pytest.raises(InputError) as error:
        registry.algorithm("hierarchical").schedule("all-gather", 12, ranks_per_node=5)
    assert str(error.value) == "ranks_per_node: 5 is not allowed; allowed: 2, 3, 4, 6"


def test_an_unknown_algorithm():
    with pytest.raises(InputError) as error:
        registry.algorithm("rign")
    assert str(error.value) == (
        "name: 'rign' is not known; allowed: bidirectional, direct, halving-doubling, "
        "hierarchical, in-switch, multi-ring, multicast, ring, send"
    )
    assert registry.algorithm("Halving_Doubling").name == "halving-doubling"
