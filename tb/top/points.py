"""Cover points of the top's bench."""

import numpy as np

from rtl.interface.encodings import ConfigurationError, ErrorCode
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.queues import D, Q, has, room
from sysmodel.engine.golden.registers import REJECT, put_field
from sysmodel.engine.golden.state import F
from sysmodel.engine.golden.trigger import IDLE
from sysmodel.engine.ports import CHANNEL_INPUTS, GPU_INPUTS, GPU_OUTPUTS, G, H, I, J, K
from tb.cover import cover, expect

__all__ = ["ERRORS", "cover_cycle", "waiting_commands"]

_CODES = (*range(1, ErrorCode.TIMEOUT.value + 1), ErrorCode.PACKET_MISMATCH.value)
ERRORS = [code.name for code in ErrorCode if code.value in _CODES]
_FULL = ("sends", "segments", "issue_acks", "candidates", "updates", "writes", "remote", "ends")

expect(
    *ERRORS,
    *(
        f"refused: {configuration_error.name}"
        for configuration_error in ConfigurationError
        if configuration_error.value
    ),
    *(f"{name} full" for name in _FULL),
    "errors of two cycles in a row",
    "done",
    "irq",
    "error forgotten",
    "launched again",
    "clear while the tracker is busy",
    "clear while a tile is triggered",
    "clear while clearing",
    "credit window full",
    "bounded by the command window",
    "as many commands wait as the command window admits",
    "blocked by credit_limit_in",
    "copy waits",
    "egress blocked",
    "DRAM queue blocked",
    "dispatch bounded downstream",
    "read and write of the bus act at once",
    "write response waits",
    "idle again",
)


def waiting_commands(state: GoldenState) -> int:
    """Ready commands that the engine has not taken."""
    queue = state.gpu["ready"]
    return int(queue["inner"] + queue["read"] + queue["checked"])


def cover_cycle(state: GoldenState, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Look at a cycle, with its inputs and outputs, before the model makes its step."""
    config, gpu = state.config, state.gpu
    g, h = inputs[-GPU_INPUTS:], outputs[-GPU_OUTPUTS:]
    _cover_registers(state, g, h)
    _cover_flow(state, int(g[J.credit_limit_in]))
    for number in range(config["channels"]):
        levels = state.channels[number]["levels"]
        for name in _FULL:
            cover(f"{name} full", not room(levels, getattr(Q, name), getattr(D, name)))
        start = number * CHANNEL_INPUTS
        cover("egress blocked", has(levels, Q.link) and not inputs[start + I.link_out_ready])
        cover("DRAM queue blocked", has(levels, Q.issue) and not inputs[start + I.dram_ready])
    cover("done", h[K.done])
    cover("irq", h[K.irq])
    cover("dispatch bounded downstream", h[K.dispatch_limit] < h[K.credit_limit_out])
    cover("idle again", h[K.idle] and gpu["tiles"])


def _cover_registers(state: GoldenState, g: np.ndarray, h: np.ndarray) -> None:
    gpu, bus = state.gpu, state.gpu["bus"]
    if gpu["failure"]:
        cover(ErrorCode(int(gpu["failure"]) & 0xFF).name)
        cover("errors of two cycles in a row", gpu["error"])
    if h[H.bus_bvalid] and h[H.bus_bresp] == REJECT and gpu["configuration_error"]:
        cover(
            f"refused: {ConfigurationError(int(gpu['configuration_error'])).name}", g[G.bus_bready]
        )
    acts = bus["aw_full"] and bus["w_full"] and not bus["b_valid"]
    reads = bus["ar_full"] and not bus["r_valid"]
    cover("read and write of the bus act at once", acts and reads)
    cover("write response waits", bus["b_valid"] and bus["aw_full"] and bus["w_full"])
    strobes = int(gpu["strobes"])
    cover("error forgotten", strobes & put_field(F.CONTROL_clear_error, 1) and gpu["error"])
    cover("launched again", strobes & put_field(F.CONTROL_launch, 1) and gpu["launched"])
    if strobes & put_field(F.CONTROL_clear, 1):
        cover("clear while the tracker is busy", state.banks["flying"].any())
        cover("clear while clearing", state.banks["clearing"].any())
        cover("clear while a tile is triggered", gpu["trigger"]["state"] > IDLE)


def _cover_flow(state: GoldenState, credit_limit_in: int) -> None:
    launch, gpu = state.config["launch"], state.gpu
    if gpu["launched"]:
        credits = gpu["issued"] + launch["command_window"]
        by_credit_window = gpu["oldest"] + launch["credit_window"]
        by_commands = launch["tracked_first"] + credits
        cover(
            "credit window full",
            gpu["credit_limit"] == by_credit_window < min(by_commands, launch["tracked_end"]),
        )
        cover(
            "bounded by the command window", gpu["credit_limit"] == by_commands < by_credit_window
        )
        most = waiting_commands(state) == launch["command_window"]
        cover("as many commands wait as the command window admits", most)
    if gpu["ready"]["checked"] and not gpu["engine"]["state"]:
        dispatch_index = state.ready[gpu["ready"]["head"]]["dispatch_index"]
        waits = dispatch_index + launch["shift"] >= credit_limit_in
        cover("blocked by credit_limit_in", waits)
    cover("copy waits", gpu["copies_level"] and gpu["engine"]["state"])
