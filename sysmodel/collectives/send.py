"""Send: every rank sends to the next one, as the stages of pipeline parallelism do."""

from .algorithm import Algorithm
from .costs import Costs
from .group import Group
from .schedule import Chunk, Flow, Stage

__all__ = ["ALGORITHM"]


def _send(group: Group) -> tuple[Stage, ...]:
    """The last rank sends to the first one, as in an interleaved pipeline."""
    sent = Flow(Chunk(1, source=0), to=(1,))
    received = Flow(Chunk(0, source=group.ranks - 1), own=False, arrivals=1, keeps=True)
    return (Stage(reduces=False, flows=(sent, received)),)


def _costs(group: Group) -> Costs:
    return Costs(sent=1, received=1, read=1, written=1, messages=1, steps=1)


ALGORITHM = Algorithm(
    name="send",
    summary="every rank sends to the next one, as in pipeline parallelism",
    stages={"send": _send},
    costs={"send": _costs},
)
