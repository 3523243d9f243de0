"""Steps of a schedule on compute units: the sums and copies of every rank, step by step.

A rank begins a step when all ranks have ended the step before. In a step it adds the contributions
of each chunk that has become complete, and stores the sum at the chunk's peers, and in its own
memory if it keeps the sum. Where the network adds the contributions to a chunk, every rank sends
its own in the first step of the stage, the owner too, and the sum arrives.

The stages of a schedule that streams are one step, in which work may await what arrives in it.

Places say where a rank holds the data of a chunk. Place 0 is the chunk itself: the rank's own data,
its sums, and what arrives in an all-gather. Contributions that are still to be added arrive in
places from 1 on, in the order of summation. In an all-to-all, each source of an owner's data has a
place from 1 on.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from .execution import Completion, completions, senders
from .schedule import Chunk, Expanded

__all__ = ["Step", "Work", "places", "steps_of"]


class Work(NamedTuple):
    """Work of a rank on a chunk in one step.

    Parameters
    ----------
    operands : tuple of int
        Places whose contents are added.
    targets : tuple of pairs
        Ranks that get the sum, which may be the rank itself, each with the place there.
    multicast : bool
        One packet goes to all other ranks.
    merged : bool
        The network adds the packets of all ranks for the target, which may be the rank itself.
    awaits : bool
        The operand arrives in the same step.
    """

    chunk: Chunk
    operands: tuple[int, ...]
    targets: tuple[tuple[int, int], ...]
    multicast: bool
    merged: bool = False
    awaits: bool = False


class Step(NamedTuple):
    """Work of all ranks in a step of a stage, and the chunks that arrive at each rank."""

    stage: int
    work: tuple[tuple[Work, ...], ...]
    arriving: tuple[tuple[Chunk, ...], ...]

    @property
    def sends(self) -> bool:
        """True if data leaves a rank in the step."""
        return any(self.arriving)


def steps_of(expanded: Expanded) -> Iterator[Step]:
    """Yield the steps of all stages, in order.

    Raises
    ------
    ValueError
        The schedule streams, and a stage has several steps.
    """
    stages = [[*_steps_of_stage(expanded, stage)] for stage in range(len(expanded.flows))]
    if not expanded.streams:
        yield from chain.from_iterable(stages)
        return
    if any(len(steps) != 1 for steps in stages):
        raise ValueError(f"{expanded.name} streams; allowed: one step in each stage")
    joined, *others = (steps[0] for steps in stages)
    for step in others:
        joined = _joined(joined, step)
    yield joined


def _joined(step: Step, following: Step) -> Step:
    """Join two steps; work on what arrives in the first one awaits it."""
    work = (
        (*first, *(one._replace(awaits=one.chunk in arriving) for one in second))
        for first, second, arriving in zip(step.work, following.work, step.arriving, strict=True)
    )
    both = zip(step.arriving, following.arriving, strict=True)
    return Step(step.stage, tuple(work), tuple((*one, *other) for one, other in both))


def places(expanded: Expanded) -> int:
    """Return the number of places that a rank needs."""
    used = [0]
    for step in steps_of(expanded):
        for work in step.work:
            for one in work:
                used += (*one.operands, *(place for _, place in one.targets))
    return max(used) + 1


def _steps_of_stage(expanded: Expanded, stage: int) -> Iterator[Step]:
    place_of = _Places(expanded, stage)
    ranks = range(expanded.ranks)
    work: list[list[list[Work]]] = []
    arriving: list[list[list[Chunk]]] = []
    level: dict[tuple[int, Chunk], int] = {}
    for one in completions(expanded, stage):
        chunk = one.flow.chunk
        number = 0 if one.flow.merged else level.get((one.rank, chunk), 0)
        for peer in one.flow.to:
            level[peer, chunk] = max(level.get((peer, chunk), 0), number + 1)
        if (item := _work_of(one, place_of)) is None:
            continue
        while len(work) <= number:
            work.append([[] for _ in ranks])
            arriving.append([[] for _ in ranks])
        work[number][one.rank].append(item)
        if one.flow.merged and one.flow.arrivals:
            arriving[number][one.rank].append(chunk)
        for peer in () if one.flow.merged else one.flow.to:
            arriving[number][peer].append(chunk)
    for done, arrived in zip(work, arriving, strict=True):
        yield Step(stage, tuple(map(tuple, done)), tuple(map(tuple, arrived)))


def _work_of(one: Completion, place_of: "_Places") -> Work | None:
    """Work for a flow that is complete; None if its data needs no more than to be there."""
    flow = one.flow
    if flow.merged:
        target = flow.to or (one.rank,)
        place = place_of.own(flow.chunk)
        return Work(flow.chunk, (place,), ((target[0], place),), False, merged=True)
    adds = flow.contributions > 1
    if not adds and not flow.to:
        return None
    own = (place_of.own(flow.chunk),) if flow.own else ()
    arrived = (place_of.arrival(one.rank, flow.chunk, sender) for sender in one.senders)
    targets = [(peer, place_of.arrival(peer, flow.chunk, one.rank)) for peer in flow.to]
    if adds and flow.keeps:
        targets.append((one.rank, place_of.own(flow.chunk)))
    return Work(flow.chunk, (*own, *arrived), tuple(targets), flow.multicast)


class _Places:
    """Places of the chunks of a stage."""

    def __init__(self, expanded: Expanded, stage: int):
        self._reduces, self._ranks = expanded.reduces[stage], expanded.ranks
        self._order = {
            place: {sender: number for number, (_, sender) in enumerate(sent, 1)}
            for place, sent in senders(expanded, stage).items()
        }

    def own(self, chunk: Chunk) -> int:
        """Place of a rank's own data, or of its sum."""
        if chunk.source < 0:
            return 0
        return 1 + (chunk.source - chunk.owner) % self._ranks

    def arrival(self, rank: int, chunk: Chunk, sender: int) -> int:
        """Place in which a contribution arrives."""
        return self._order[rank, chunk][sender] if self._reduces else self.own(chunk)
