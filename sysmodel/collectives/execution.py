"""Execution of a schedule: the flows of a stage in an order in which they can complete.

A rank handles its flows one after the other. A flow is complete when the rank's own contribution
and all arrivals have come; the chunk then leaves to its peers.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .schedule import Chunk, Expanded, Flow

__all__ = ["Completion", "Stuck", "Transfer", "completions", "senders", "stuck", "transfers"]

Place = tuple[int, Chunk]
"""A rank, and a chunk that comes to it."""


class Completion(NamedTuple):
    """A flow that is complete.

    Parameters
    ----------
    position : int
        Position of the flow in its rank's order.
    senders : tuple of int
        Ranks whose contributions have arrived, in the order of the flows' positions at the senders.
        That is the order in which the contributions are added, where nothing else is said.
    own_at : int
        Number of arrivals that are added before the rank's own contribution.
    """

    rank: int
    position: int
    flow: Flow
    senders: tuple[int, ...]
    own_at: int


class Stuck(NamedTuple):
    """A flow that never completes, and the ranks whose contributions it lacks."""

    rank: int
    flow: Flow
    lacks: tuple[int, ...]


class Transfer(NamedTuple):
    """Way of a chunk over the network; its step is 1 more than the last step that it needs."""

    step: int
    sender: int
    receiver: int
    chunk: Chunk


def senders(expanded: Expanded, stage: int) -> dict[Place, list[tuple[int, int]]]:
    """Positions and ranks of all flows that send to a place, in the order of summation.

    Contributions of equal position come in the order of their distance, the next rank below first.
    """
    found: dict[Place, list[tuple[int, int]]] = {}
    for rank, flows in enumerate(expanded.flows[stage]):
        for position, flow in enumerate(flows):
            for peer in flow.to:
                found.setdefault((peer, flow.chunk), []).append((position, rank))
    for (rank, _), one in found.items():
        one.sort(key=lambda sent: (sent[0], (rank - sent[1]) % expanded.ranks))
    return found


def completions(expanded: Expanded, stage: int) -> Iterator[Completion]:
    """Yield the flows of a stage, each after all flows that it needs.

    Flows that never complete are left out; :func:`stuck` finds them.
    """
    coming = senders(expanded, stage)
    arrived: dict[Place, int] = {}
    position = [0] * expanded.ranks
    ready = deque(range(expanded.ranks))
    while ready:
        rank = ready.popleft()
        flows = expanded.flows[stage][rank]
        while position[rank] < len(flows):
            at, flow = position[rank], flows[position[rank]]
            if flow.arrivals and arrived.get((rank, flow.chunk), 0) < flow.arrivals:
                break
            sent = coming[rank, flow.chunk] if flow.arrivals else []
            before = sum(other <= at for other, _ in sent) if flow.own else len(sent)
            yield Completion(rank, at, flow, tuple(sender for _, sender in sent), before)
            position[rank] += 1
            for peer in flow.to:
                arrived[peer, flow.chunk] = arrived.get((peer, flow.chunk), 0) + 1
                ready.append(peer)


def transfers(expanded: Expanded, stage: int) -> Iterator[Transfer]:
    """Yield the transfers of a stage, each behind those that it needs."""
    arrived: dict[Place, int] = {}
    for one in completions(expanded, stage):
        chunk = one.flow.chunk
        step = arrived.get((one.rank, chunk), 0) + 1
        for peer in one.flow.to:
            arrived[peer, chunk] = max(arrived.get((peer, chunk), 0), step)
            yield Transfer(step, one.rank, peer, chunk)


def stuck(expanded: Expanded, stage: int) -> dict[int, Stuck]:
    """Return the flow at which each rank waits for ever; empty if the stage ends."""
    done = [0] * expanded.ranks
    for one in completions(expanded, stage):
        done[one.rank] += 1
    coming = senders(expanded, stage)
    found = {}
    for rank, flows in enumerate(expanded.flows[stage]):
        if done[rank] < len(flows):
            flow = flows[done[rank]]
            sent = coming.get((rank, flow.chunk), [])
            lacks = tuple(sender for at, sender in sent if at >= done[sender])
            found[rank] = Stuck(rank, flow, lacks)
    return found
