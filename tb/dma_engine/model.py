"""The golden model's engine behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma import step_engine
from sysmodel.engine.golden.queues import D, Q, mark
from tb.golden import golden_state, put, words

__all__ = ["Model", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a cycle did.

    Parameters
    ----------
    popped, copied, issued : bool
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
    def busy(self) -> bool:
        return bool(self.state.gpu["engine"]["state"])

    def _walkers(self, which: str) -> dict[int, list[int]]:
        """The walkers of a set of the engine's, by number."""
        engine = self.state.gpu["engine"]
        mask = int(engine[which])
        return {
            number: words(walker)
            for number, walker in enumerate(engine["walkers"])
            if mask >> number & 1
        }

    def _lanes(self, which: str) -> dict[int, int]:
        """Where the segments of those walkers are to go."""
        walkers = self.state.gpu["engine"]["walkers"]
        return {number: int(walkers[number]["channel"]) for number in self._walkers(which)}

    def step(
        self,
        ready: Mapping[str, int] | None,
        copy: Mapping[str, int] | None,
        rooms: Sequence[bool],
        credit_limit_in: int,
    ) -> Outcome:
        """One cycle."""
        state, gpu = self.state, self.state.gpu
        gpu["ready"]["checked"], gpu["copies_level"] = ready is not None, copy is not None
        gpu["copies_head"] = 0
        if ready:
            put(state.ready[0], ready)
        if copy:
            put(gpu["copies"][0], copy)
        for channel, room in zip(state.channels, rooms, strict=True):
            channel["levels"] = 0 if room else D.segments * mark(Q.segments)
            channel["pushed"] = 0
        before, wanted, kept = (
            self._walkers("walking"),
            self._lanes("walking"),
            self._lanes("waiting"),
        )
        popped, issued = step_engine(self.state, credit_limit_in)
        segments = {
            index: words(channel["segments"][0])
            for index, channel in enumerate(state.channels)
            if channel["pushed"]
        }
        full = self._lanes("waiting")
        stood = [
            number
            for number, walker in self._walkers("walking").items()
            if walker == before.get(number)
        ]
        copied = copy is not None and not gpu["copies_level"]
        return Outcome(
            popped=bool(popped),
            copied=copied,
            issued=bool(issued),
            segments=segments,
            full=sorted(full.values()),
            behind=len(stood) - len(full),
            dropped=len(before) - len(stood) - len(segments),
            stays=any(
                wanted[lower] == lane and lower not in kept
                for number, lane in kept.items()
                for lower in wanted
                if lower < number
            ),
        )
