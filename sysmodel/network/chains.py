"""Longest chain of packets of a schedule, each of which waits for the one before."""

from sysmodel.collectives.schedule import Chunk, Expanded, Flow

from .fabric import Fabric

__all__ = ["chain_ns"]


def chain_ns(fabric: Fabric, schedule: Expanded, stage: int) -> float:
    """Find the latencies of the longest chain of a stage.

    Raises
    ------
    ValueError
        Packets wait for each other in a circle, or for a packet that no rank sends.
    """
    flows: dict[tuple[int, Chunk], Flow] = {}
    waiting: dict[tuple[int, Chunk], int] = {}
    ready_ns: dict[tuple[int, Chunk], float] = {}
    for rank, own in enumerate(schedule.flows[stage]):
        for flow in own:
            flows[rank, flow.chunk] = flow
            waiting[rank, flow.chunk] = flow.arrivals
    free = [place for place, arrivals in waiting.items() if not arrivals]
    ready_ns.update(dict.fromkeys(free, 0.0))
    done = 0
    while free:
        rank, chunk = free.pop()
        done += 1
        for peer in flows[rank, chunk].to:
            place = peer, chunk
            arrival = ready_ns[rank, chunk] + _least_ns(fabric, rank, peer)
            ready_ns[place] = max(ready_ns.get(place, 0.0), arrival)
            waiting[place] -= 1
            if not waiting[place]:
                free.append(place)
    if done < len(flows):
        rank, chunk = next(place for place, arrivals in waiting.items() if arrivals > 0)
        raise ValueError(
            f"stage {stage}: rank {rank} waits forever for contributions to chunk {chunk.owner}"
        )
    return max(ready_ns.values(), default=0.0)


def _least_ns(fabric: Fabric, source: int, destination: int) -> float:
    """Least latency of the channels of a pair."""
    return min(map(fabric.latency_ns, fabric.routes(source, destination)))
