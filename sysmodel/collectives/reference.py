"""NumPy reference of a schedule: its results, added in its order, rounded at every addition."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sysmodel.lib.errors import InputError

from .execution import completions
from .schedule import Chunk, Expanded

__all__ = ["given_chunks", "reference", "reference_chunks"]

Array = np.ndarray[Any, np.dtype[Any]]
Held = dict[Chunk, Array]


def reference(expanded: Expanded, inputs: Array) -> list[Array]:
    """Results of all ranks.

    The inputs and results are those of the collective's usual definition: a reduce-scatter and an
    all-reduce take the whole from each rank, an all-gather takes the rank's own share, and an
    all-to-all takes and gives the shares of all ranks in order.

    Parameters
    ----------
    inputs : array
        Data of each rank: ranks x elements, in any type of floating-point numbers.

    Raises
    ------
    InputError
        The elements cannot be divided into the schedule's chunks.
    """
    pieces = _pieces(expanded)
    if len(inputs) != expanded.ranks or inputs.shape[1] % pieces:
        problem = (
            f"{inputs.shape} is not allowed; allowed: {expanded.ranks} x a multiple of {pieces}"
        )
        raise InputError("inputs", problem)
    size = inputs.shape[1] // pieces
    data = []
    for rank in range(expanded.ranks):
        blocks = inputs[rank].reshape(pieces, size)
        data.append({chunk: blocks[at] for at, chunk in enumerate(given_chunks(expanded, rank))})
    results = reference_chunks(expanded, data)
    return [
        np.concatenate([results[rank][chunk] for chunk in _result(expanded, rank)])
        for rank in range(expanded.ranks)
    ]


def reference_chunks(
    expanded: Expanded,
    data: Sequence[Mapping[Chunk, Array]],
    memory: Sequence[Mapping[Chunk, Array]] | None = None,
) -> list[Held]:
    """Chunks that each rank keeps in the end, from the chunks of each rank's own data.

    Parameters
    ----------
    memory : sequence or None
        What the memory of each rank holds for each chunk, to which the first contribution to a
        chunk with arrivals is added, in the first stage; None: nothing.
    """
    held: Sequence[Mapping[Chunk, Array]] = data
    kept: list[Held] = []
    for stage in range(len(expanded.flows)):
        sent: dict[tuple[int, Chunk], Array] = {}
        kept = [{} for _ in range(expanded.ranks)]
        for one in completions(expanded, stage):
            chunk = one.flow.chunk
            terms = [sent[sender, chunk] for sender in one.senders]
            if one.flow.own:
                terms.insert(one.own_at, held[one.rank][chunk])
            if memory is not None and stage == 0 and one.flow.arrivals:
                terms.insert(0, memory[one.rank][chunk])
            total = terms[0]
            for term in terms[1:]:
                total = term + total
            sent[one.rank, chunk] = total
            if one.flow.keeps:
                kept[one.rank][chunk] = total
        held = kept
    return kept


def _pieces(expanded: Expanded) -> int:
    """Chunks of each rank's input."""
    shares = 1 if expanded.operation in ("all-gather", "send") else expanded.ranks
    return shares * expanded.parts


def given_chunks(expanded: Expanded, rank: int) -> list[Chunk]:
    """List the chunks of a rank's input, in order."""
    ranks, parts = range(expanded.ranks), range(expanded.parts)
    if expanded.operation == "all-gather":
        return [Chunk(rank, part=part) for part in parts]
    if expanded.operation == "send":
        return [Chunk((rank + 1) % expanded.ranks, rank, part) for part in parts]
    source = rank if expanded.operation == "all-to-all" else -1
    return [Chunk(owner, source, part) for owner in ranks for part in parts]


def _result(expanded: Expanded, rank: int) -> list[Chunk]:
    """Chunks of a rank's result, in order."""
    ranks, parts = range(expanded.ranks), range(expanded.parts)
    if expanded.operation == "reduce-scatter":
        return [Chunk(rank, part=part) for part in parts]
    if expanded.operation == "send":
        return [Chunk(rank, (rank - 1) % expanded.ranks, part) for part in parts]
    if expanded.operation == "all-to-all":
        return [Chunk(rank, source, part) for source in ranks for part in parts]
    return [Chunk(owner, part=part) for owner in ranks for part in parts]
