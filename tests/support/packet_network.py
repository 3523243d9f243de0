"""Network of first-in, first-out links that forward whole packets, as an event model."""

from collections.abc import Iterator
from heapq import heappop, heappush

from sysmodel.collectives.schedule import Chunk, Expanded, Flow
from sysmodel.network.fabric import Fabric

__all__ = ["transfer_ns"]


def transfer_ns(
    fabric: Fabric, schedule: Expanded, stage: int, chunk_bytes: float, packets: int
) -> float:
    """Time of a stage without multicast; each channel has ``packets`` packets of each chunk.

    A rank sends a packet of a chunk as soon as all contributions to that packet have come.
    """
    flows = {
        (rank, flow.chunk): flow for rank, own in enumerate(schedule.flows[stage]) for flow in own
    }
    size = chunk_bytes / packets / fabric.planes
    missing = {
        (*place, channel, number): flow.arrivals
        for place, flow in flows.items()
        for channel in range(fabric.planes)
        for number in range(packets)
    }
    free_ns = [0.0] * len(fabric.links)
    events: list[tuple[float, int, tuple[int, ...], int, Chunk, int, int]] = []
    for serial, event in enumerate(_first(flows, fabric, packets)):
        heappush(events, (0.0, serial, *event))
    count, last_ns = len(events), 0.0
    while events:
        now, _, route, peer, chunk, channel, number = heappop(events)
        if route:
            link = fabric.links[route[0]]
            begin = max(now, free_ns[route[0]])
            free_ns[route[0]] = begin + size / link.payload_bytes_per_ns("t3")
            at = free_ns[route[0]] + link.latency_ns
            count += 1
            heappush(events, (at, count, route[1:], peer, chunk, channel, number))
            continue
        last_ns = now
        place = peer, chunk, channel, number
        missing[place] -= 1
        for target in flows[peer, chunk].to if not missing[place] else ():
            count += 1
            way = fabric.route(peer, target, channel)
            heappush(events, (now, count, way, target, chunk, channel, number))
    assert not any(missing.values())
    return last_ns


def _first(
    flows: dict[tuple[int, Chunk], Flow], fabric: Fabric, packets: int
) -> Iterator[tuple[tuple[int, ...], int, Chunk, int, int]]:
    """Packets of the flows that wait for nothing, in the order of sending."""
    for (rank, chunk), flow in flows.items():
        for number in range(packets if not flow.arrivals else 0):
            for peer in flow.to:
                for channel in range(fabric.planes):
                    yield fabric.route(rank, peer, channel), peer, chunk, channel, number
