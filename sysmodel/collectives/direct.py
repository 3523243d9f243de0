"""Direct: every rank sends straight to every other rank."""

from .algorithm import Algorithm
from .costs import Costs, reduced
from .group import Group
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _reduce_scatter(group: Group) -> tuple[Stage, ...]:
    """Each rank sends the other ranks' chunks to their owners, the next rank's first."""
    ranks = group.ranks
    others = tuple(Flow(Chunk(owner), to=(owner,)) for owner in range(1, ranks))
    return (Stage(reduces=True, flows=(*others, Flow(Chunk(0), arrivals=ranks - 1, keeps=True))),)


def _all_gather(group: Group) -> tuple[Stage, ...]:
    """Each rank sends its own chunk to all other ranks."""
    ranks = group.ranks
    own = Flow(Chunk(0), to=tuple(range(1, ranks)), keeps=True)
    others = (Flow(Chunk(owner), own=False, arrivals=1, keeps=True) for owner in range(1, ranks))
    return (Stage(reduces=False, flows=(own, *others)),)


def _all_to_all(group: Group) -> tuple[Stage, ...]:
    """Each rank sends a chunk of its own data to every other rank, and keeps one.

    The rank below sends here first, the next one above last.
    """
    ranks = group.ranks
    sent = (Flow(Chunk(owner, source=0), to=(owner,)) for owner in range(1, ranks))
    received = (
        Flow(Chunk(0, source=source), own=source == 0, arrivals=int(source != 0), keeps=True)
        for source in (0, *range(ranks - 1, 0, -1))
    )
    return (Stage(reduces=False, flows=(*sent, *received)),)


def _scattered(group: Group) -> Costs:
    return reduced(group.ranks, messages=group.ranks - 1, steps=1)


def _gathered(group: Group) -> Costs:
    """The own chunk is read once for all peers."""
    others = group.ranks - 1
    return Costs(sent=others, received=others, read=1, written=others, messages=others, steps=1)


def _exchanged(group: Group) -> Costs:
    others = group.ranks - 1
    return Costs(
        sent=others, received=others, read=others, written=others, messages=others, steps=1
    )


ALGORITHM = Algorithm(
    name="direct",
    summary="every rank sends straight to every other rank",
    stages={
        "reduce-scatter": _reduce_scatter,
        "all-gather": _all_gather,
        "all-to-all": _all_to_all,
    },
    costs={"reduce-scatter": _scattered, "all-gather": _gathered, "all-to-all": _exchanged},
)
