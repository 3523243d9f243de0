"""Refusals of schedules that do not do their operation; each names stage, rank and chunk."""

from dataclasses import replace

import pytest

from sysmodel.collectives.check import check
from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import Chunk, Expanded, Flow, expanded
from sysmodel.lib.errors import InputError


def whole(name, operation="reduce-scatter", ranks=4):
    return expanded(algorithm(name).schedule(operation, ranks))


def changed(one, rank, at_chunk, stage=0, **fields):
    """A schedule in which one flow has other fields."""

    def of(flow, at):
        return replace(flow, **fields) if at == (stage, rank) and flow.chunk == at_chunk else flow

    flows = tuple(
        tuple(tuple(of(flow, (s, r)) for flow in listed) for r, listed in enumerate(ranks))
        for s, ranks in enumerate(one.flows)
    )
    assert flows != one.flows
    return replace(one, flows=flows)


def without(one, rank, chunk):
    stage = [list(listed) for listed in one.flows[0]]
    stage[rank] = [flow for flow in stage[rank] if flow.chunk != chunk]
    return replace(one, flows=(tuple(map(tuple, stage)), *one.flows[1:]))


def ordered(one, rank, order):
    """A schedule in which one rank has its flows in another order."""
    stage = [list(listed) for listed in one.flows[0]]
    stage[rank] = [stage[rank][at] for at in order]
    return replace(one, flows=(tuple(map(tuple, stage)), *one.flows[1:]))


def problem(one):
    with pytest.raises(InputError) as error:
        check(one)
    return str(error.value)


@pytest.mark.parametrize("peer", [4, -1])
def test_a_peer_that_is_not_there(peer):
    one = changed(whole("direct"), 2, Chunk(3), to=(peer,))
    assert problem(one) == (
        f"direct: stage 0, rank 2, chunk 3: peer {peer} is not there; allowed: 0 to 3"
    )


def test_a_rank_that_sends_to_itself():
    one = changed(whole("direct"), 2, Chunk(3), to=(2,))
    assert problem(one) == "direct: stage 0, rank 2, chunk 3: the rank sends the chunk to itself"


@pytest.mark.parametrize("chunk", [Chunk(4), Chunk(-1), Chunk(3, part=1), Chunk(3, source=0)])
def test_a_chunk_that_is_not_there(chunk):
    one = changed(whole("direct"), 2, Chunk(3), chunk=chunk)
    assert problem(one).startswith(f"direct: stage 0, rank 2, chunk {chunk}: no such chunk of a")


def test_a_chunk_with_two_flows():
    one = changed(whole("direct"), 2, Chunk(3), chunk=Chunk(0))
    assert problem(one).endswith("rank 2, chunk 0: the rank has two flows for the chunk")


def test_a_dropped_chunk():
    one = without(whole("ring"), 1, Chunk(3))
    assert problem(one) == (
        "ring: stage 0, rank 1, chunk 3: dropped: the rank has no flow for the chunk; senders: 2"
    )


@pytest.mark.parametrize("arrivals", [2, 4])
def test_arrivals_that_differ_from_the_senders(arrivals):
    one = changed(whole("direct"), 2, Chunk(2), arrivals=arrivals)
    assert problem(one) == (
        f"direct: stage 0, rank 2, chunk 2: {arrivals} arrivals expected; senders: 1, 0, 3"
    )


def test_arrivals_without_a_sender():
    one = changed(whole("ring"), 2, Chunk(3), to=())
    assert problem(one) == "ring: stage 0, rank 1, chunk 3: 1 arrivals expected; senders: none"


def test_two_contributions_in_a_gather():
    one = changed(whole("direct", "all-gather"), 2, Chunk(3), own=True)
    assert "2 contributions in a stage that does not reduce" in problem(one)


def test_a_chunk_without_contributions():
    one = changed(whole("direct", "all-gather"), 2, Chunk(2), own=False)
    assert problem(one).endswith("rank 2, chunk 2: the chunk has no contribution")


def test_a_contribution_that_is_missing():
    one = changed(whole("ring"), 2, Chunk(0), own=False)
    assert problem(one) == (
        "ring: stage 0, rank 0, chunk 0: the contribution of rank 2 is missing in the result"
    )


def test_a_contribution_that_counts_twice():
    """Rank 2 sends its part of chunk 0 straight to rank 0, and on through rank 1."""
    one = changed(whole("ring"), 2, Chunk(0), to=(1, 0))
    one = changed(one, 0, Chunk(0), arrivals=2)
    assert problem(one).endswith("rank 0, chunk 0: the contribution of rank 2 is counted twice")


def test_own_data_that_the_rank_lacks():
    one = changed(whole("direct", "all-gather"), 2, Chunk(3), own=True, arrivals=0)
    one = changed(one, 3, Chunk(3), to=(0, 1))
    assert problem(one).endswith("rank 2, chunk 3: the rank has no data of its own for the chunk")


def test_own_data_that_the_stage_before_did_not_keep():
    one = changed(whole("ring", "all-reduce"), 2, Chunk(2), keeps=False)
    assert problem(one) == (
        "ring: stage 1, rank 2, chunk 2: the rank did not keep the chunk in stage 0"
    )


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather", "all-reduce", "all-to-all"])
def test_a_result_that_is_not_kept(operation):
    chunk = Chunk(1, source=3) if operation == "all-to-all" else Chunk(1)
    last = 1 if operation == "all-reduce" else 0
    one = changed(whole("direct", operation), 1, chunk, stage=last, keeps=False)
    assert problem(one).endswith(
        f"stage {last}, rank 1, chunk {chunk}: the {operation} needs the result, and the rank "
        "does not keep it"
    )


def test_a_result_with_data_of_another_rank():
    """Rank 1's chunk for rank 2 arrives as if it were rank 0's."""
    flows = (
        (Flow(Chunk(1, 0), to=(1,)), Flow(Chunk(0, 1), own=False, arrivals=1, keeps=True)),
        (Flow(Chunk(0, 1), to=(0,)), Flow(Chunk(1, 0), own=False, arrivals=1, keeps=True)),
    )
    one = Expanded("swap", "send", 2, 1, (True,), (flows,))
    check(one)
    one = changed(one, 1, Chunk(1, 0), own=True)
    assert problem(one) == (
        "swap: stage 0, rank 1, chunk 1 from 0: the rank has no data of its own for the chunk"
    )


def test_a_deadlock_by_data_names_the_circle():
    one = whole("ring")
    one = changed(one, 0, Chunk(0), to=(3,))  # the owner passes its chunk on
    one = changed(one, 3, Chunk(0), arrivals=1)  # to the rank where its way begins
    assert problem(one) == (
        "ring: stage 0, rank 0, chunk 0: deadlock: rank 0 waits for rank 1's chunk 0, which waits "
        "for rank 2's chunk 0, which waits for rank 3's chunk 0, which waits for rank 0's chunk 0"
    )


def test_a_deadlock_by_order():
    """Two ranks each wait for the other one's chunk before they send their own."""
    one = whole("direct", "all-gather", 2)
    check(ordered(one, 0, (1, 0)))
    both = ordered(ordered(one, 0, (1, 0)), 1, (1, 0))
    assert problem(both) == (
        "direct: stage 0, rank 0, chunk 1: deadlock: rank 0 waits for rank 1's chunk 1, which "
        "waits for rank 0's chunk 0"
    )


def test_every_changed_ring_is_refused():
    """No single flow of the ring can be left out, sent elsewhere, or kept from its result."""
    one = whole("ring", ranks=3)
    count = 0
    for rank in range(3):
        for flow in one.flows[0][rank]:
            for fields in (
                {"own": not flow.own},
                {"arrivals": flow.arrivals + 1},
                {"to": ()} if flow.to else {"to": ((rank + 1) % 3,)},
                {"chunk": Chunk((flow.chunk.owner + 1) % 3)},
            ):
                problem(changed(one, rank, flow.chunk, **fields))
                count += 1
            problem(without(one, rank, flow.chunk))
    assert count == 36
