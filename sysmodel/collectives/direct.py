"""Direct: every rank sends straight to every other rank."""

from .algorithm import Algorithm
from .group import Group
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _reduce_scatter(ranks: int) -> tuple[Stage, ...]:
    """Each rank sends the other ranks' chunks to their owners, the next rank's first."""
    others = tuple(Flow(Chunk(owner), to=(owner,)) for owner in range(1, ranks))
    return (Stage(reduces=True, flows=(*others, Flow(Chunk(0), arrivals=ranks - 1, keeps=True))),)


def _all_gather(ranks: int) -> tuple[Stage, ...]:
    """Each rank sends its own chunk to all other ranks."""
    own = Flow(Chunk(0), to=tuple(range(1, ranks)), keeps=True)
    others = (Flow(Chunk(owner), own=False, arrivals=1, keeps=True) for owner in range(1, ranks))
    return (Stage(reduces=False, flows=(own, *others)),)


def _all_to_all(ranks: int) -> tuple[Stage, ...]:
    """Each rank sends a chunk of its own data to every other rank, and keeps one."""
    sent = (Flow(Chunk(owner, source=0), to=(owner,)) for owner in range(1, ranks))
    received = (
        Flow(Chunk(0, source=source), own=source == 0, arrivals=int(source != 0), keeps=True)
        for source in range(ranks)
    )
    return (Stage(reduces=False, flows=(*sent, *received)),)


ALGORITHM = Algorithm(
    name="direct",
    summary="every rank sends straight to every other rank",
    group=lambda ranks: Group((ranks,)),
    stages={
        "reduce-scatter": _reduce_scatter,
        "all-gather": _all_gather,
        "all-to-all": _all_to_all,
    },
)
