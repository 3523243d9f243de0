"""Tile trace: single tiles on their way from GPU to GPU, for the timeline.

Every GPU stores its part of a tile. On the first GPU the stores themselves leave over the link;
each further GPU adds its own part to the incoming one and sends the complete tile on, until the
tile reaches its owner. A simulated GPU may stand for all: the turn of another GPU
with the same tile is the turn of the simulated GPU with the tile one chunk further on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sysmodel.lib.journal import EVENTS, MOST_FOLLOWED
from sysmodel.lib.neighbours import downstream, scattered
from sysmodel.machine.machine import Machine

from .timeline import Flow, Span

__all__ = ["TileTrace", "begin_tracing", "on_the_timeline"]

_PLACES = (0.25, 0.5, 0.75)  # places of the traced tiles within the chunk
_NAMES = dict(zip(EVENTS, ("stored", "arrives", "sent"), strict=True))


@dataclass(frozen=True)
class TileTrace:
    """One tile on every GPU along its way.

    Parameters
    ----------
    workgroup : int
        Workgroup of the first GPU whose first wavefront stores the tile.
    stops : list of (int, int)
        Simulated GPU, and row of its journal.
    """

    workgroup: int
    stops: list[tuple[int, int]]


def begin_tracing(machine: Machine) -> list[TileTrace]:
    """Begin to trace a few tiles of the chunk that GPU 0 sends first; none if the journal has fewer
    rows than there are GPUs."""
    kernel, n = machine.kernel, machine.kernel.gpus
    chunk = scattered(0, 0, n)
    first, size = int(kernel.chunks.start[chunk]), kernel.chunks.sizes[chunk]
    starts = sorted({first + int(place * size) for place in _PLACES})
    starts = starts[: MOST_FOLLOWED // n]
    traces: list[TileTrace] = []
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
        traces.append(TileTrace(start, stops))
    return traces


def on_the_timeline(
    machine: Machine, traces: Sequence[TileTrace], zero: int
) -> tuple[list[Span], list[Flow]]:
    """Track for each stop of each trace, with arrows from the event that completes a tile to its
    packets, and from the packets to their arrival."""
    spans: list[Span] = []
    flows: list[Flow] = []
    for trace in traces:
        packets: Span | None = None
        for hop, (gpu, row) in enumerate(trace.stops):
            track = f"tile of workgroup {trace.workgroup}, GPU {hop}"
            events = _events(machine, gpu, row, track, zero)
            spans += events.values()
            arrives, sent = events.get("arrived"), events.get("sent")
            if packets is not None and arrives is not None:
                flows.append(Flow("on the link", packets, arrives))
            added = [events[name] for name in ("stored", "arrived") if name in events]
            if sent is not None and added:
                last = max(added, key=lambda one: one.end_ns)
                flows.append(Flow("complete", last, sent))
            packets = sent
    return spans, flows


def _events(machine: Machine, gpu: int, row: int, track: str, zero: int) -> dict[str, Span]:
    """Events of a tile on a GPU, by name."""
    ns, spans = machine.system.cycle_ns, {}
    for name, (first, last) in zip(EVENTS, machine.state.journal[gpu, row].tolist(), strict=True):
        if first >= zero:
            spans[name] = Span(_NAMES[name], track, (first - zero) * ns, (last + 1 - zero) * ns)
    return spans
