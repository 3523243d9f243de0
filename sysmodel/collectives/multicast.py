"""Multicast: every rank sends its chunk once, and the network copies it to all others."""

from dataclasses import replace

from .algorithm import Algorithm
from .costs import Costs
from .direct import ALGORITHM as DIRECT
from .group import Group
from .schedule import Stage

__all__ = ["ALGORITHM"]


def _all_gather(group: Group) -> tuple[Stage, ...]:
    """Flows of the direct all-gather, with one packet for all peers."""
    (direct,) = DIRECT.stages["all-gather"](group)
    flows = tuple(replace(flow, multicast=len(flow.to) > 1) for flow in direct.flows)
    return (Stage(reduces=False, flows=flows),)


def _gathered(group: Group) -> Costs:
    others = group.ranks - 1
    return Costs(sent=1, received=others, read=1, written=others, messages=1, steps=1)


ALGORITHM = Algorithm(
    name="multicast",
    summary="every rank sends its chunk once; a switch copies it to all others",
    stages={"all-gather": _all_gather},
    costs={"all-gather": _gathered},
)
