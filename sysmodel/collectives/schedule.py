"""Schedules: the way of every chunk of data through one rank, relative to that rank.

A schedule is written for rank 0. It holds for every other rank after a shift by the schedule's
group, so that it is a few lines for any number of ranks. :func:`expanded` writes it out for all
ranks; an imported schedule comes in that form, and need not be the same for all ranks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from .group import Group

__all__ = [
    "OPERATIONS",
    "Chunk",
    "Expanded",
    "Flow",
    "Operation",
    "RankedStage",
    "Schedule",
    "Stage",
    "expanded",
]

Operation = Literal["reduce-scatter", "all-gather", "all-reduce", "all-to-all", "send"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


class Chunk(NamedTuple):
    """Piece of the data that moves as a whole.

    Parameters
    ----------
    owner : int
        Rank that has the chunk in the end (of a reduce-scatter), or at the start (of an
        all-gather). In an all-to-all, rank that receives the chunk.
    source : int
        Rank whose data an all-to-all's chunk is; -1 in collectives whose chunks have no source.
    part : int
        Part of the chunk, where a schedule sends parts of a chunk on different ways.
    """

    owner: int
    source: int = -1
    part: int = 0

    def __str__(self) -> str:
        source = "" if self.source < 0 else f" from {self.source}"
        return f"{self.owner}{source}" + (f" part {self.part}" if self.part else "")

    def shifted(self, group: Group, rank: int) -> "Chunk":
        """Return the chunk that is this one relative to ``rank``."""
        source = self.source if self.source < 0 else group.add(self.source, rank)
        return Chunk(group.add(self.owner, rank), source, self.part)


@dataclass(frozen=True)
class Flow:
    """Way of a chunk through a rank: contributions that complete it, and its way on.

    Parameters
    ----------
    own : bool
        The rank's own data is a contribution: the output of its kernel in the first stage, the
        result of the stage before in a later one.
    arrivals : int
        Contributions that other ranks send. An arriving contribution is added to the others in a
        stage that reduces. In any other stage it is the chunk's data, and the only contribution.
    to : tuple of int
        Ranks to which the rank sends the chunk when it is complete.
    keeps : bool
        The complete chunk is a result of the stage.
    multicast : bool
        One packet goes to all of ``to``, and the network copies it.
    merged : bool
        The network adds the packets of all ranks for the chunk, the receiver's own ones, too, and
        one arrives. The receiver's flow is merged as the senders' are; its ``arrivals`` count the
        other ranks.
    """

    chunk: Chunk
    own: bool = True
    arrivals: int = 0
    to: tuple[int, ...] = ()
    keeps: bool = False
    multicast: bool = False
    merged: bool = False

    @property
    def contributions(self) -> int:
        """Number of contributions that complete the chunk."""
        return self.own + self.arrivals

    def shifted(self, group: Group, rank: int) -> "Flow":
        """Return the flow of ``rank`` that is this one of rank 0."""
        return Flow(
            self.chunk.shifted(group, rank),
            self.own,
            self.arrivals,
            tuple(group.add(peer, rank) for peer in self.to),
            self.keeps,
            self.multicast,
            self.merged,
        )


@dataclass(frozen=True)
class Stage:
    """Flows of rank 0 in the order in which it produces and sends the chunks.

    Parameters
    ----------
    reduces : bool
        Arriving data is added to the data in memory, otherwise stored.
    """

    reduces: bool
    flows: tuple[Flow, ...]

    def of_rank(self, group: Group, rank: int) -> tuple[Flow, ...]:
        """Flows of a rank."""
        return tuple(flow.shifted(group, rank) for flow in self.flows)


@dataclass(frozen=True)
class RankedStage(Stage):
    """Stage in which ranks do different things.

    Parameters
    ----------
    ranked : callable
        Flows of a rank, in absolute ranks.
    """

    ranked: Callable[[int], tuple[Flow, ...]]

    def of_rank(self, group: Group, rank: int) -> tuple[Flow, ...]:
        """Flows of a rank."""
        return self.ranked(rank)


@dataclass(frozen=True)
class Schedule:
    """Collective of one group of ranks, in stages; each takes the results of the one before.

    Parameters
    ----------
    name : str
        Name of the algorithm.
    parts : int
        Equal parts into which each owner's data is cut.
    streams : bool
        A stage takes the results of the one before piece by piece, as they come.
    """

    name: str
    operation: Operation
    group: Group
    stages: tuple[Stage, ...]
    parts: int = 1
    streams: bool = False

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.group.ranks


@dataclass(frozen=True)
class Expanded:
    """Schedule written out: ``flows[stage][rank]`` are the flows of a rank in the order of sending.

    Ranks and owners are absolute.
    """

    name: str
    operation: Operation
    ranks: int
    parts: int
    reduces: tuple[bool, ...]
    flows: tuple[tuple[tuple[Flow, ...], ...], ...] = field(repr=False)
    streams: bool = False

    @property
    def multicasts(self) -> bool:
        """True if the network copies packets."""
        return any(flow.multicast for flow in self._all_flows())

    @property
    def merges(self) -> bool:
        """True if the network adds packets."""
        return any(flow.merged for flow in self._all_flows())

    def _all_flows(self) -> Iterator[Flow]:
        return (flow for stage in self.flows for own in stage for flow in own)

    def sends(self, stage: int) -> Iterator[tuple[int, int, Flow]]:
        """Yield every transfer of a stage: its sender, its receiver, and the sender's flow."""
        for rank, flows in enumerate(self.flows[stage]):
            for flow in flows:
                for peer in flow.to:
                    yield rank, peer, flow


def expanded(schedule: Schedule) -> Expanded:
    """Write a schedule out for all ranks."""
    group = schedule.group
    return Expanded(
        name=schedule.name,
        operation=schedule.operation,
        ranks=schedule.ranks,
        parts=schedule.parts,
        reduces=tuple(stage.reduces for stage in schedule.stages),
        flows=tuple(
            tuple(stage.of_rank(group, rank) for rank in range(schedule.ranks))
            for stage in schedule.stages
        ),
        streams=schedule.streams,
    )
