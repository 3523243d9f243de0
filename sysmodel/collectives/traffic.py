"""Traffic of a schedule: bytes by rank and peer, and the memory accesses of a run on compute units.

The accesses follow from the flows. A flow that adds or sends reads each of its contributions once;
an arrival is written when it comes, into its place or into a staging buffer; a sum that the rank
keeps is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sysmodel.lib.errors import InputError

from .costs import Costs
from .execution import transfers
from .schedule import Chunk, Expanded

__all__ = ["ChunkBytes", "Traffic", "equal_chunks", "matrix_chunks", "steps", "traffic"]

ChunkBytes = Callable[[Chunk], int]
"""Bytes of a chunk."""


@dataclass
class Traffic:
    """Traffic of one rank in bytes.

    Parameters
    ----------
    sent_to, received_from : dict
        Bytes by peer.
    received : int
        Bytes that arrive; a sum that the network has made counts once.
    sent : int
        Bytes that leave the port; a multicast counts once.
    read, written : int
        Memory accesses of a run on compute units.
    messages : int
        Chunks that leave the port.
    """

    sent_to: dict[int, int] = field(default_factory=dict)
    received_from: dict[int, int] = field(default_factory=dict)
    received: int = 0
    sent: int = 0
    read: int = 0
    written: int = 0
    messages: int = 0

    def costs(self, steps: int) -> Costs:
        """Return the traffic as costs in bytes."""
        return Costs(
            sent=self.sent,
            received=self.received,
            read=self.read,
            written=self.written,
            messages=self.messages,
            steps=steps,
        )


def equal_chunks(expanded: Expanded, size: int, unit: int = 1) -> ChunkBytes:
    """Bytes of each chunk, if all owners' chunks have ``size`` bytes.

    The schedule's parts of a chunk are as equal as whole units allow.

    Raises
    ------
    InputError
        The size is negative, or is not a whole number of units.
    """
    if size < 0 or size % unit:
        problem = f"{size} bytes are not allowed; allowed: a multiple of {unit}, or 0"
        raise InputError("bytes", problem)
    units, parts = size // unit, expanded.parts
    return lambda chunk: unit * (units * (chunk.part + 1) // parts - units * chunk.part // parts)


def matrix_chunks(expanded: Expanded, sizes: Sequence[Sequence[int]]) -> ChunkBytes:
    """Bytes of each chunk of an all-to-all-v: ``sizes[source][owner]`` in bytes.

    Raises
    ------
    InputError
        The schedule is no all-to-all, or the matrix has another size or other values.
    """
    if expanded.operation != "all-to-all":
        raise InputError("sizes", f"{expanded.name} does {expanded.operation}; allowed: all-to-all")
    ranks, columns = expanded.ranks, sorted({len(row) for row in sizes})
    if len(sizes) != ranks or columns != [ranks]:
        found = " or ".join(map(str, columns))
        problem = f"{len(sizes)} rows of {found} numbers are not allowed"
        raise InputError("sizes", f"{problem}; allowed: {ranks} rows of {ranks} numbers")
    for source, row in enumerate(sizes):
        for owner, size in enumerate(row):
            if size < 0 or size % expanded.parts:
                problem = f"{size} is not allowed; allowed: a multiple of {expanded.parts}"
                raise InputError(f"sizes[{source}][{owner}]", problem)
    return lambda chunk: sizes[chunk.source][chunk.owner] // expanded.parts


def traffic(expanded: Expanded, chunk_bytes: ChunkBytes) -> list[Traffic]:
    """Traffic of every rank in all stages. An empty chunk is no message."""
    found = [Traffic() for _ in range(expanded.ranks)]
    for stage in range(len(expanded.flows)):
        for rank, flows in enumerate(expanded.flows[stage]):
            one = found[rank]
            for flow in flows:
                size = chunk_bytes(flow.chunk)
                copies = 1 if (flow.multicast and flow.to) or flow.merged else len(flow.to)
                contributions, arrivals = flow.contributions, flow.arrivals
                if flow.merged:  # the own contribution leaves, and the sum comes
                    contributions, arrivals = 1, min(1, arrivals)
                adds = contributions > 1
                one.sent += copies * size
                one.received += arrivals * size
                one.messages += copies if size else 0
                one.read += contributions * size if adds or copies else 0
                one.written += (arrivals + (adds and flow.keeps)) * size
        for rank, peer, flow in expanded.sends(stage):
            size = chunk_bytes(flow.chunk)
            _count(found[rank].sent_to, peer, size)
            _count(found[peer].received_from, rank, size)
    return found


def _count(by_peer: dict[int, int], peer: int, size: int) -> None:
    by_peer[peer] = by_peer.get(peer, 0) + size


def steps(expanded: Expanded) -> int:
    """Most messages of which each needs the one before; a stage needs all of the stage before."""
    stages = range(len(expanded.flows))
    return sum(max((t.step for t in transfers(expanded, s)), default=0) for s in stages)
