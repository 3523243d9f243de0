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
    """What a cycle did: segments by channel; ``blocked`` if the walk waits for a lane."""

    popped: bool
    copied: bool
    issued: bool
    blocked: bool
    segments: dict[int, list[int]]


class Model:
    """The engine, with what is at its ports for one cycle."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)

    @property
    def busy(self) -> bool:
        return bool(self.state.gpu["engine"]["state"])

    def share(self) -> tuple[int, int]:
        """Rows left, and atoms of a row, of the command that is walked."""
        engine = self.state.gpu["engine"]
        return int(engine["outer_extent"]), int(engine["inner_extent"])

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
        before, busy = words(gpu), self.busy
        popped, issued = step_engine(self.state, credit_limit_in)
        segments = {
            index: words(channel["segments"][0])
            for index, channel in enumerate(state.channels)
            if channel["pushed"]
        }
        blocked = busy and words(gpu) == before
        copied = copy is not None and not gpu["copies_level"]
        return Outcome(bool(popped), copied, bool(issued), blocked, segments)
