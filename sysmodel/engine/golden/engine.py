"""The golden model behind the same interface as the compiled hardware."""

import numpy as np
from numba import carray, cfunc, types

from rtl.parameters import T3Parameters
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, GPU_INPUTS, GPU_OUTPUTS

from .model import reset, step
from .state import GoldenState, new_state

__all__ = ["GoldenEngine"]

_ROW = 5  # words of a row of GoldenState.registers


@cfunc(
    types.void(
        types.CPointer(types.int64), types.CPointer(types.uint64), types.CPointer(types.uint64)
    ),
    cache=True,
)
def _step(block, inputs, outputs):
    """``block`` begins with the ends of the state's arrays, which follow; then the channels."""
    ends = carray(block, 6)
    words = carray(block, ends[4])
    state = GoldenState(
        words[6 : ends[0]],
        words[ends[0] : ends[1]],
        words[ends[1] : ends[2]],
        words[ends[2] : ends[3]],
        words[ends[3] : ends[4]].reshape((-1, _ROW)),
    )
    channels = ends[5]
    step(
        state,
        carray(inputs, channels * CHANNEL_INPUTS + GPU_INPUTS),
        carray(outputs, channels * CHANNEL_OUTPUTS + GPU_OUTPUTS),
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
        arrays = new_state(parameters)
        ends = 6 + np.cumsum([array.size for array in arrays])
        self._block = np.concatenate(
            [ends, [parameters.channels], *(array.ravel() for array in arrays)]
        ).astype(np.int64)
        parts = [
            self._block[start:end].reshape(array.shape)
            for start, end, array in zip([6, *ends], ends, arrays, strict=False)
        ]
        self._state = GoldenState(*parts)
        self.handle = self._block.ctypes.data
        self.step_address = _step.address

    def reset(self, outputs: np.ndarray) -> None:
        """Go back to the state of power-up, and read its outputs."""
        reset(self._state, outputs)

    def __enter__(self) -> "GoldenEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to free."""
