"""MSCCL's XML files as schedules: steps of thread blocks that send, receive, copy and reduce."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from xml.parsers import expat

from sysmodel.lib.errors import InputError, short

from .algorithm import MOST_RANKS
from .schedule import Expanded, Operation
from .stepping import Block, stuck_blocks
from .tracing import MOST_CHUNKS, Trace, TraceError, Value

__all__ = ["msccl_schedule"]

_OPERATIONS: dict[str, Operation] = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
}
_STEPS = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
_RECEIVES, _SENDS = ("r", "rcs", "rrc", "rrs", "rrcs"), ("s", "rcs", "rrs", "rrcs")
_DIGITS = 10  # of a number
_PARENTS = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}


@dataclass
class _Element:
    """Element of the file, with its line."""

    name: str
    attributes: dict[str, str]
    where: str
    inner: list["_Element"] = field(default_factory=list)

    def text(self, key: str) -> str:
        """Value of an attribute."""
        if key not in self.attributes:
            raise InputError(self.where, f"<{self.name}> has no attribute {key!r}")
        return self.attributes[key]

    def number(self, key: str, least: int = 0, default: int | None = None) -> int:
        """Value of an attribute that is an integer."""
        if default is not None and key not in self.attributes:
            return default
        text = self.text(key)
        try:
            value = int(text) if len(text) < _DIGITS else None
        except ValueError:
            value = None
        if value is None or not least <= value <= MOST_CHUNKS:
            raise InputError(
                self.where, f"{key}={short(text)} is not allowed; allowed: {least} to {MOST_CHUNKS}"
            )
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """Value of an attribute that is one of a few words."""
        text = self.text(key)
        if text not in allowed:
            shown = ", ".join(allowed)
            raise InputError(self.where, f"{key}={short(text)} is not supported; allowed: {shown}")
        return text


def msccl_schedule(text: str, where: str) -> Expanded:
    """Read a file's text as a schedule.

    Parameters
    ----------
    where : str
        Name of the file in messages.

    Raises
    ------
    InputError
        The file is no such file, or has a step that no schedule can express. The message has the
        line.
    """
    algorithm = _parsed(text, where)
    operation = _OPERATIONS[algorithm.choice("coll", tuple(_OPERATIONS))]
    ranks = algorithm.number("ngpus", 2)
    chunks = algorithm.number("nchunksperloop", 1)
    if ranks > MOST_RANKS or chunks % ranks:
        problem = (
            f"{ranks} GPUs with {chunks} chunks; allowed: 2 to {MOST_RANKS} GPUs, and a multiple"
        )
        raise InputError(algorithm.where, f"{problem} of them as chunks")
    trace = Trace(
        algorithm.attributes.get("name", "msccl"),
        operation,
        ranks,
        chunks // ranks,
        in_place=algorithm.number("inplace", default=0) == 1,
    )
    _execute(trace, algorithm)
    try:
        return trace.schedule()
    except TraceError as error:
        raise InputError(where, str(error)) from None


def _parsed(text: str, where: str) -> _Element:
    """Tree of the file's elements."""
    parser = expat.ParserCreate()
    open_: list[_Element] = []
    found: list[_Element] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        place = f"{where}, line {parser.CurrentLineNumber}"
        parent = open_[-1].name if open_ else ""
        if _PARENTS.get(name) != parent:
            allowed = next((one for one, outer in _PARENTS.items() if outer == parent), "none")
            raise InputError(place, f"<{name[:20]}> is not allowed here; allowed: {allowed}")
        element = _Element(name, attributes, place)
        (open_[-1].inner if open_ else found).append(element)
        open_.append(element)

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda name: open_.pop()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        problem = f"no XML: {expat.ErrorString(error.code)}"
        raise InputError(f"{where}, line {error.lineno}", problem) from None
    return found[0]


class _Machine:
    """State of the execution: data that is between two thread blocks, and steps that are done."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.sent: dict[tuple[int, int, int], list[list[Value]]] = {}
        self.done: dict[tuple[int, int], int] = {}


def _execute(trace: Trace, algorithm: _Element) -> None:
    """Execute all thread blocks, and refuse those that wait for ever."""
    machine = _Machine(trace)
    blocks: list[Block] = []
    elements: list[_Element] = []
    seen: set[int] = set()
    for gpu in algorithm.inner:
        rank = gpu.number("id")
        if rank >= trace.ranks or rank in seen:
            raise InputError(gpu.where, f"GPU {rank} is there twice, or beyond ngpus")
        seen.add(rank)
        for block in gpu.inner:
            blocks.append([_step(machine, rank, block, step) for step in block.inner])
            elements.append(block)
    if len(seen) < trace.ranks:
        raise InputError(algorithm.where, f"{len(seen)} GPUs of {trace.ranks} are there")
    for at, step in stuck_blocks(blocks):
        place = elements[at].inner[step]
        raise InputError(place.where, f"deadlock: the step {place.text('type')!r} never ends")


def _step(machine: _Machine, rank: int, block: _Element, step: _Element) -> Callable[[], bool]:
    """Make a step that can be called."""
    kind = step.choice("type", _STEPS)
    number = block.number("id")
    peers = block.number("recv", -1), block.number("send", -1)
    channel = block.number("chan")
    waits = (step.number("depid", -1), step.number("deps", -1))
    if kind in _RECEIVES and not 0 <= peers[0] < machine.trace.ranks:
        raise InputError(block.where, f"recv={peers[0]} is no GPU, and a step receives")
    if kind in _SENDS and not 0 <= peers[1] < machine.trace.ranks:
        raise InputError(block.where, f"send={peers[1]} is no GPU, and a step sends")

    def run() -> bool:
        if waits[0] >= 0 and machine.done.get((rank, waits[0]), 0) <= waits[1]:
            return False
        arrived: list[Value] = []
        if kind in _RECEIVES:
            queue = machine.sent.get((peers[0], rank, channel))
            if not queue:
                return False
            arrived = queue.pop(0)
        try:
            _effect(machine, rank, peers[1], channel, kind, step, arrived)
        except TraceError as error:
            raise InputError(step.where, str(error)) from None
        machine.done[rank, number] = machine.done.get((rank, number), 0) + 1
        return True

    return run


def _effect(
    machine: _Machine,
    rank: int,
    peer: int,
    channel: int,
    kind: str,
    step: _Element,
    arrived: list[Value],
) -> None:
    """Do a step that need not wait."""
    trace = machine.trace
    count = 0 if kind == "nop" else step.number("cnt")
    if kind in _RECEIVES and len(arrived) != count:
        raise TraceError(f"receives {count} chunks, but {len(arrived)} have been sent")
    trace.see([value.terms[0] for value in arrived])
    leaving: list[Value] = []
    for at in range(count):
        source = partial(_place, rank, step, "src", at)
        target = partial(_place, rank, step, "dst", at)
        if kind in ("s", "cpy"):
            value = trace.read(source())
        elif kind in ("r", "rcs"):
            value = arrived[at]
        elif kind == "re":
            value = trace.added([trace.read(target()), trace.read(source())])
        else:
            value = trace.added([trace.read(source()), arrived[at]])
        if kind not in ("s", "rrs"):
            trace.write(target(), value)
        if kind in _SENDS:
            leaving.append(trace.moved(value, peer))
    if leaving:
        machine.sent.setdefault((rank, peer, channel), []).append(leaving)


def _place(rank: int, step: _Element, end: str, at: int) -> tuple[int, str, int]:
    """Place of a step's chunk in memory."""
    buffer = step.choice(f"{end}buf", ("i", "o", "s"))
    return rank, buffer, step.number(f"{end}off") + at
