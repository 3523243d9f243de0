"""Records the golden model under a stimulus, and replays the inputs on the RTL."""

from collections.abc import Callable

import numba
import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset, step
from sysmodel.engine.golden.rooms import KINDS, clocked_cycles
from sysmodel.engine.native import Engine, call_step
from sysmodel.engine.ports import CHANNEL_OUTPUTS, H, K, O, input_words, output_words

__all__ = ["Recording", "record", "replay"]


class Recording:
    """What went in and came out, cycle by cycle.

    Attributes
    ----------
    inputs, outputs : array of uint64
        A row per cycle: the inputs of the cycle, and the outputs in it.
    clocked : array of int64
        A row per cycle: how many rooms of each kind have been awake up to it.
    awake : array of bool
        Whether the model said that something was awake in the cycle.
    state : GoldenState
        As the last cycle left it.
    """

    def __init__(self, p: T3Parameters, cycles: int):
        self.parameters: T3Parameters = p
        self.inputs = np.zeros((cycles, input_words(p)), np.uint64)
        self.outputs = np.zeros((cycles + 1, output_words(p)), np.uint64)
        self.clocked = np.zeros((cycles, len(KINDS)), np.int64)
        self.awake = np.zeros(cycles, bool)
        self.state: GoldenState = new_state(p)


def record(
    p: T3Parameters, stimulus: Callable[[np.ndarray, np.ndarray], None], cycles: int
) -> Recording:
    """Run the golden model; ``stimulus(outputs, inputs)`` decides the inputs of every cycle."""
    recording = Recording(p, cycles)
    inputs, outputs, state = recording.inputs, recording.outputs, recording.state
    reset(state, outputs[0])
    for cycle in range(cycles):
        if cycle:
            inputs[cycle] = inputs[cycle - 1]
        stimulus(outputs[cycle], inputs[cycle])
        outputs[cycle + 1] = outputs[cycle]
        recording.awake[cycle] = step(state, inputs[cycle], outputs[cycle + 1])
        recording.clocked[cycle] = clocked_cycles(state)
    return recording


@numba.njit(cache=True)
def _step_all(address, handle, inputs, outputs, rooms, clocked):
    for cycle in range(len(inputs)):
        call_step(address, handle, inputs[cycle].ctypes.data, outputs[cycle].ctypes.data)
        clocked[cycle] = rooms


def _masked(outputs: np.ndarray, channels: int) -> np.ndarray:
    """Outputs, with 0 for what a stream says without being valid."""
    outputs = outputs.copy()
    for channel in range(channels):
        block = outputs[:, channel * CHANNEL_OUTPUTS : (channel + 1) * CHANNEL_OUTPUTS]
        for stream in ("link_out", "dram", "nmc_out"):
            invalid = block[:, getattr(O, f"{stream}_valid")] == 0
            for column, name in enumerate(O._fields):
                if name.startswith(stream) or (stream == "link_out" and name == "link_owner"):
                    block[invalid, column] = 0
    gpu = outputs[:, channels * CHANNEL_OUTPUTS :]
    gpu[gpu[:, H.bus_bvalid] == 0, H.bus_bresp] = 0
    gpu[gpu[:, H.bus_rvalid] == 0, H.bus_rdata] = 0
    gpu[gpu[:, H.bus_rvalid] == 0, H.bus_rresp] = 0
    return outputs


def _name(column: int, channels: int) -> str:
    channel, column = divmod(column, CHANNEL_OUTPUTS)
    if channel < channels:
        return f"channel {channel} {O._fields[column]}"
    column += (channel - channels) * CHANNEL_OUTPUTS
    if column < len(H):
        return H._fields[column]
    context, column = divmod(column - len(H), len(K))
    return f"context {context} {K._fields[column]}"


def replay(recording: Recording) -> None:
    """Step the compiled RTL through the recorded inputs.

    Raises
    ------
    AssertionError
        With the first cycle in which an output differs, or another number of rooms of a kind is
        awake.
    """
    p = recording.parameters
    seen = np.zeros_like(recording.outputs)
    with Engine(p) as engine:
        engine.reset(seen[0])
        kinds, rooms = engine.rooms
        clocked = np.zeros((len(recording.inputs), len(rooms)), np.uint64)
        _step_all(engine.step_address, engine.handle, recording.inputs, seen[1:], rooms, clocked)
    ours, theirs = _masked(recording.outputs, p.channels), _masked(seen, p.channels)
    cycles = np.nonzero((ours != theirs).any(axis=1))[0]
    if len(cycles):
        first = cycles[0]
        columns = np.nonzero(ours[first] != theirs[first])[0]
        differences = ", ".join(
            f"{_name(column, p.channels)}: golden {ours[first, column]:#x}, "
            f"rtl {theirs[first, column]:#x}"
            for column in columns
        )
        raise AssertionError(f"cycle {first} ({len(cycles)} differ): {differences}")
    _require_same_rooms(recording, kinds, clocked)


def _require_same_rooms(recording: Recording, kinds: list[str], clocked: np.ndarray) -> None:
    """The same rooms are awake in every cycle, and the model says so if any is."""
    assert set(kinds) <= set(KINDS)
    theirs = np.zeros_like(recording.clocked)
    for room, kind in enumerate(kinds):
        theirs[:, KINDS.index(kind)] += clocked[:, room].astype(np.int64)
    cycles = np.nonzero((theirs != recording.clocked).any(axis=1))[0]
    if len(cycles):
        first = cycles[0]
        before = recording.clocked[first - 1] if first else 0
        differences = ", ".join(
            f"{KINDS[kind]}: golden {count}, rtl {count + more}"
            for kind, (count, more) in enumerate(
                zip(
                    recording.clocked[first] - before,
                    theirs[first] - recording.clocked[first],
                    strict=True,
                )
            )
            if more
        )
        raise AssertionError(f"rooms awake in cycle {first}: {differences}")
    counts = np.diff(theirs.sum(axis=1), prepend=0)
    assert (recording.awake == (counts != 0)).all()
