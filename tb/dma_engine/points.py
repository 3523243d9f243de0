"""Cover points of the DMA engine's bench: offers of the walkers in the golden engine."""

from dataclasses import dataclass

import numpy as np

from sysmodel.engine.golden.dma.engine import MARK, WALK, EngineOutputs
from tb.golden import words

__all__ = ["StepResult", "Walk", "step_result"]

_OFFER = 3  # step of MARK


@dataclass(frozen=True)
class StepResult:
    """Outputs of a cycle.

    Parameters
    ----------
    popped, copied, issued : bool
    error, atom : int
        Error of the segments dropped outside the region, or 0; atom of the first dropped segment.
    segments : dict
        Segments that lanes took, by lane.
    full : list of int
        Lanes that did not take a segment.
    behind, dropped : int
        Walkers whose lane had the offer of another walker; walkers whose segment is for a channel
        that is not served here.
    stays : bool
        A repeated offer of the last cycle had priority over a lower walker.
    waits : bool
        A marker was offered, and its lane did not take it.
    """

    popped: bool
    copied: bool
    issued: bool
    error: int
    atom: int
    segments: dict[int, list[int]]
    full: list[int]
    behind: int
    dropped: int
    stays: bool
    waits: bool


class Walk:
    """Walkers of an engine at the start of a cycle, by number, and those with an offer; lane of the
    marker that is offered, or None.
    """

    def __init__(self, engine: np.void, lanes: int):
        walk = engine["walk"]
        offers = engine["mode"] == MARK and engine["mark_phase"] == _OFFER
        spread = int(engine["template"]["slot"] + engine["mark_wave"])
        self.marker = spread % (1 << lanes.bit_length() - 1) if offers else None
        self.walks = engine["mode"] == WALK
        walking, offering = int(walk["walking"]), int(walk["offering"])
        self.walkers = {n: words(w) for n, w in enumerate(walk["walkers"]) if walking >> n & 1}
        channels = walk["walkers"]["walker_channel"].tolist()
        self.lanes = {number: channels[number] for number in self.walkers}
        self.offers = {
            number: lane for number, lane in self.lanes.items() if offering >> number & 1
        }

    def stays(self) -> bool:
        """Return whether an offer has priority over a lower walker with the same lane."""
        return any(
            self.lanes[lower] == lane and lower not in self.offers
            for number, lane in self.offers.items()
            for lower in self.lanes
            if lower < number
        )


def step_result(
    before: Walk, engine: np.void, done: EngineOutputs, copied: bool, lanes: np.ndarray, idle: bool
) -> StepResult:
    """Return the result of a cycle, given the engine ``before`` it; ``idle`` means that the offers
    do not count.
    """
    after = Walk(engine, len(lanes))
    full = {} if idle or not before.walks else after.offers
    stood = sum(before.walkers.get(n) == walker for n, walker in after.walkers.items())
    taken = {n: lane for n, lane in enumerate(lanes) if lane["segments_pushed"]}
    marker = () if idle or before.marker in (None, *taken) else (before.marker,)
    return StepResult(
        popped=done.popped,
        copied=copied,
        issued=done.issued,
        error=int(done.failure),
        atom=int(engine["walk"]["outside_atom"]),
        segments={number: words(lane["segments"][0]) for number, lane in taken.items()},
        full=sorted([*full.values(), *marker]),
        behind=stood - len(full),
        dropped=sum(not 0 <= lane < len(lanes) for lane in before.lanes.values()),
        stays=before.stays(),
        waits=bool(marker),
    )
