"""The golden model's channel behind the ports of the RTL's."""

from collections.abc import Collection

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel import step_channel, write_channel
from sysmodel.engine.golden.queues import D, Q, back, front, has, mark, room
from sysmodel.engine.golden.reduce import step_nmc
from sysmodel.engine.ports import I, O, input_words, output_words
from tb.arbiter.model import TOLD
from tb.golden import golden_state, put, words

__all__ = ["Model"]

_U64 = (1 << 64) - 1
# The queues of what the tracker takes.
_TO_TRACKER = {"tile_issue_acks": "issue_acks", "end_of_tile_markers": "ends"}


class Model:
    """One channel, with what the blocks around it do to its queues.

    Attributes
    ----------
    state : GoldenState
    failure : int
        The error report of the last cycle, or 0.
    """

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.failure = 0
        self._inputs = np.zeros(input_words(p), np.int64)
        self._outputs = np.zeros(output_words(p), np.int64)
        write_channel(self.state, 0, self._outputs)

    def has(self, queue: int) -> bool:
        return bool(has(self.state.channels[0]["levels"], queue))

    def full(self, queue: int, depth: int) -> bool:
        return not room(self.state.channels[0]["levels"], queue, depth)

    def ready(self, stream: str) -> bool:
        """Whether an input is taken."""
        if stream == "segments":
            return not self.full(Q.segments, D.segments)
        return bool(self._outputs[getattr(O, f"{stream}_ready")])

    def offers(self, stream: str, fields: tuple[str, ...]) -> list[int] | None:
        """The payload that an output offers."""
        if stream in _TO_TRACKER:
            queue, channel = _TO_TRACKER[stream], self.state.channels[0]
            if not self.has(getattr(Q, queue)):
                return None
            return words(channel[queue][front(channel["heads"], getattr(Q, queue))])
        if not self._outputs[getattr(O, f"{stream}_valid")]:
            return None
        offered = [self._outputs[getattr(O, f"{stream}_{name}")] for name in fields]
        return [int(word) & _U64 for word in offered]

    @property
    def stored(self) -> int:
        return int(self._outputs[O.stored])

    @property
    def held_up(self) -> bool:
        """The DRAM queue is full, and nothing waits for the link."""
        full = self.state.channels[0]["occupancy"] >= self.state.config["arbiter"]["cuts"][2]
        return bool(full) and not self.has(Q.link)

    def step(
        self,
        offered: dict[str, dict[str, int]],
        taken: set[str],
        *,
        occupancy: int,
        start: bool,
        told: Collection[str] = (),
    ) -> bool:
        """One cycle; ``taken`` are the outputs that are ready, ``told`` those of the criticality
        unit that are on. Gives the ``idle`` of the cycle."""
        state, inputs = self.state, self._inputs
        criticality = state.gpu["criticality"]
        for name in TOLD:
            criticality[name] = name in told
        inputs[:] = 0
        unsigned = inputs.view("u8")
        for stream, values in offered.items():
            if stream == "segments":
                self._push_segment(values)
                continue
            inputs[getattr(I, f"{stream}_valid")] = 1
            for name, value in values.items():
                unsigned[getattr(I, f"{stream}_{name}")] = value
        inputs[I.dram_ready], inputs[I.link_out_ready] = "dram" in taken, "link_out" in taken
        inputs[I.occupancy] = occupancy
        for stream, queue in _TO_TRACKER.items():
            if stream in taken and self.has(getattr(Q, queue)):
                state.channels[0]["popped"] += mark(getattr(Q, queue))
        failure, busy, _ = step_channel(state, 0, inputs, start)
        self.failure = int(failure)
        write_channel(state, 0, self._outputs)
        step_nmc(state, 0, inputs, self._outputs)
        state.gpu["cycle"] += 1
        return not busy

    def _push_segment(self, values: dict[str, int]) -> None:
        channel = self.state.channels[0]
        if not self.full(Q.segments, D.segments):
            put(channel["segments"][back(channel["levels"], channel["heads"], Q.segments)], values)
            channel["pushed"] += mark(Q.segments)
