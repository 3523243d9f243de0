"""The golden model's channel behind the ports of the RTL's."""

from collections.abc import Collection

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel import step_channel
from sysmodel.engine.golden.channel_outputs import write_channel
from sysmodel.engine.golden.queues import Q, front, has, mark, room
from sysmodel.engine.golden.reduce import step_nmc
from sysmodel.engine.golden.state import SEGMENTS
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
    failures : list of int
        The error reports of the last cycle: of the store, of the packet; 0 for none.
    places : list of int
        Where those were.
    """

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.failures, self.places = [0, 0], [0, 0]
        self._inputs = np.zeros(input_words(p), np.int64)
        self._outputs = np.zeros(output_words(p), np.int64)
        write_channel(self.state, 0, self._outputs)

    def has(self, queue: int) -> bool:
        return bool(has(self.state.channels[0]["levels"], queue))

    def full(self, queue: int, depth: int) -> bool:
        return not room(self.state.channels[0]["levels"], queue, depth)

    def ready(self, stream: str) -> bool:
        """Whether an input is taken."""
        if stream.startswith("segments"):
            return bool(self._lane(stream)["segments_level"] < SEGMENTS)
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
    def stores_room(self) -> int:
        """A bit for each context."""
        return int(self._outputs[O.stores_room])

    @property
    def over(self) -> int:
        """A bit for each context without stores and updates under way."""
        lanes = self.state.channels[0]["lanes"][: int(self.state.config["contexts"])]
        return sum(
            (not (lane["under_way"] or lane["begun"])) << number
            for number, lane in enumerate(lanes)
        )

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
        link_room: int = -1,
    ) -> tuple[int, int]:
        """One cycle; ``taken`` are the outputs that are ready, ``told`` those of the criticality
        units that are on. Gives ``idle`` and ``gone`` of the cycle, a bit for each context."""
        state, inputs = self.state, self._inputs
        for name in TOLD:
            state.gpu[name] = name in told
        inputs[:] = 0
        unsigned = inputs.view("u8")
        for stream, values in offered.items():
            if stream.startswith("segments"):
                self._push_segment(stream, values)
                continue
            inputs[getattr(I, f"{stream}_valid")] = 1
            for name, value in values.items():
                unsigned[getattr(I, f"{stream}_{name}")] = value
        inputs[I.dram_ready], inputs[I.link_out_ready] = "dram" in taken, "link_out" in taken
        inputs[I.occupancy], inputs[I.link_room] = occupancy, link_room
        for stream, queue in _TO_TRACKER.items():
            if stream in taken and self.has(getattr(Q, queue)):
                channel = state.channels[0]
                channel["popped"] += mark(getattr(Q, queue))
                event = channel[queue][front(channel["heads"], getattr(Q, queue))]
                updates = event["count"] if stream == "tile_issue_acks" else 1
                channel["lanes"][event["owner"]]["tracked"] += updates
                self._wake(event["owner"])
        of_store, of_packet, busy, stays, _ = step_channel(state, 0, inputs, start)
        self.failures = [int(of_store), int(of_packet)]
        self.places = state.channels[0]["places"].tolist()
        write_channel(state, 0, self._outputs)
        step_nmc(state, 0, inputs, self._outputs)
        state.gpu["cycle"] += 1
        idle, gone = (
            ~int(bits) & (1 << int(state.config["contexts"])) - 1 for bits in (busy, stays)
        )
        return idle, gone

    def _lane(self, stream: str) -> np.void:
        """Of a stream of segments: ``segments__0`` is that of context 0."""
        return self.state.channels[0]["lanes"][int(stream.rpartition("__")[2])]

    def _push_segment(self, stream: str, values: dict[str, int]) -> None:
        lane = self._lane(stream)
        if lane["segments_level"] < SEGMENTS:
            behind = (lane["segments_head"] + lane["segments_level"]) % SEGMENTS
            put(lane["segments"][behind], values)
            lane["segments_pushed"] = 1
            self._wake(int(stream.rpartition("__")[2]))

    def _wake(self, context: int) -> None:
        """Something of a context comes to the channel."""
        self.state.channels[0]["live"] |= 1 << int(context)
