"""Golden channel behind the ports of the RTL's."""

from collections.abc import Collection

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.channel import step_channel
from sysmodel.engine.golden.channel.outputs import write_channel
from sysmodel.engine.golden.channel.outstanding import (
    has_outstanding,
    note_segment,
    note_tracked,
)
from sysmodel.engine.golden.channel.queues import Q, front, has, pop_at_front
from sysmodel.engine.golden.dma.lane import has_lane_space, push_segment
from sysmodel.engine.golden.nmc.unit import step_nmc
from sysmodel.engine.golden.payloads import SEGMENT
from sysmodel.engine.ports import I, O, input_words, output_words
from tb.golden import golden_state, put, set_arbiter_inputs, words

__all__ = ["Model"]

_TO_TRACKER = {"tile_issue_acks": "issue_acks", "end_of_tile_markers": "ends"}
"""Queue of each output to the tracker."""


class Model:
    """One channel, with its inputs from the tracker's front and the DMA engines.

    Attributes
    ----------
    state : GoldenState
    own : record
        The channel's part of the state.
    outputs : array of int64
        Outputs of the channel, in the columns of :mod:`sysmodel.engine.ports`.
    errors : list of tuple
        Errors of the last cycle with their places: of a store, of a packet, of an acknowledgement.
    """

    def __init__(self, p: T3Parameters):
        self.state, self.errors = golden_state(p), [(0, 0)] * 3
        self.own = self.state.channels[0]
        self._contexts = range(p.contexts)
        self._inputs = np.zeros(input_words(p), np.int64)
        self.outputs = np.zeros(output_words(p), np.int64)
        write_channel(self.state.config, self.own, self.outputs)

    def has(self, queue: int) -> bool:
        return bool(has(self.own["queued"], queue))

    def ready(self, stream: str) -> bool:
        """Return whether an input is taken; ``segments__0`` is that of context 0."""
        if stream.startswith("segments"):
            return bool(has_lane_space(self.own["lanes"][int(stream[-1])]))
        return bool(self.outputs[getattr(O, f"{stream}_ready")])

    def _oldest(self, stream: str) -> np.void | None:
        queue = _TO_TRACKER[stream]
        oldest = self.own[queue][front(self.own["heads"], getattr(Q, queue))]
        return oldest if self.has(getattr(Q, queue)) else None

    def offers(self, stream: str, fields: tuple[str, ...]) -> list[int] | None:
        """Return the payload that an output offers."""
        if stream in _TO_TRACKER:
            event = self._oldest(stream)
            return None if event is None else words(event)
        if not self.outputs[getattr(O, f"{stream}_valid")]:
            return None
        columns = [getattr(O, f"{stream}_{name}") for name in fields]
        return self.outputs.view(np.uint64)[columns].tolist()

    @property
    def stores_drained(self) -> int:
        """A bit for each context without outstanding stores and updates."""
        return sum((not has_outstanding(self.own, one)) << one for one in self._contexts)

    @property
    def held_up(self) -> bool:
        """The DRAM queue is full, and no packet waits for the link."""
        full = self.own["occupancy"] >= self.state.config["arbiter"]["cuts"][2]
        return bool(full) and not self.has(Q.link)

    def step(
        self,
        offered: dict[str, dict[str, int]],
        taken: set[str],
        *,
        occupancy: int,
        start: bool,
        signals: Collection[str] = (),
        link_space: int = -1,
    ) -> tuple[int, int]:
        """Move on by one cycle; ``taken`` are the outputs that are ready, ``signals`` those of the
        criticality units that are on. Return ``idle`` and ``drained`` of the cycle, with a bit for
        each context."""
        state, own, inputs = self.state, self.own, self._inputs
        set_arbiter_inputs(state, signals)
        inputs[:] = 0
        for stream, values in offered.items():
            if stream.startswith("segments"):
                self._push(int(stream[-1]), values)
                continue
            inputs[getattr(I, f"{stream}_valid")] = 1
            for name, value in values.items():
                inputs.view(np.uint64)[getattr(I, f"{stream}_{name}")] = value
        inputs[I.dram_ready], inputs[I.link_out_ready] = "dram" in taken, "link_out" in taken
        inputs[I.occupancy], inputs[I.link_space] = occupancy, link_space
        for stream, queue in _TO_TRACKER.items():
            if stream in taken and (event := self._oldest(stream)) is not None:
                pop_at_front(own, getattr(Q, queue))
                count = event["count"] if queue == "issue_acks" else 1
                note_tracked(own, int(event["owner"]), count)
        done = step_channel(state, 0, inputs, start)
        errors = done.store_failure, done.store_place, done.packet_failure, done.packet_place
        self.errors = [errors[:2], errors[2:], (done.ack_failure, 0)]
        write_channel(state.config, own, self.outputs)
        step_nmc(own["nmc"], 0, state.gpu["cycle"], state.contexts, inputs, self.outputs)
        state.gpu["cycle"] += 1
        every = (1 << len(self._contexts)) - 1
        return every & ~int(own["busy"]), every & ~int(own["undrained"])

    def _push(self, context: int, values: dict[str, int]) -> None:
        """Push a segment from the context's DMA engine."""
        lane, segment = self.own["lanes"][context], np.zeros(1, SEGMENT)[0]
        if has_lane_space(lane):
            put(segment, values)
            place = (int(segment[name]) for name in ("atom", "length", "offset", "wavefront"))
            push_segment(lane, segment, *place)
            note_segment(self.own, context)
