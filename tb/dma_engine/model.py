"""The golden model's engine behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma import step_engine
from sysmodel.engine.golden.queues import D, Q, front, mark
from sysmodel.engine.golden.state import CHANNEL_WORDS, COPY, READY, SEGMENT, C, K, U
from tb.golden import golden_state

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
        self._channels = p.channels

    @property
    def busy(self) -> bool:
        return bool(self.state.gpu[U.engine])

    def share(self) -> tuple[int, int]:
        """Rows left, and atoms of a row, of the command that is walked."""
        return int(self.state.gpu[U.outer_extent]), int(self.state.gpu[U.inner_extent])

    def step(
        self,
        ready: Mapping[str, int] | None,
        copy: Mapping[str, int] | None,
        rooms: Sequence[bool],
        credit_limit_in: int,
    ) -> Outcome:
        """One cycle."""
        config, gpu, channels, memory, _ = self.state
        gpu[U.ready_checked], gpu[U.copies_level] = ready is not None, copy is not None
        gpu[U.copies_head] = 0
        for payload, record, at in ((ready, READY, C.at_ready), (copy, COPY, C.at_copies)):
            if payload:
                words = [payload[name] for name in record._fields]
                memory[config[at] : config[at] + len(record)] = words
        for index, room in enumerate(rooms):
            channels[index * CHANNEL_WORDS + K.levels] = (
                0 if room else D.segments * mark(Q.segments)
            )
            channels[index * CHANNEL_WORDS + K.pushed] = 0
        before = gpu.copy()
        popped, issued = step_engine(self.state, credit_limit_in)
        segments = {}
        for index in range(self._channels):
            k = index * CHANNEL_WORDS
            if channels[k + K.pushed]:
                at = front(k + K.body, 0, Q.segments)
                segments[index] = channels[at : at + len(SEGMENT)].tolist()
        blocked = bool(before[U.engine]) and bool((gpu == before).all())
        copied = copy is not None and not gpu[U.copies_level]
        return Outcome(bool(popped), copied, bool(issued), blocked, segments)
