"""Ring: every rank sends to the rank before it, so a chunk passes all ranks."""

from .algorithm import Algorithm
from .costs import Costs, reduced
from .group import Group
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _reduce_scatter(group: Group) -> tuple[Stage, ...]:
    """Chunk 1 leaves first, the own chunk arrives last with the sum of all other ranks."""
    ranks = group.ranks
    flows = tuple(
        Flow(
            Chunk(owner),
            arrivals=int(owner != 1),
            to=(ranks - 1,) if owner else (),
            keeps=owner == 0,
        )
        for owner in (*range(1, ranks), 0)
    )
    return (Stage(reduces=True, flows=flows),)


def _all_gather(group: Group) -> tuple[Stage, ...]:
    """Each rank sends its own chunk, then each arrival, except the last chunk to arrive."""
    ranks = group.ranks
    flows = tuple(
        Flow(
            Chunk(owner),
            own=owner == 0,
            arrivals=int(owner != 0),
            to=(ranks - 1,) if owner != ranks - 1 else (),
            keeps=True,
        )
        for owner in range(ranks)
    )
    return (Stage(reduces=False, flows=flows),)


def _all_to_all(group: Group) -> tuple[Stage, ...]:
    """Each rank sends its chunks, the one with the longest way first, and passes on arrivals.

    In step *s*, the chunks of the rank *s* after this one are here; they have *s* links behind
    them, and those whose owner is not this rank go on.
    """
    ranks = group.ranks
    flows = tuple(
        Flow(
            Chunk(owner, source=source),
            own=source == 0,
            arrivals=int(source != 0),
            to=(ranks - 1,) if owner else (),
            keeps=owner == 0,
        )
        for source in range(ranks)
        for owner in (*range(source + 1, ranks), 0)
    )
    return (Stage(reduces=False, flows=flows),)


def _scattered(group: Group) -> Costs:
    return reduced(group.ranks, messages=group.ranks - 1, steps=group.ranks - 1)


def _gathered(group: Group) -> Costs:
    others = group.ranks - 1
    return Costs(
        sent=others, received=others, read=others, written=others, messages=others, steps=others
    )


def _exchanged(group: Group) -> Costs:
    """A chunk for the rank *d* before this one crosses *d* links, each with a staged copy."""
    crossed = group.ranks * (group.ranks - 1) // 2
    return Costs(
        sent=crossed,
        received=crossed,
        read=crossed,
        written=crossed,
        messages=crossed,
        steps=group.ranks - 1,
    )


ALGORITHM = Algorithm(
    name="ring",
    summary="every rank sends to the rank before it; each chunk passes all ranks",
    stages={
        "reduce-scatter": _reduce_scatter,
        "all-gather": _all_gather,
        "all-to-all": _all_to_all,
    },
    costs={"reduce-scatter": _scattered, "all-gather": _gathered, "all-to-all": _exchanged},
)
