"""Ring: every rank sends to the rank before it, so a chunk passes all ranks."""

from .algorithm import Algorithm
from .group import Group
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _reduce_scatter(ranks: int) -> tuple[Stage, ...]:
    """Chunk 1 leaves first, the own chunk arrives last with the sum of all other ranks."""
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


def _all_gather(ranks: int) -> tuple[Stage, ...]:
    """Each rank sends its own chunk, then what arrives, except the last chunk to arrive."""
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


ALGORITHM = Algorithm(
    name="ring",
    summary="every rank sends to the rank before it; each chunk passes all ranks",
    group=lambda ranks: Group((ranks,)),
    stages={"reduce-scatter": _reduce_scatter, "all-gather": _all_gather},
)
