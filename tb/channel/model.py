"""Golden channel behind the ports of the RTL channel."""

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.channel import step_channel
from sysmodel.engine.golden.channel.outputs import write_channel
from sysmodel.engine.golden.channel.outstanding import has_outstanding
from sysmodel.engine.golden.channel.queues import Q
from sysmodel.engine.golden.dma.lane import has_lane_space
from sysmodel.engine.golden.dma.walker import take_segment
from sysmodel.engine.golden.nmc.unit import step_nmc
from sysmodel.engine.golden.payloads.layouts import SEGMENT
from sysmodel.engine.golden.tracker.front import take_event
from sysmodel.engine.golden.trigger.congestion import is_held_up
from sysmodel.engine.ports import I, O, input_words, output_words
from tb.golden import bits, complement, get_ports, golden_state, oldest, payload, set_ports, words

__all__ = ["Model"]

_TO_TRACKER = {"tile_issue_acks": "issue_acks", "end_of_tile_markers": "ends"}
"""Queue of each output to the tracker."""


class Model:
    """One channel, with its outputs in the columns of :mod:`sysmodel.engine.ports`. ``errors`` are
    those of the last cycle with their places: of a store, of a packet, of an acknowledgement;
    ``ended``: that packet is an end-of-tile marker."""

    def __init__(self, p: T3Parameters):
        self.state, self.errors = golden_state(p), [(0, 0)] * 3
        self.ended = False
        self.own, self._inputs = self.state.channels[0], np.zeros(input_words(p), np.int64)
        self.outputs = np.zeros(output_words(p), np.int64)
        write_channel(self.state.config, self.own, self.outputs)

    held_up = property(lambda self: is_held_up(self.state.config, self.own))

    @property
    def stores_drained(self) -> int:
        """A bit for each context without outstanding stores and updates."""
        contexts, changed = range(len(self.state.contexts)), self.state.gpu["changing"]
        return bits(not has_outstanding(self.own, one, changed) for one in contexts)

    def ready(self, stream: str) -> bool:
        """Return whether an input is taken; ``segments__0`` is that of context 0."""
        if stream.startswith("segments"):
            return has_lane_space(self.own["lanes"][int(stream[-1])])
        return bool(self.outputs[getattr(O, f"{stream}_ready")])

    def offers(self, stream: str, fields: tuple[str, ...]) -> list[int] | None:
        """Return the payload that an output offers."""
        if stream in _TO_TRACKER:
            event = oldest(self.own, _TO_TRACKER[stream])
            return None if event is None else words(event)
        ports = [f"{stream}_{name}" for name in ("valid", *fields)]
        valid, *offered = get_ports(self.outputs, O, ports)
        return offered if valid else None

    def step(
        self, offered: dict[str, dict[str, int]], taken: set[str], start: bool, **ports: int
    ) -> tuple[int, int]:
        """Advance by one cycle; ``taken`` are the outputs that are ready, ``ports`` the values of
        other inputs. Return ``idle`` and ``drained`` of the cycle, with a bit for each context."""
        state, own, inputs, outputs = self.state, self.own, self._inputs, self.outputs
        ports |= {"dram_ready": "dram" in taken, "link_out_ready": "link_out" in taken}
        for stream, values in offered.items():
            if not stream.startswith("segments"):
                ports |= {f"{stream}_{name}": value for name, value in values.items()}
                ports[f"{stream}_valid"] = 1
            elif self.ready(stream):
                segment = payload(SEGMENT, values)
                place = (segment[name] for name in ("atom", "length", "offset", "wavefront"))
                take_segment(own, int(stream[-1]), segment, *place)
        set_ports(inputs, I, ports)
        for stream, queue in _TO_TRACKER.items():
            if stream in taken and (event := oldest(own, queue)) is not None:
                count = event["count"] if queue == "issue_acks" else 1
                take_event(own, getattr(Q, queue), event["owner"], count)
        done = step_channel(state, 0, inputs, start)
        errors = done.store_failure, done.store_place, done.packet_failure, done.packet_place
        self.errors = [errors[:2], errors[2:], (done.ack_failure, 0)]
        self.ended = done.ended
        write_channel(state.config, own, outputs)
        step_nmc(own["nmc"], 0, state.gpu["cycle"], state.contexts, inputs, outputs)
        state.gpu["cycle"] += 1
        return complement(state, own["busy"]), complement(state, own["undrained"])
