"""Recording of the golden model under a stimulus, and its replay on the RTL."""

from collections.abc import Callable, Sequence

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset, step
from sysmodel.engine.golden.activity.counters import clocked_cycles
from sysmodel.engine.golden.activity.kinds import KINDS
from sysmodel.engine.native import Engine, call_step
from sysmodel.engine.ports import CHANNEL_OUTPUTS, H, K, O, input_words, output_words
from sysmodel.lib.compiled import cached_njit

__all__ = ["Recording", "record", "replay"]


class Recording:
    """Inputs and outputs of a run, cycle by cycle.

    Attributes
    ----------
    inputs, outputs : array of uint64
        A row per cycle: the inputs of the cycle, and the outputs in it.
    clocked : array of int64
        A row per cycle: clocks of the blocks of each kind up to that cycle.
    active : array of bool
        True for the cycles in which the model reported an active block.
    state : GoldenState
        State after the last cycle.
    resets : tuple of int
        Cycles with a reset: the outputs of the next cycle are those after the reset, and the clocks
        are counted anew.
    """

    def __init__(self, p: T3Parameters, cycles: int, resets: Sequence[int] = ()):
        self.parameters: T3Parameters = p
        self.inputs = np.zeros((cycles, input_words(p)), np.uint64)
        self.outputs = np.zeros((cycles + 1, output_words(p)), np.uint64)
        self.clocked = np.zeros((cycles, len(KINDS)), np.int64)
        self.active = np.zeros(cycles, bool)
        self.state: GoldenState = new_state(p)
        self.resets = tuple(resets)

    @property
    def sessions(self) -> list[slice]:
        """Cycles between the resets, without the cycles of the resets."""
        begins = [0, *(cycle + 1 for cycle in self.resets)]
        return [slice(*ends) for ends in zip(begins, [*self.resets, len(self.inputs)], strict=True)]


def record(
    p: T3Parameters,
    stimulus: Callable[[np.ndarray, np.ndarray], None],
    cycles: int,
    resets: Sequence[int] = (),
) -> Recording:
    """Run the golden model; ``stimulus(outputs, inputs)`` decides the inputs of every cycle.

    The model is reset in the cycles ``resets``, in increasing order. Its environment is not: what
    the ports transfer in this cycle is transferred.
    """
    recording = Recording(p, cycles, resets)
    inputs, outputs, state = recording.inputs, recording.outputs, recording.state
    reset(state, outputs[0])
    for cycle in range(cycles):
        if cycle:
            inputs[cycle] = inputs[cycle - 1]
        stimulus(outputs[cycle], inputs[cycle])
        if cycle in recording.resets:
            reset(state, outputs[cycle + 1])
            continue
        outputs[cycle + 1] = outputs[cycle]
        recording.active[cycle] = step(state, inputs[cycle], outputs[cycle + 1])
        recording.clocked[cycle] = clocked_cycles(state)
    return recording


@cached_njit()
def _step_all(address, handle, inputs, outputs, blocks, clocked):
    for cycle in range(len(inputs)):
        call_step(address, handle, inputs[cycle].ctypes.data, outputs[cycle].ctypes.data)
        clocked[cycle] = blocks


def _masked(outputs: np.ndarray, channels: int) -> np.ndarray:
    """Return the outputs with 0 for the payloads of streams that are not valid."""
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
        If outputs or numbers of clocked blocks differ, with the first cycle that differs.
    """
    p = recording.parameters
    seen = np.zeros_like(recording.outputs)
    with Engine(p) as engine:
        kinds, blocks = engine.gated_blocks
        clocked = np.zeros((len(recording.inputs), len(blocks)), np.uint64)
        for cycles in recording.sessions:
            engine.reset(seen[cycles.start])
            _step_all(
                engine.step_address,
                engine.handle,
                recording.inputs[cycles],
                seen[1:][cycles],
                blocks,
                clocked[cycles],
            )
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
    assert set(kinds) <= set(KINDS)
    for cycles in recording.sessions:
        _require_same_blocks(recording, cycles, kinds, clocked[cycles])


def _require_same_blocks(
    recording: Recording, session: slice, kinds: list[str], clocked: np.ndarray
) -> None:
    """Check that both clock the same blocks in every cycle, and that the model reports when."""
    ours = recording.clocked[session]
    theirs = np.zeros_like(ours)
    for block, kind in enumerate(kinds):
        theirs[:, KINDS.index(kind)] += clocked[:, block].astype(np.int64)
    cycles = np.nonzero((theirs != ours).any(axis=1))[0]
    if len(cycles):
        first = cycles[0]
        before = ours[first - 1] if first else 0
        differences = ", ".join(
            f"{KINDS[kind]}: golden {count}, rtl {count + more}"
            for kind, (count, more) in enumerate(
                zip(
                    ours[first] - before,
                    theirs[first] - ours[first],
                    strict=True,
                )
            )
            if more
        )
        raise AssertionError(f"clocked blocks of cycle {session.start + first}: {differences}")
    counts = np.diff(theirs.sum(axis=1), prepend=0)
    assert (recording.active[session] == (counts != 0)).all()
