"""Check of a schedule before anything is simulated: a proof by symbolic execution.

A contribution is a set of the ranks whose data it holds. The check runs the schedule on such sets,
refuses a sum that would count a rank twice, and compares the results with the operation's.
"""

from collections.abc import Iterator

from sysmodel.lib.errors import InputError

from .execution import completions, senders, stuck
from .schedule import Chunk, Expanded, Flow

__all__ = ["check", "needed_results"]

Held = dict[Chunk, int]
"""Data of a rank: for each chunk a number whose bit *r* is set if it holds the data of rank *r*."""

_SHOWN = 8  # senders in a message


def check(expanded: Expanded, field: str | None = None) -> None:
    """Check that a schedule does its operation.

    Parameters
    ----------
    field : str or None
        Name in messages; by default the schedule's name.

    Raises
    ------
    InputError
        The schedule does not: the message has the stage, the rank and the chunk.
    """
    try:
        _check(expanded)
    except _Refusal as refusal:
        raise InputError(field or expanded.name, str(refusal)) from None


class _Refusal(Exception):
    """Reason why a schedule is refused."""

    def __init__(self, stage: int, rank: int, chunk: Chunk, problem: str):
        super().__init__(f"stage {stage}, rank {rank}, chunk {chunk}: {problem}")


def needed_results(expanded: Expanded, rank: int) -> Iterator[tuple[Chunk, int]]:
    """Yield the chunks that a rank must keep in the end, and the ranks that each must hold."""
    ranks, parts, operation = range(expanded.ranks), range(expanded.parts), expanded.operation
    for part in parts:
        if operation == "reduce-scatter":
            yield Chunk(rank, part=part), (1 << expanded.ranks) - 1
        elif operation == "all-reduce":
            for owner in ranks:
                yield Chunk(owner, part=part), (1 << expanded.ranks) - 1
        elif operation == "all-gather":
            for owner in ranks:
                yield Chunk(owner, part=part), 1 << owner
        elif operation == "all-to-all":
            for source in ranks:
                yield Chunk(rank, source, part), 1 << source
        else:
            source = (rank - 1) % expanded.ranks
            yield Chunk(rank, source, part), 1 << source


def _check(expanded: Expanded) -> None:
    held: list[Held] = []
    for stage in range(len(expanded.flows)):
        _check_names(expanded, stage)
        _check_arrivals(expanded, stage)
        held = _run(expanded, stage, held)
    _check_results(expanded, held)


def _check_names(expanded: Expanded, stage: int) -> None:
    """Check the ranks and chunks that the flows of a stage name."""
    has_source = expanded.operation in ("all-to-all", "send")
    for rank, flows in enumerate(expanded.flows[stage]):
        seen: set[Chunk] = set()
        for flow in flows:
            chunk = flow.chunk
            for peer in flow.to:
                if not 0 <= peer < expanded.ranks:
                    problem = f"peer {peer} is not there; allowed: 0 to {expanded.ranks - 1}"
                    raise _Refusal(stage, rank, chunk, problem)
                if peer == rank:
                    raise _Refusal(stage, rank, chunk, "the rank sends the chunk to itself")
            if not (
                0 <= chunk.owner < expanded.ranks
                and 0 <= chunk.part < expanded.parts
                and (0 if has_source else -1)
                <= chunk.source
                < (expanded.ranks if has_source else 0)
            ):
                problem = (
                    f"no such chunk of an {expanded.operation} with {expanded.ranks} ranks and "
                    f"{expanded.parts} parts"
                )
                raise _Refusal(stage, rank, chunk, problem)
            if chunk in seen:
                raise _Refusal(stage, rank, chunk, "the rank has two flows for the chunk")
            seen.add(chunk)


def _check_arrivals(expanded: Expanded, stage: int) -> None:
    """Check that each rank expects the contributions that other ranks send to it."""
    coming = senders(expanded, stage)
    flows = {
        (rank, flow.chunk): flow
        for rank, listed in enumerate(expanded.flows[stage])
        for flow in listed
    }
    merged = {place for place, flow in flows.items() if flow.merged}
    for (rank, chunk), sent in coming.items():
        if (rank, chunk) not in flows:
            problem = f"dropped: the rank has no flow for the chunk; senders: {_listed(sent)}"
            raise _Refusal(stage, rank, chunk, problem)
    for (rank, chunk), flow in flows.items():
        sent = coming.get((rank, chunk), [])
        if flow.arrivals != len(sent):
            problem = f"{flow.arrivals} arrivals expected; senders: {_listed(sent)}"
            raise _Refusal(stage, rank, chunk, problem)
        if merged:
            _check_merged(expanded, stage, (rank, flow), sent, merged)
        if not flow.contributions:
            raise _Refusal(stage, rank, chunk, "the chunk has no contribution")
        if flow.contributions > 1 and not expanded.reduces[stage]:
            problem = f"{flow.contributions} contributions in a stage that does not reduce"
            raise _Refusal(stage, rank, chunk, problem)


def _check_merged(
    expanded: Expanded,
    stage: int,
    place: tuple[int, Flow],
    sent: list[tuple[int, int]],
    merged: set[tuple[int, Chunk]],
) -> None:
    """Check a flow of a stage in which the network adds packets: all ranks give their own data to
    one."""
    rank, flow = place
    if any(((sender, flow.chunk) in merged) != flow.merged for _, sender in sent):
        problem = "the network adds the packets of some ranks; allowed: of all, or of none"
        raise _Refusal(stage, rank, flow.chunk, problem)
    if not flow.merged:
        return
    if not flow.own or len(flow.to) + bool(flow.arrivals) != 1 or flow.multicast:
        problem = "the network adds it; allowed: the rank's own data, sent to one rank or kept"
        raise _Refusal(stage, rank, flow.chunk, problem)
    if flow.arrivals and flow.contributions != expanded.ranks:
        problem = f"the network adds it; senders: {_listed(sent)}; allowed: all other ranks"
        raise _Refusal(stage, rank, flow.chunk, problem)


def _listed(sent: list[tuple[int, int]]) -> str:
    names = [str(rank) for _, rank in sent]
    return ", ".join(names[:_SHOWN] + ["..."] * (len(names) > _SHOWN)) or "none"


def _run(expanded: Expanded, stage: int, held: list[Held]) -> list[Held]:
    """Execute a stage, and return the results that each rank keeps."""
    waiting: list[Held] = [{} for _ in range(expanded.ranks)]
    kept: list[Held] = [{} for _ in range(expanded.ranks)]
    done = 0
    for one in completions(expanded, stage):
        done += 1
        flow, chunk = one.flow, one.flow.chunk
        value = waiting[one.rank].pop(chunk, 0)
        if flow.own:
            own = _own(expanded, stage, one.rank, flow, held)
            value = _added(stage, one.rank, chunk, value, own)
        for peer in flow.to:
            waiting[peer][chunk] = _added(stage, peer, chunk, waiting[peer].get(chunk, 0), value)
        if flow.keeps:
            kept[one.rank][chunk] = value
    if done < sum(map(len, expanded.flows[stage])):
        _refuse_deadlock(expanded, stage)
    return kept


def _own(expanded: Expanded, stage: int, rank: int, flow: Flow, held: list[Held]) -> int:
    """Ranks whose data is in the rank's own contribution."""
    chunk = flow.chunk
    if stage == 0:
        first = {"all-gather": chunk.owner, "all-to-all": chunk.source, "send": chunk.source}
        if first.get(expanded.operation, rank) != rank:
            raise _Refusal(stage, rank, chunk, "the rank has no data of its own for the chunk")
        return 1 << rank
    if chunk not in held[rank]:
        problem = f"the rank did not keep the chunk in stage {stage - 1}"
        raise _Refusal(stage, rank, chunk, problem)
    return held[rank][chunk]


def _added(stage: int, rank: int, chunk: Chunk, value: int, more: int) -> int:
    """Sum of two contributions, which have no rank in common."""
    if twice := value & more:
        problem = f"the contribution of rank {_first(twice)} is counted twice"
        raise _Refusal(stage, rank, chunk, problem)
    return value | more


def _refuse_deadlock(expanded: Expanded, stage: int) -> None:
    """Name one circle of ranks of which each waits for the next one."""
    waits = stuck(expanded, stage)
    rank, path = next(iter(waits)), []
    while rank not in path:
        path.append(rank)
        rank = waits[rank].lacks[0]
    circle = path[path.index(rank) :]
    text = ", which ".join(
        f"waits for rank {waits[one].lacks[0]}'s chunk {waits[one].flow.chunk}" for one in circle
    )
    raise _Refusal(stage, rank, waits[rank].flow.chunk, f"deadlock: rank {rank} {text}")


def _check_results(expanded: Expanded, held: list[Held]) -> None:
    """Compare the results with those that the operation needs."""
    last = len(expanded.flows) - 1
    for rank in range(expanded.ranks):
        kept = held[rank] if held else {}
        for chunk, needed in needed_results(expanded, rank):
            if chunk not in kept:
                problem = (
                    f"the {expanded.operation} needs the result, and the rank does not keep it"
                )
                raise _Refusal(last, rank, chunk, problem)
            if missing := needed & ~kept[chunk]:
                problem = f"the contribution of rank {_first(missing)} is missing in the result"
                raise _Refusal(last, rank, chunk, problem)
            if excess := kept[chunk] & ~needed:
                problem = f"the result holds data of rank {_first(excess)}, which it must not"
                raise _Refusal(last, rank, chunk, problem)


def _first(ranks: int) -> int:
    """Lowest rank of a set."""
    return (ranks & -ranks).bit_length() - 1
