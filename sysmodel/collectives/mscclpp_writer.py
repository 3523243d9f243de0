"""Schedules as MSCCL++ execution plans: one thread block for each rank, with puts and signals."""

import json
from dataclasses import dataclass, field
from typing import Any

from sysmodel.lib.errors import InputError

from .check import check
from .execution import senders
from .mscclpp import OPERATIONS
from .schedule import Chunk, Expanded, Flow

__all__ = ["mscclpp_plan"]

_COLLECTIVES = {operation: name for name, operation in OPERATIONS.items()}
_MEMORY = {"channel_type": "memory"}
_NOP = {"name": "nop"}

Place = tuple[str, int]
"""Buffer and index of a chunk in a rank's memory."""


def mscclpp_plan(expanded: Expanded) -> str:
    """Write a schedule as a plan, which MSCCL++ runs on GPUs.

    The plan is in place but for an all-to-all. A rank handles its flows in one thread block, in
    order.

    Raises
    ------
    InputError
        The schedule is not sound, or a plan cannot express it.
    """
    check(expanded)
    if expanded.operation not in _COLLECTIVES:
        allowed = ", ".join(_COLLECTIVES)
        problem = f"{expanded.operation} is not supported in a plan; allowed: {allowed}"
        raise InputError("operation", problem)
    for stage in expanded.flows:
        if any(flow.multicast for flows in stage for flow in flows):
            raise InputError(expanded.name, "multicast is not supported in a plan")
        if any(flow.merged for flows in stage for flow in flows):
            raise InputError(expanded.name, "a sum in a switch is not supported in a plan")
    writer = _Writer(expanded)
    gpus = [writer.gpu(rank) for rank in range(expanded.ranks)]
    plan = {
        "name": expanded.name,
        "collective": _COLLECTIVES[expanded.operation],
        "protocol": "Simple",
        "inplace": expanded.operation != "all-to-all",
        "reuse_resources": False,
        "gpus": gpus,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 2**64 - 1,
    }
    return json.dumps(plan, indent=1) + "\n"


@dataclass
class _Gpu:
    """Operations of a rank's thread block, and the peers and remote buffers that they name."""

    peers: list[int]
    buffers: list[tuple[int, str]] = field(default_factory=list)
    ops: list[dict[str, Any]] = field(default_factory=list)

    def remote(self, peer: int, place: Place) -> dict[str, int]:
        """Name a place of a peer."""
        buffer = (peer, place[0])
        if buffer not in self.buffers:
            self.buffers.append(buffer)
        return {"buffer_id": self.buffers.index(buffer), "index": place[1], "size": 1}

    def channel(self, name: str, peer: int) -> None:
        """Add an operation on the channel to a peer."""
        self.ops.append({"name": name, **_MEMORY, "channel_ids": [self.peers.index(peer)]})


class _Writer:
    """Places of all chunks and arrivals, and the number of each message between two ranks."""

    def __init__(self, expanded: Expanded) -> None:
        self.expanded = expanded
        self.incoming = [senders(expanded, stage) for stage in range(len(expanded.flows))]
        self.scratch: list[dict[tuple[int, int, Chunk], int]] = [{} for _ in range(expanded.ranks)]
        self.messages: dict[tuple[int, int, int, Chunk], int] = {}
        counts: dict[tuple[int, int], int] = {}
        for stage in range(len(expanded.flows)):
            for sender, receiver, flow in expanded.sends(stage):
                pair = (sender, receiver)
                counts[pair] = counts.get(pair, 0) + 1
                self.messages[stage, sender, receiver, flow.chunk] = counts[pair]
                kept = any(
                    other.keeps and other.chunk == flow.chunk
                    for other in expanded.flows[stage][receiver]
                )
                if expanded.reduces[stage] or not kept:
                    slots = self.scratch[receiver]
                    slots[stage, sender, flow.chunk] = len(slots)
        self.pairs = set(counts)

    def gpu(self, rank: int) -> dict[str, Any]:
        """Return a rank's part of the plan."""
        others = (a + b - rank for a, b in self.pairs if rank in (a, b))
        gpu = _Gpu(sorted(set(others)))
        waited = dict.fromkeys(gpu.peers, 0)
        for stage, ranks in enumerate(self.expanded.flows):
            for flow in ranks[rank]:
                self._flow(gpu, stage, rank, flow, waited)
        ids = list(range(len(gpu.peers)))
        buffers = list(range(len(gpu.buffers)))
        sizes = self._sizes()
        return {
            "id": rank,
            "input_chunks": sizes[0],
            "output_chunks": sizes[1],
            "scratch_chunks": max(map(len, self.scratch)),
            "channels": [{**_MEMORY, "connected_to": gpu.peers}],
            "remote_buffers": [
                {"rank": peer, "type": name, "access_channel_types": ["memory"]}
                for peer, name in gpu.buffers
            ],
            "semaphores": [],
            "threadblocks": [
                {
                    "id": 0,
                    "channels": [{**_MEMORY, "channel_ids": ids}],
                    "remote_buffer_refs": [
                        {"access_channel_type": "memory", "remote_buffer_ids": buffers}
                    ],
                    "ops": gpu.ops,
                }
            ],
        }

    def _flow(self, gpu: _Gpu, stage: int, rank: int, flow: Flow, waited: dict[int, int]) -> None:
        """Wait for a flow's arrivals, add them, and put the sum into the peers' memories."""
        chunk = flow.chunk
        arrived = [sender for _, sender in self.incoming[stage].get((rank, chunk), [])]
        for sender in arrived:
            while waited[sender] < self.messages[stage, sender, rank, chunk]:
                gpu.channel("wait", sender)
                waited[sender] += 1
        places = [self._arrival(stage, sender, rank, chunk) for sender in arrived]
        if flow.own:
            places.insert(0, self._home(rank, chunk, own=stage == 0))
        place = places[0]
        if len(places) > 1:
            gpu.ops += [_NOP, _op("re", places, [_buffer(place)], reduce_op="sum"), _NOP]
        elif arrived:
            gpu.ops.append(_NOP)
        home = self._home(rank, chunk, own=False)
        if flow.keeps and place != home:
            gpu.ops += [_op("copy", [place], [_buffer(home)]), _NOP]
        for peer in flow.to:
            target = gpu.remote(peer, self._arrival(stage, rank, peer, chunk))
            gpu.ops.append(_op("put", [place], [target], **_MEMORY))
        if flow.to:
            gpu.ops.append(_NOP)
        for peer in flow.to:
            gpu.channel("signal", peer)

    def _arrival(self, stage: int, sender: int, receiver: int, chunk: Chunk) -> Place:
        """Place into which a message goes."""
        slot = self.scratch[receiver].get((stage, sender, chunk))
        return self._home(receiver, chunk, own=False) if slot is None else ("s", slot)

    def _home(self, rank: int, chunk: Chunk, *, own: bool) -> Place:
        """Place of a rank's own data, or of a result."""
        parts, operation = self.expanded.parts, self.expanded.operation
        if operation == "all-to-all":
            owner = chunk.owner if own else chunk.source
            return ("i" if own else "o", owner * parts + chunk.part)
        buffer = "o" if operation == "all-gather" else "i"
        return (buffer, chunk.owner * parts + chunk.part)

    def _sizes(self) -> tuple[int, int]:
        """Chunks of input and output."""
        share, whole = self.expanded.parts, self.expanded.parts * self.expanded.ranks
        return {
            "all-gather": (share, whole),
            "reduce-scatter": (whole, share),
        }.get(self.expanded.operation, (whole, whole))


def _buffer(place: Place) -> dict[str, Any]:
    return {"type": place[0], "index": place[1], "size": 1}


def _op(
    name: str, sources: list[Place], targets: list[dict[str, Any]], **more: str
) -> dict[str, Any]:
    buffers = [_buffer(place) for place in sources]
    return {"name": name, "src_buff": buffers, "dst_buff": targets, **more}
