"""Cover points of the top's bench."""

import numpy as np

from rtl.interface.encodings import ConfigurationError, ErrorCode, PacketKind
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.channel.queues import D, Q, has, has_space
from sysmodel.engine.golden.dma.engine import MARK
from sysmodel.engine.golden.dma.lane import READS, SEGMENTS
from sysmodel.engine.golden.registers.words import F, put_field
from sysmodel.engine.golden.trigger.trigger import IDLE
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_OUTPUTS,
    G,
    H,
    I,
    K,
)
from tb.cover import cover, expect
from tb.golden import oldest

__all__ = ["ERRORS", "cover_cycle", "waiting_commands"]

_ALSO = (
    ErrorCode.TRACKER_CORRUPT,
    ErrorCode.TRIGGER_CORRUPT,
    ErrorCode.DMA_OUT_OF_REGION,
    ErrorCode.PACKET_MISMATCH,
    ErrorCode.PACKET_FORBIDDEN,
    ErrorCode.PACKET_STALE,
    ErrorCode.STORE_STALE,
    ErrorCode.STORE_MISMATCH,
    ErrorCode.PEER_ABORTED,
    ErrorCode.PORT_DOWN,
)
ERRORS = [
    code.name for code in ErrorCode if 0 < code.value <= ErrorCode.TIMEOUT.value or code in _ALSO
]
_OF_LINKS = (ErrorCode.LINK_DOWN.name, ErrorCode.LINK_RESET.name)
_FULL = ("issue_acks", "candidates", "updates", "writes", "ends")
_FULL_LANE = ("segments", "reads of a lane")

expect(
    *ERRORS,
    *(
        f"refused: {configuration_error.name}"
        for configuration_error in ConfigurationError
        if configuration_error is not ConfigurationError.NONE
    ),
    *(f"{name} full" for name in (*_FULL, *_FULL_LANE)),
    *_OF_LINKS,
    "links fail together",
    "a link's error waits for another one",
    "errors of two cycles in a row",
    "done",
    "irq",
    "error forgotten",
    "launched again",
    "abort while the tracker is busy",
    "abort while a tile is triggered",
    "abort while aborting",
    "abort while the other context sends",
    "credit window full",
    "bounded by the command window",
    "as many commands wait as the command window admits",
    "blocked by the limit of a range",
    "copy waits",
    "egress blocked",
    "no space at the link for one context",
    "DRAM queue blocked",
    "dispatch bounded downstream",
    "read and write of the bus act at once",
    "write response waits",
    "idle again",
    "packet waits for its next peer",
    "END packet arrives",
    "END packet leaves",
    "abort while a tile is marked",
)


def waiting_commands(state: GoldenState, context: int = 0) -> int:
    """Return the ready commands that the context's engine has not accepted."""
    queue = state.contexts[context]["ready"]
    return int(queue["inner"] + queue["read"] + queue["checked"])


def cover_cycle(state: GoldenState, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Record the cover points of a cycle, with its inputs and outputs, before the model is
    stepped.
    """
    config = state.config
    channels = int(config["channels"])
    g, h = inputs[channels * CHANNEL_INPUTS :], outputs[channels * CHANNEL_OUTPUTS :]
    _cover_bus(state, g, h)
    _cover_links(state)
    for number in range(channels):
        _cover_channel(state, number, inputs[number * CHANNEL_INPUTS :])
    for number in range(int(config["contexts"])):
        shown = h[number * CONTEXT_OUTPUTS :]
        _cover_context(
            state,
            number,
            shown,
            answered=h[H.bus_bvalid],
            taken=g[G.bus_bready],
        )
        _cover_flow(state, number)


def _cover_bus(state: GoldenState, g: np.ndarray, h: np.ndarray) -> None:
    bus = state.gpu["bus"]
    acts = bus["aw_full"] and bus["w_full"] and not bus["b_valid"]
    reads = bus["ar_full"] and not bus["r_valid"]
    cover("read and write of the bus act at once", acts and reads)
    cover("write response waits", bus["b_valid"] and bus["aw_full"] and bus["w_full"])


def _cover_links(state: GoldenState) -> None:
    failure = int(state.logs[GLOBAL]["failure"])
    waiting = state.channels["link_errors"]
    if failure:
        code = ErrorCode(failure & 0xFF)
        cover(code.name, code.name in _OF_LINKS)
        cover("a link's error waits for another one", waiting.any() and code.name not in _OF_LINKS)
    cover("links fail together", np.count_nonzero(waiting) > 1)


def _cover_channel(state: GoldenState, number: int, given: np.ndarray) -> None:
    config, channel = state.config, state.channels[number]
    queued = channel["queued"]
    for name in _FULL:
        cover(f"{name} full", not has_space(queued, getattr(Q, name), getattr(D, name)))
    for lane in channel["lanes"][: int(config["contexts"])]:
        cover("segments full", lane["segments_level"] == SEGMENTS)
        cover("reads of a lane full", lane["reads_level"] == READS)
    turns = channel["link_turns"][: int(config["contexts"])]
    cover("packet waits for its next peer", turns["served"].any())
    cover("egress blocked", has(queued, Q.link) and not given[I.link_out_ready])
    spaces = int(given[I.link_space]).bit_count()
    cover("no space at the link for one context", 0 < spaces < config["contexts"])
    arrived = given[I.link_in_valid] and given[I.link_in_kind] == PacketKind.END.value
    cover("END packet arrives", arrived and has_space(queued, Q.inbound, D.inbound))
    sent = has(queued, Q.link) and given[I.link_out_ready]
    packet = oldest(channel, "link") if sent else None
    cover("END packet leaves", sent and packet["packet"]["kind"] == PacketKind.END.value)
    cover("DRAM queue blocked", has(queued, Q.issue) and not given[I.dram_ready])


def _cover_context(
    state: GoldenState, number: int, shown: np.ndarray, *, answered: int, taken: int
) -> None:
    own, others = state.contexts[number], np.delete(state.contexts, number)
    cover("done", shown[K.done])
    cover("irq", shown[K.irq])
    cover("dispatch bounded downstream", shown[K.dispatch_limit] < shown[K.credit_limit_out])
    cover("idle again", shown[K.idle] and own["trigger"]["tiles"])
    log = state.logs[CONTEXT + number]
    if log["failure"]:
        cover(ErrorCode(int(log["failure"]) & 0xFF).name)
        cover("errors of two cycles in a row", log["log_level"])
    if answered and own["control"]["configuration_error"]:
        code = ConfigurationError(int(own["control"]["configuration_error"]))
        cover(f"refused: {code.name}", taken)
    strobes = int(own["control"]["strobes"])
    cover("error forgotten", strobes & put_field(F.CONTROL_clear_error, 1) and log["log_level"])
    cover("launched again", own["control"]["launches"] and own["trigger"]["tiles"])
    if strobes & put_field(F.CONTROL_abort, 1):
        cover("abort while the tracker is busy", state.banks["in_pipeline"].any())
        cover("abort while aborting", own["control"]["aborting"])
        cover("abort while a tile is marked", own["engine"]["mode"] == MARK)
        cover("abort while a tile is triggered", own["trigger"]["state"] > IDLE)
        cover("abort while the other context sends", others["engine"]["mode"].any())


def _cover_flow(state: GoldenState, number: int) -> None:
    own = state.contexts[number]
    launch, ready, window = own["launch"], own["ready"], own["window"]
    if window["window_open"]:
        credits = window["issued"] + launch["command_window"]
        by_credit_window = window["oldest"] + launch["credit_window"]
        by_commands = launch["tracked_first"] + credits
        cover(
            "credit window full",
            window["credit_limit"] == by_credit_window < min(by_commands, launch["tracked_end"]),
        )
        cover(
            "bounded by the command window",
            window["credit_limit"] == by_commands < by_credit_window,
        )
        most = waiting_commands(state, number) == launch["command_window"]
        cover("as many commands wait as the command window admits", most)
    if ready["checked"] and not own["engine"]["mode"]:
        command = state.ready[number][ready["head"]]
        waits = command["dispatch_index"] >= state.limits[number][command["range"]]
        cover("blocked by the limit of a range", waits)
    cover("copy waits", own["copies"]["copies_level"] and own["engine"]["mode"])
