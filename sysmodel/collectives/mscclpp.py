"""MSCCL++ execution plans (JSON) as schedules: one-sided puts and gets between thread blocks."""

import json
from collections.abc import Callable, Iterator

from sysmodel.lib.errors import InputError

from .algorithm import MOST_RANKS
from .json_node import Node
from .schedule import Expanded, Operation
from .stepping import stuck_blocks
from .tracing import MOST_CHUNKS, Place, Trace, TraceError

__all__ = ["OPERATIONS", "mscclpp_schedule"]

OPERATIONS: dict[str, Operation] = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
}
_COPIES, _SUMS = ("put", "get", "copy", "pws", "pwsf"), ("re", "res", "rre", "rres")
_SIGNALS, _WAITS = ("signal", "rlxsignal", "pws", "pwsf"), ("wait", "rlxwait")
_LOCAL = ("barrier", "sem_acquire", "sem_release")
_SUPPORTED = tuple(dict.fromkeys((*_COPIES, *_SUMS, *_SIGNALS, *_WAITS, *_LOCAL, "nop", "flush")))


def mscclpp_schedule(text: str, where: str) -> Expanded:
    """Read a plan's text as a schedule.

    Parameters
    ----------
    where : str
        Name of the file in messages.

    Raises
    ------
    InputError
        The text is no plan, or has an operation that no schedule can express. The message has the
        path of the key.
    """
    try:
        plan = Node(json.loads(text), where)
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"no JSON: {error}") from None
    operation = OPERATIONS[plan.at("collective").word(tuple(OPERATIONS))]
    gpus = plan.each("gpus")
    if not 2 <= len(gpus) <= MOST_RANKS:
        raise plan.at("gpus").refuse(f"{len(gpus)} GPUs; allowed: 2 to {MOST_RANKS}")
    key = "output_chunks" if operation == "all-gather" else "input_chunks"
    chunks = gpus[0].at(key)
    if not chunks.number(MOST_CHUNKS + 1) or chunks.number() % len(gpus):
        raise chunks.refuse(f"{chunks.value} is not allowed; allowed: a multiple of {len(gpus)}")
    name = plan.at("name").value
    trace = Trace(
        name if isinstance(name, str) else "mscclpp",
        operation,
        len(gpus),
        chunks.number() // len(gpus),
        in_place=plan.has("inplace") and plan.at("inplace").value is True,
    )
    _execute(trace, gpus)
    try:
        return trace.schedule()
    except TraceError as error:
        raise InputError(where, str(error)) from None


Channel = tuple[int, int, int]
"""Sender, receiver, and number of the channel between them."""


class _Machine:
    """State of the execution: signals that are between ranks, barriers and semaphores."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.signals: dict[Channel, list[list[int]]] = {}
        self.signalled: dict[Channel, int] = {}
        self.barriers: dict[tuple[int, int, int], set[int]] = {}
        self.semaphores: dict[tuple[int, int], int] = {}

    def signal(self, sender: int, receiver: int, number: int) -> None:
        """Signal all transfers since the last signal."""
        channel = (sender, receiver, number)
        first = self.signalled.get(channel, 0)
        sent = self.trace.sent(first, sender, receiver)
        self.signals.setdefault(channel, []).append(sent)
        self.signalled[channel] = self.trace.transfers()


def _execute(trace: Trace, gpus: list[Node]) -> None:
    """Execute all thread blocks, and refuse those that wait for ever."""
    machine = _Machine(trace)
    steps: list[list[Callable[[], bool]]] = []
    nodes: list[list[Node]] = []
    for rank, gpu in enumerate(gpus):
        if gpu.at("id").number() != rank:
            raise gpu.at("id").refuse(f"{gpu.at('id').value} is not allowed; allowed: {rank}")
        for at, semaphore in enumerate(gpu.each("semaphores")):
            machine.semaphores[rank, at] = semaphore.at("init_value").number()
        for number, block in enumerate(gpu.each("threadblocks")):
            reader = _Block(machine, rank, number, gpu, block)
            listed = [*_flat(block.each("ops"))]
            nodes.append(listed)
            steps.append([reader.step(op) for op in listed])
    for at, step in stuck_blocks(steps):
        op = nodes[at][step]
        raise op.refuse(f"deadlock: the operation {op.at('name').value!r} never ends")


def _flat(ops: list[Node]) -> Iterator[Node]:
    """Operations, with those of a pipeline in its place: it cuts each chunk into units."""
    for op in ops:
        if op.at("name").value == "pipeline":
            yield from _flat(op.each("ops"))
        else:
            yield op


class _Block:
    """Thread block, with the channels and remote buffers that its operations number."""

    def __init__(self, machine: _Machine, rank: int, number: int, gpu: Node, block: Node) -> None:
        self.machine, self.rank, self.number = machine, rank, number
        self.passed: dict[int, int] = {}
        ranks = machine.trace.ranks
        self.channels: dict[str, list[tuple[int, int]]] = {}
        peers: dict[str, list[tuple[int, int]]] = {}
        for channel in gpu.each("channels"):
            listed = peers.setdefault(str(channel.at("channel_type").value), [])
            for peer in channel.each("connected_to"):
                count = sum(one == peer.value for one, _ in listed)
                listed.append((peer.number(ranks), count))
        for channel in block.each("channels"):
            kind = str(channel.at("channel_type").value)
            known = peers.get(kind, [])
            ids = (one.number(len(known)) for one in channel.each("channel_ids"))
            self.channels.setdefault(kind, []).extend(known[one] for one in ids)
        buffers = [
            (one.at("rank").number(ranks), one.at("type").word(("i", "o", "s")))
            for one in gpu.each("remote_buffers")
        ]
        self.buffers: dict[str, list[tuple[int, str]]] = {}
        for reference in block.each("remote_buffer_refs"):
            kind = str(reference.at("access_channel_type").value)
            ids = (one.number(len(buffers)) for one in reference.each("remote_buffer_ids"))
            self.buffers.setdefault(kind, []).extend(buffers[one] for one in ids)

    def step(self, op: Node) -> Callable[[], bool]:
        """Make an operation that can be called."""
        name = op.at("name").word(_SUPPORTED)
        if op.has("channel_type"):
            op.at("channel_type").word(("memory", "port", "none"))
        if op.has("tbg_info") and op.at("tbg_info").at("tbg_size").number() > 1:
            raise op.at("tbg_info").refuse("groups of thread blocks are not supported")

        def run() -> bool:
            try:
                return self._run(name, op)
            except TraceError as error:
                raise op.refuse(str(error)) from None

        return run

    def _run(self, name: str, op: Node) -> bool:
        """Do an operation; return false if it must wait."""
        if name in _WAITS:
            return self._wait(op)
        if name in _LOCAL:
            return self._local(name, op)
        if name in _COPIES:
            self._copy(op)
        elif name in _SUMS:
            self._sum(op)
        if name in _SIGNALS:
            for peer, number in self._peers(op):
                self.machine.signal(self.rank, peer, number)
        return True

    def _wait(self, op: Node) -> bool:
        """Wait for one signal on each channel."""
        channels = [(peer, self.rank, number) for peer, number in self._peers(op)]
        queues = [self.machine.signals.get(channel) for channel in channels]
        if not all(queues):
            return False
        for queue in queues:
            if queue:
                self.machine.trace.see(queue.pop(0))
        return True

    def _local(self, name: str, op: Node) -> bool:
        """Do an operation between the thread blocks of a rank."""
        if name == "barrier":
            return self._barrier(op.at("barrier_id").number(), op.at("num_threadblocks").number())
        ids = [(self.rank, one.number()) for one in op.each("semaphore_ids")]
        held = self.machine.semaphores
        if name == "sem_acquire" and not all(held.get(one) for one in ids):
            return False
        for one in ids:
            held[one] = held.get(one, 0) + (1 if name == "sem_release" else -1)
        return True

    def _barrier(self, number: int, count: int) -> bool:
        """Wait for a number of blocks; a block's next arrival is for the barrier's next use."""
        use = self.passed.get(number, 0)
        arrived = self.machine.barriers.setdefault((self.rank, number, use), set())
        arrived.add(self.number)
        if len(arrived) < count:
            return False
        self.passed[number] = use + 1
        return True

    def _peers(self, op: Node) -> list[tuple[int, int]]:
        kind = str(op.at("channel_type").value)
        known = self.channels.get(kind, [])
        return [known[one.number(len(known))] for one in op.each("channel_ids")]

    def _places(self, op: Node, key: str) -> list[list[Place]]:
        """Places of each buffer that an operation names, chunk by chunk."""
        found = []
        for buffer in op.each(key):
            if buffer.has("buffer_id"):
                kind = str(op.at("channel_type").value)
                known = self.buffers.get(kind, [])
                rank, name = known[buffer.at("buffer_id").number(len(known))]
            else:
                rank, name = self.rank, buffer.at("type").word(("i", "o", "s"))
            first, size = buffer.at("index").number(), buffer.at("size").number(MOST_CHUNKS + 1)
            found.append([(rank, name, first + at) for at in range(size)])
        if not found or len({len(one) for one in found}) > 1:
            raise op.refuse(f"{key} names no buffers, or buffers of different sizes")
        return found

    def _copy(self, op: Node) -> None:
        sources, targets = self._places(op, "src_buff"), self._places(op, "dst_buff")
        if len(sources) == 1:
            sources *= len(targets)
        if len(sources) != len(targets):
            raise op.refuse(f"{len(sources)} sources for {len(targets)} destinations")
        for source, target in zip(sources, targets, strict=True):
            for one, other in zip(source, target, strict=True):
                self.machine.trace.write(other, self.machine.trace.read(one))

    def _sum(self, op: Node) -> None:
        trace = self.machine.trace
        sources, targets = self._places(op, "src_buff"), self._places(op, "dst_buff")
        for at in range(len(sources[0])):
            values = [trace.moved(trace.read(one[at]), self.rank) for one in sources]
            total = trace.added(values)
            for target in targets:
                trace.write(target[at], total)
