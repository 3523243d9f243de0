"""Single tiles on their way around the ring, for the timeline.

A tile is stored by every GPU. On the first one the stores themselves go out; each next one adds its
own to what comes in, and sends on what is complete, up to the tile's owner. Of a mirrored ring the
one GPU stands for all: what is another GPU's turn with the same tile is its own turn with the tile
one chunk on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sysmodel.lib.journal import EVENTS, MOST_FOLLOWED
from sysmodel.lib.ring import downstream, scattered
from sysmodel.machine.machine import Machine

from .timeline import Flow, Span

__all__ = ["Journey", "follow", "on_the_timeline"]

_PLACES = (0.25, 0.5, 0.75)  # in the chunk, of the tiles that are followed
_NAMES = dict(zip(EVENTS, ("stored", "arrives", "sent"), strict=True))


@dataclass(frozen=True)
class Journey:
    """One tile on every GPU that it comes by.

    Parameters
    ----------
    workgroup : int
        Whose first wavefront's tile it is, on the first GPU.
    stops : list of (int, int)
        The simulated GPU, and the row of its journal.
    """

    workgroup: int
    stops: list[tuple[int, int]]


def follow(machine: Machine) -> list[Journey]:
    """Begin to follow a few tiles of the chunk that GPU 0 sends first; none if there are so many
    GPUs that the journal has no room."""
    kernel, n = machine.kernel, machine.kernel.gpus
    first, size = kernel.first_workgroup(0), kernel.chunk_workgroups(scattered(0, 0, n))
    starts = sorted({first + int(place * size) for place in _PLACES})
    starts = starts[: MOST_FOLLOWED // n]
    journeys: list[Journey] = []
    followed = machine.state.followed
    for row, start in enumerate(starts):
        if machine.mirror:
            shift = kernel.workgroups // n
            stops = [(0, row * n + hop) for hop in range(n)]
            for hop in range(n):
                followed[(start + hop * shift) % kernel.workgroups] = row * n + hop
        else:
            followed[start] = row
            stops = [(0, row)]
            while len(stops) < n:
                stops.append((int(downstream(stops[-1][0], n)), row))
        journeys.append(Journey(start, stops))
    return journeys


def on_the_timeline(
    machine: Machine, journeys: Sequence[Journey], zero: int
) -> tuple[list[Span], list[Flow]]:
    """A track for each stop of each journey, with what happens there, and arrows from what makes
    the tile complete to its packets, and from these to their arrival."""
    spans: list[Span] = []
    flows: list[Flow] = []
    for journey in journeys:
        packets: Span | None = None
        for hop, (gpu, row) in enumerate(journey.stops):
            track = f"tile of workgroup {journey.workgroup}, GPU {hop}"
            seen = _seen(machine, gpu, row, track, zero)
            spans += seen.values()
            arrives, sent = seen.get("arrived"), seen.get("sent")
            if packets is not None and arrives is not None:
                flows.append(Flow("on the link", packets, arrives))
            added = [seen[name] for name in ("stored", "arrived") if name in seen]
            if sent is not None and added:
                last = max(added, key=lambda one: one.end_ns)
                flows.append(Flow("complete", last, sent))
            packets = sent
    return spans, flows


def _seen(machine: Machine, gpu: int, row: int, track: str, zero: int) -> dict[str, Span]:
    """What happened to a tile on a GPU."""
    ns, spans = machine.system.cycle_ns, {}
    for name, (first, last) in zip(EVENTS, machine.state.journal[gpu, row].tolist(), strict=True):
        if first >= zero:
            spans[name] = Span(_NAMES[name], track, (first - zero) * ns, (last + 1 - zero) * ns)
    return spans
