"""The golden model's engine behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma import step_engine
from sysmodel.engine.golden.state import SEGMENTS
from tb.golden import golden_state, put, words

__all__ = ["Model", "Outcome"]

_WALK = 3  # state of the engine


@dataclass(frozen=True)
class Outcome:
    """What a cycle did.

    Parameters
    ----------
    popped, copied, issued : bool
    error : int
        Of segments that were dropped because they are outside the region; 0 without any.
    atom : int
        Where the first of them begins.
    segments : dict
        What the lanes took, by lane.
    full : list of int
        Lanes that did not take what was offered.
    behind, dropped : int
        Walkers whose lane had another one's offer; whose segment was of no channel served here.
    stays : bool
        An offer of the cycle before went before a lower walker.
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


class Model:
    """The engine, with what is at its ports for one cycle."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)

    @property
    def region(self) -> dict[str, int]:
        """Of the command in hand, from its second cycle on."""
        region = self.own["engine"]["region"]
        return {name: int(region[name]) for name in region.dtype.names}

    @property
    def own(self) -> np.void:
        """The record of the context."""
        return self.state.contexts[0]

    @property
    def busy(self) -> bool:
        return bool(self.own["engine"]["state"])

    @property
    def over(self) -> bool:
        """The command in hand needs no table."""
        return int(self.own["engine"]["state"]) in (0, _WALK)

    def _walkers(self, which: str) -> dict[int, list[int]]:
        """The walkers of a set of the engine's, by number."""
        engine = self.own["engine"]
        mask = int(engine[which])
        return {
            number: words(walker)
            for number, walker in enumerate(engine["walkers"])
            if mask >> number & 1
        }

    def _lanes(self, which: str) -> dict[int, int]:
        """Where the segments of those walkers are to go."""
        walkers = self.own["engine"]["walkers"]
        return {number: int(walkers[number]["channel"]) for number in self._walkers(which)}

    def step(
        self,
        ready: Mapping[str, int] | None,
        copy: Mapping[str, int] | None,
        rooms: Sequence[bool],
        credit_limit_in: int,
        *,
        aborting: bool = False,
    ) -> Outcome:
        """One cycle."""
        state, own = self.state, self.own
        own["ready"]["checked"], own["copies_level"] = ready is not None, copy is not None
        own["copies_head"], own["aborted"] = 0, aborting
        if ready:
            put(state.ready[0, 0], ready)
        if copy:
            own["copies"][0]["start"] = copy["start"]
            put(own["copies"][0]["command"], copy["command"])
            put(own["copies"][0]["region"], copy["region"])
        lanes = state.channels["lanes"][:, 0]
        for lane, room in zip(lanes, rooms, strict=True):
            lane["segments_level"] = 0 if room else SEGMENTS
            lane["segments_pushed"] = lane["segments_head"] = 0
        walks = own["engine"]["state"] == _WALK
        before, wanted, kept = (
            self._walkers("walking"),
            self._lanes("walking"),
            self._lanes("waiting"),
        )
        popped, issued, error = step_engine(state, 0, credit_limit_in)
        segments = {
            index: words(lane["segments"][0])
            for index, lane in enumerate(lanes)
            if lane["segments_pushed"]
        }
        # An abort leaves what a walk remembered.
        full = self._lanes("waiting") if walks and not aborting else {}
        stood = [
            number
            for number, walker in self._walkers("walking").items()
            if walker == before.get(number)
        ]
        copied = copy is not None and not own["copies_level"]
        return Outcome(
            popped=bool(popped),
            copied=copied,
            issued=bool(issued),
            error=int(error),
            atom=int(own["engine"]["outside_atom"]),
            segments=segments,
            full=sorted(full.values()),
            behind=len(stood) - len(full),
            dropped=sum(not 0 <= lane < len(rooms) for lane in wanted.values()),
            stays=any(
                wanted[lower] == lane and lower not in kept
                for number, lane in kept.items()
                for lower in wanted
                if lower < number
            ),
        )
