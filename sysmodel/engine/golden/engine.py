"""The golden model behind the same interface as the compiled hardware."""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    GPU_INPUTS,
    GPU_OUTPUTS,
)
from sysmodel.lib.compiled import cached_cfunc

from .activity.counters import clocked_cycles
from .activity.kinds import KINDS
from .allocation import TYPES, new_state
from .model import reset, step
from .protected_queue import RING
from .registers.words import REGISTERS
from .state import GoldenState

__all__ = ["GoldenEngine"]


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """Convert an address to a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


# Globals, because the array types must be constants when the step is compiled.
_CONFIG, _GPU, _CONTEXT, _REGION = (TYPES[n] for n in ("config", "gpu", "contexts", "regions"))
_RANGE, _COMMAND, _CHANNEL, _SLOT = (TYPES[n] for n in ("ranges", "commands", "channels", "slots"))
_PACKET, _BANK, _ENTRY, _ROW = (TYPES[n] for n in ("remote", "banks", "entries", "table"))
_GATE = TYPES["gates"]
_READY, _REGISTER, _INTERRUPTS, _LOG = (
    TYPES[n] for n in ("ready", "registers", "interrupts", "logs")
)
_ACTIVITY, _OF_CHANNEL, _OF_BANK, _OF_CONTEXT = (
    TYPES[n] for n in ("activity", "channel_activity", "bank_activity", "context_activity")
)
_ARRAYS = len(GoldenState._fields)


@cached_cfunc(
    types.uint64(
        types.CPointer(types.int64), types.CPointer(types.uint64), types.CPointer(types.uint64)
    )
)
def _step(addresses: Any, inputs: Any, outputs: Any) -> Any:
    """Step the state whose arrays have these ``addresses``; the first array has their lengths."""
    at = carray(addresses, _ARRAYS)
    config = carray(_pointer(at[0]), 1, _CONFIG)[0]
    channels, banks, contexts = config.channels, config.banks, config.contexts
    window = config.credit_window_slots
    state = GoldenState(
        config,
        carray(_pointer(at[1]), 1, _GPU)[0],
        carray(_pointer(at[2]), config.wavefront_mask + 1, np.int64),
        carray(_pointer(at[3]), contexts, _CONTEXT),
        carray(_pointer(at[4]), (contexts, config.regions), _REGION),
        carray(_pointer(at[5]), (contexts, config.ranges), _RANGE),
        carray(_pointer(at[6]), (contexts, config.commands), _COMMAND),
        carray(_pointer(at[7]), (contexts, config.regions), _REGION),
        carray(_pointer(at[8]), (contexts, config.ranges), _RANGE),
        carray(_pointer(at[9]), (contexts, config.commands), _COMMAND),
        carray(_pointer(at[10]), channels, _CHANNEL),
        carray(_pointer(at[11]), (channels, contexts * config.slots), _SLOT),
        carray(_pointer(at[12]), (channels, contexts, config.remote_depth), _PACKET),
        carray(_pointer(at[13]), banks, _BANK),
        carray(_pointer(at[14]), (banks, config.rows, config.ways), _ENTRY),
        carray(_pointer(at[15]), (contexts, window), _ROW),
        carray(_pointer(at[16]), (contexts, window), np.int64),
        carray(_pointer(at[17]), (contexts, RING * config.depth), _READY),
        carray(_pointer(at[18]), (contexts, RING * config.depth), np.int64),
        carray(_pointer(at[19]), (CONTEXT + contexts, REGISTERS), _REGISTER),
        carray(_pointer(at[20]), CONTEXT + contexts, _INTERRUPTS),
        carray(_pointer(at[21]), CONTEXT + contexts, _LOG),
        carray(_pointer(at[22]), 1, _ACTIVITY)[0],
        carray(_pointer(at[23]), channels, _OF_CHANNEL),
        carray(_pointer(at[24]), banks, _OF_BANK),
        carray(_pointer(at[25]), contexts, _OF_CONTEXT),
        carray(_pointer(at[26]), len(KINDS), np.int64),
        carray(_pointer(at[27]), (contexts, config.ranges), np.int64),
        carray(_pointer(at[28]), (contexts, config.ranges), _GATE),
    )
    return step(
        state,
        carray(inputs, channels * CHANNEL_INPUTS + GPU_INPUTS + contexts * CONTEXT_INPUTS),
        carray(outputs, channels * CHANNEL_OUTPUTS + GPU_OUTPUTS + contexts * CONTEXT_OUTPUTS),
    )


class GoldenEngine:
    """Golden model of one GPU's T3 hardware; a context manager.

    Attributes
    ----------
    handle, step_address : int
        As in :class:`~sysmodel.engine.native.engine.Instance`.
    """

    def __init__(self, parameters: T3Parameters):
        self._state = new_state(parameters)
        self._addresses = np.array([part.__array_interface__["data"][0] for part in self._state])
        self.handle = self._addresses.ctypes.data
        self.step_address = _step.address

    def reset(self, outputs: np.ndarray) -> None:
        """Reset the hardware, and read its outputs."""
        reset(self._state, outputs)

    @property
    def clocked(self) -> dict[str, int]:
        """Cycles since the last reset in which clocks were enabled, by kind of clock-gated
        block."""
        return dict(zip(KINDS, clocked_cycles(self._state).tolist(), strict=True))

    def __enter__(self) -> "GoldenEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: the model holds no resources."""
