"""Cover points of the top's bench."""

import numpy as np

from rtl.interface.encodings import ConfigurationError, ErrorCode
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.protected_queue import oldest
from sysmodel.engine.golden.queues import D, Q, has, room
from sysmodel.engine.golden.registers import REJECT, put_field
from sysmodel.engine.golden.state import BANK_WORDS, CHANNEL_WORDS, READY, B, C, F, K, U
from sysmodel.engine.golden.trigger import IDLE
from sysmodel.engine.ports import CHANNEL_INPUTS, GPU_INPUTS, GPU_OUTPUTS, G, H, I
from tb.cover import cover, expect

__all__ = ["ERRORS", "cover_cycle", "waiting_commands"]

ERRORS = [code.name for code in ErrorCode if code.value in range(1, ErrorCode.TIMEOUT.value + 1)]
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
    return int(state.gpu[[U.ready_inner, U.ready_read, U.ready_checked]].sum())


def cover_cycle(state: GoldenState, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Look at a cycle, with its inputs and outputs, before the model makes its step."""
    config, gpu = state.config, state.gpu
    g, h = inputs[-GPU_INPUTS:], outputs[-GPU_OUTPUTS:]
    _cover_registers(state, g, h)
    _cover_flow(state, int(g[G.credit_limit_in]))
    for number in range(config[C.channels]):
        levels = state.channels[number * CHANNEL_WORDS + K.levels]
        for name in _FULL:
            cover(f"{name} full", not room(levels, getattr(Q, name), getattr(D, name)))
        start = number * CHANNEL_INPUTS
        cover("egress blocked", has(levels, Q.link) and not inputs[start + I.link_out_ready])
        cover("DRAM queue blocked", has(levels, Q.issue) and not inputs[start + I.dram_ready])
    cover("done", h[H.done])
    cover("irq", h[H.irq])
    cover("dispatch bounded downstream", h[H.dispatch_limit] < h[H.credit_limit_out])
    cover("idle again", h[H.idle] and gpu[U.tiles])


def _cover_registers(state: GoldenState, g: np.ndarray, h: np.ndarray) -> None:
    gpu, memory = state.gpu, state.memory
    if gpu[U.failure]:
        cover(ErrorCode(int(gpu[U.failure]) & 0xFF).name)
        cover("errors of two cycles in a row", gpu[U.error])
    if h[H.bus_bvalid] and h[H.bus_bresp] == REJECT and gpu[U.configuration_error]:
        cover(
            f"refused: {ConfigurationError(int(gpu[U.configuration_error])).name}", g[G.bus_bready]
        )
    acts = gpu[U.aw_full] and gpu[U.w_full] and not gpu[U.b_valid]
    reads = gpu[U.ar_full] and not gpu[U.r_valid]
    cover("read and write of the bus act at once", acts and reads)
    cover("write response waits", gpu[U.b_valid] and gpu[U.aw_full] and gpu[U.w_full])
    strobes = int(gpu[U.strobes])
    cover("error forgotten", strobes & put_field(F.CONTROL_clear_error, 1) and gpu[U.error])
    cover("launched again", strobes & put_field(F.CONTROL_launch, 1) and gpu[U.launched])
    if strobes & put_field(F.CONTROL_clear, 1):
        at = state.config[C.at_banks] + np.arange(state.config[C.banks]) * BANK_WORDS

        cover("clear while the tracker is busy", memory[at + B.flying].any())
        cover("clear while clearing", memory[at + B.clearing].any())
        cover("clear while a tile is triggered", gpu[U.trigger_state] > IDLE)


def _cover_flow(state: GoldenState, credit_limit_in: int) -> None:
    config, gpu, memory = state.config, state.gpu, state.memory
    if gpu[U.launched]:
        credits = gpu[U.issued] + config[C.command_window]
        by_credit_window = gpu[U.oldest] + config[C.credit_window]
        by_commands = config[C.tracked_first] + credits
        cover(
            "credit window full",
            gpu[U.credit_limit] == by_credit_window < min(by_commands, config[C.tracked_end]),
        )
        cover(
            "bounded by the command window", gpu[U.credit_limit] == by_commands < by_credit_window
        )
        most = waiting_commands(state) == config[C.command_window]
        cover("as many commands wait as the command window admits", most)
    if gpu[U.ready_checked] and not gpu[U.engine]:
        at = config[C.at_ready] + oldest(gpu, U.ready_head) * len(READY)
        waits = memory[at + READY.dispatch_index] + config[C.shift] >= credit_limit_in
        cover("blocked by credit_limit_in", waits)
    cover("copy waits", gpu[U.copies_level] and gpu[U.engine])
