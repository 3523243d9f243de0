"""Tracing of a plan's steps: where each chunk's data goes, and the schedule that this amounts to.

The steps of other tools move chunks between buffers. A trace executes them on symbols: a value is
the list of a rank's terms, which are its own data of a chunk or arrivals of it. All values that a
rank sends or keeps then are flows. A rank that sends a chunk, and later sends the chunk again with
more contributions, is refused: no flow says that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .schedule import Chunk, Expanded, Flow, Operation

__all__ = ["MOST_CHUNKS", "Place", "Trace", "TraceError", "Value"]

MOST_CHUNKS = 1 << 16
"""Most chunks of a rank's buffer."""

Place = tuple[int, str, int]
"""Rank, buffer and index of a chunk in memory."""


class TraceError(ValueError):
    """Step that no schedule can express."""


@dataclass(frozen=True)
class Value:
    """Data of a chunk at a rank.

    Parameters
    ----------
    terms : tuple of int
        Contributions: -1 is the rank's own data, others are numbers of transfers to the rank.
    """

    rank: int
    chunk: Chunk
    terms: tuple[int, ...]


@dataclass
class _Use:
    """Use of a value: when it was complete, and the ranks that get it."""

    time: int
    to: list[int] = field(default_factory=list)
    keeps: bool = False


class Trace:
    """Symbolic execution of a plan.

    Parameters
    ----------
    parts : int
        Chunks of each owner.
    in_place : bool
        Input and output are one buffer, or the smaller one is a part of the larger one.
    """

    def __init__(
        self, name: str, operation: Operation, ranks: int, parts: int, *, in_place: bool
    ) -> None:
        self.name, self.operation, self.ranks, self.parts = name, operation, ranks, parts
        self._in_place = in_place
        self._memory: dict[Place, Value] = {}
        self._uses: dict[Value, _Use] = {}
        self._transfers: list[tuple[Value, int]] = []
        self._seen: dict[int, int] = {}
        self._holds: dict[Value, int] = {}
        self._time = 0
        for rank in range(ranks):
            for index, chunk in enumerate(self._given(rank)):
                self._memory[self._place((rank, "i", index))] = Value(rank, chunk, (-1,))

    def read(self, place: Place) -> Value:
        """Return the value at a place.

        Raises
        ------
        TraceError
            Nothing has been written there.
        """
        value = self._memory.get(self._place(place))
        if value is None:
            raise TraceError(f"reads {_named(place)}, which holds no data")
        return value

    def write(self, place: Place, value: Value) -> None:
        """Write a value, which crosses the network if it is another rank's."""
        self._memory[self._place(place)] = self.moved(value, place[0])

    def moved(self, value: Value, rank: int) -> Value:
        """Return a value at a rank, after a transfer if it is another rank's."""
        if value.rank == rank:
            self._use(value)
            return value
        self._use(value).to.append(rank)
        self._transfers.append((value, rank))
        return Value(rank, value.chunk, (len(self._transfers) - 1,))

    def added(self, values: list[Value]) -> Value:
        """Sum of values at one rank.

        Raises
        ------
        TraceError
            The values are of different chunks.
        """
        first = values[0]
        terms: list[int] = []
        for one in values:
            if one.chunk != first.chunk:
                raise TraceError(f"adds chunk {one.chunk} to chunk {first.chunk}")
            terms += one.terms
        value = Value(first.rank, first.chunk, tuple(sorted(terms)))
        self._holds.setdefault(value, self._tick())
        return value

    def transfers(self) -> int:
        """Number of transfers so far."""
        return len(self._transfers)

    def sent(self, first: int, sender: int, receiver: int) -> list[int]:
        """Transfers from a number on, between two ranks."""
        return [
            at
            for at in range(first, len(self._transfers))
            if self._transfers[at][0].rank == sender and self._transfers[at][1] == receiver
        ]

    def see(self, transfers: list[int]) -> None:
        """Note that the receiver has waited for transfers."""
        for one in transfers:
            self._seen.setdefault(one, self._tick())

    def schedule(self) -> Expanded:
        """Return the schedule that the steps amount to.

        Raises
        ------
        TraceError
            They amount to none.
        """
        for rank in range(self.ranks):
            for index, chunk in enumerate(self._results(rank)):
                value = self._memory.get(self._place((rank, "o", index)))
                if value is None or value.chunk != chunk:
                    held = f"chunk {value.chunk}" if value else "no data"
                    place = _named((rank, "o", index))
                    raise TraceError(f"{place} holds {held} in the end, not chunk {chunk}")
                self._use(value).keeps = True
        reduces = self.operation in ("reduce-scatter", "all-reduce")
        stages = (True, False) if self.operation == "all-reduce" else (reduces,)
        flows = tuple(self._stage(stage, len(stages) > 1) for stage in range(len(stages)))
        return Expanded(self.name, self.operation, self.ranks, self.parts, stages, flows)

    def _stage(self, stage: int, two: bool) -> tuple[tuple[Flow, ...], ...]:
        """Flows of a stage; of two, the first makes sums and the second distributes them."""
        found: list[list[tuple[int, Flow]]] = [[] for _ in range(self.ranks)]
        flows: dict[tuple[int, Chunk], Flow] = {}
        for value, use in self._uses.items():
            if not use.to and not use.keeps:
                continue
            for flow in self._flows(value, use, stage, two):
                place = (value.rank, value.chunk)
                if place in flows:
                    raise TraceError(
                        f"rank {value.rank} sends or keeps chunk {value.chunk} with different "
                        "contributions, which no schedule can express"
                    )
                flows[place] = flow
                found[value.rank].append((self._completed(value, use), flow))
        return tuple(tuple(flow for _, flow in sorted(one, key=_time)) for one in found)

    def _flows(self, value: Value, use: _Use, stage: int, two: bool) -> Iterator[Flow]:
        """Flow of a value in a stage, if it has one."""
        own, arrivals = -1 in value.terms, sum(term >= 0 for term in value.terms)
        to = tuple(use.to)
        whole = two and self._is_whole(value)
        if not whole and stage == 0:
            yield Flow(value.chunk, own, arrivals, to, use.keeps)
        elif whole and len(value.terms) > 1 and stage == 0:
            yield Flow(value.chunk, own, arrivals, keeps=True)
        elif whole and stage == 1:
            summed = len(value.terms) > 1
            yield Flow(value.chunk, summed, 0 if summed else arrivals, to, use.keeps)

    def _is_whole(self, value: Value) -> bool:
        """Test whether a value is the sum of all ranks' data."""
        return sum(1 for _ in self._sources(value)) >= self.ranks

    def _sources(self, value: Value) -> Iterator[int]:
        for term in value.terms:
            if term < 0:
                yield value.rank
            else:
                yield from self._sources(self._transfers[term][0])

    def _completed(self, value: Value, use: _Use) -> int:
        """Time at which a value was complete at its rank."""
        if value in self._holds:
            return self._holds[value]
        return self._seen.get(value.terms[0], use.time)

    def _use(self, value: Value) -> _Use:
        if value not in self._uses:
            self._uses[value] = _Use(self._tick())
        return self._uses[value]

    def _tick(self) -> int:
        self._time += 1
        return self._time

    def _place(self, place: Place) -> Place:
        """Return the one name of a place that has two."""
        rank, buffer, index = place
        if self._in_place and self.operation == "all-gather" and buffer == "i":
            return (rank, "o", rank * self.parts + index)
        if self._in_place and self.operation == "reduce-scatter" and buffer == "o":
            return (rank, "i", rank * self.parts + index)
        if self._in_place and self.operation == "all-reduce" and buffer == "o":
            return (rank, "i", index)
        return place

    def _given(self, rank: int) -> list[Chunk]:
        """Chunks of a rank's input."""
        owners = [rank] if self.operation == "all-gather" else range(self.ranks)
        source = rank if self.operation == "all-to-all" else -1
        return [Chunk(owner, source, part) for owner in owners for part in range(self.parts)]

    def _results(self, rank: int) -> list[Chunk]:
        """Chunks of a rank's output."""
        parts = range(self.parts)
        if self.operation == "reduce-scatter":
            return [Chunk(rank, part=part) for part in parts]
        if self.operation == "all-to-all":
            return [Chunk(rank, source, part) for source in range(self.ranks) for part in parts]
        return [Chunk(owner, part=part) for owner in range(self.ranks) for part in parts]


def _named(place: Place) -> str:
    rank, buffer, index = place
    return f"rank {rank}'s {buffer}[{index}]"


def _time(timed: tuple[int, Flow]) -> int:
    return timed[0]
