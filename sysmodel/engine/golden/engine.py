"""The golden model behind the same interface as the compiled hardware."""

import numpy as np
from numba import carray, cfunc, types
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

from .model import reset, step
from .protected_queue import RING
from .rooms import KINDS, clocked_cycles
from .state import REGISTERS, TYPES, GoldenState, new_state

__all__ = ["GoldenEngine"]


@intrinsic
def _pointer(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


# Globals, because an array's type must be one when the step is compiled.
_CONFIG, _GPU, _CONTEXT, _REGION, _RANGE, _COMMAND = (
    TYPES.config, TYPES.gpu, TYPES.contexts, TYPES.regions, TYPES.ranges, TYPES.commands
)  # fmt: skip
_CHANNEL, _SLOT, _PACKET, _BANK, _ENTRY, _ROW = (
    TYPES.channels, TYPES.slots, TYPES.remote, TYPES.banks, TYPES.entries, TYPES.table
)  # fmt: skip
_READY, _REGISTER, _LOG = TYPES.ready, TYPES.registers, TYPES.logs


@cfunc(
    types.uint64(
        types.CPointer(types.int64), types.CPointer(types.uint64), types.CPointer(types.uint64)
    ),
    cache=True,
)
def _step(addresses, inputs, outputs):
    """``addresses`` are those of the state's arrays, in order; the first has their lengths."""
    at = carray(addresses, 22)
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
        carray(_pointer(at[20]), CONTEXT + contexts, _LOG),
        carray(_pointer(at[21]), len(KINDS), np.int64),
    )
    return step(
        state,
        carray(inputs, channels * CHANNEL_INPUTS + GPU_INPUTS + contexts * CONTEXT_INPUTS),
        carray(outputs, channels * CHANNEL_OUTPUTS + GPU_OUTPUTS + contexts * CONTEXT_OUTPUTS),
    )


class GoldenEngine:
    """One GPU's T3 hardware by the golden model; a context manager.

    Parameters
    ----------
    parameters : :class:`~rtl.parameters.T3Parameters`

    Attributes
    ----------
    handle, step_address : int
        As those of :class:`~sysmodel.engine.native.engine.Instance`.
    """

    def __init__(self, parameters: T3Parameters):
        self._state = new_state(parameters)
        self._addresses = np.array([part.__array_interface__["data"][0] for part in self._state])
        self.handle = self._addresses.ctypes.data
        self.step_address = _step.address

    def reset(self, outputs: np.ndarray) -> None:
        """Go back to the state of power-up, and read its outputs."""
        reset(self._state, outputs)

    @property
    def clocked(self) -> dict[str, int]:
        """Cycles since the last reset in which rooms were awake, of all rooms of each kind."""
        return dict(zip(KINDS, clocked_cycles(self._state).tolist(), strict=True))

    def __enter__(self) -> "GoldenEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to free."""
