"""Reduce unit, compiled to machine code and fed one request in every cycle."""

from pathlib import Path

import numpy as np

from rtl.interface.encodings import Datatype, Operation
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from sysmodel.engine.native import Instance, build_component, call_step
from sysmodel.engine.ports import port_words
from sysmodel.lib.compiled import cached_njit
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress

__all__ = ["PARAMETERS", "NativeUnit", "build_unit"]

# An atom of one 64-bit word has two lanes of each kind; larger atoms repeat these lanes.
PARAMETERS = T3Parameters(contexts=1, with_data=True, atom_bytes=8)

_words = {word.name: word for word in port_words(NmcUnit(PARAMETERS).signature)}
_INPUTS = sum(word.direction == "in" for word in _words.values())
_OUTPUTS = len(_words) - _INPUTS
_I_VALID, _STORED, _OPERAND = (
    _words[name].index for name in ("i_valid", "i_stored_0", "i_operand_0")
)
_O_VALID, _VALUE = (_words[name].index for name in ("o_valid", "o_value_0"))


def build_unit(progress: Report = no_progress) -> Path:
    """Build a shared library of the unchanged reduce unit, or find it in the cache.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    """
    unit = NmcUnit(PARAMETERS)
    return build_component(unit, _words.values(), _INPUTS, _OUTPUTS, progress=progress)


@cached_njit(nogil=True)
def _stream(step, handle, inputs, outputs, stored, operand, result, drain):
    """Send one request per cycle, store the results in order, and return the number of results."""
    inputs_pointer, outputs_pointer = inputs.ctypes.data, outputs.ctypes.data
    got = 0
    inputs[_I_VALID] = 1
    for cycle in range(len(stored) + drain):
        if cycle < len(stored):
            inputs[_STORED] = stored[cycle]
            inputs[_OPERAND] = operand[cycle]
        else:
            inputs[_I_VALID] = 0
        call_step(step, handle, inputs_pointer, outputs_pointer)
        if outputs[_O_VALID]:
            if got < len(result):
                result[got] = outputs[_VALUE]
            got += 1
    return got


class NativeUnit:
    """Instance of the compiled unit; a context manager for one thread at a time.

    Parameters
    ----------
    library : Path
        Shared library made by :func:`build_unit`.
    """

    def __init__(self, library: Path):
        self._instance = Instance(library, _INPUTS, _OUTPUTS)
        self._outputs = np.zeros(_OUTPUTS, np.uint64)

    def reduce(
        self, stored: np.ndarray, operand: np.ndarray, op: Operation, dtype: Datatype
    ) -> np.ndarray:
        """Reduce pairs of atoms, one request per cycle.

        Parameters
        ----------
        stored, operand : array of uint64, shape (n,)
            Atoms, the first number in the lowest bits.

        Returns
        -------
        array of uint64, shape (n,)

        Raises
        ------
        SimulationError
            If the number of results differs from the number of requests.
        """
        # All epochs are zero: every atom already holds a number of this reduction.
        inputs = np.zeros(_INPUTS, np.uint64)
        inputs[_words["i_op"].index] = op.value
        inputs[_words["i_dtype"].index] = dtype.value
        result = np.empty_like(stored)
        # One cycle more than the last result needs, so that a surplus result is seen.
        drain = NmcUnit.LATENCY
        step, handle = self._instance.step_address, self._instance.handle
        got = _stream(step, handle, inputs, self._outputs, stored, operand, result, drain)
        if got != len(stored):
            raise SimulationError(f"the reduce unit gave {got} results for {len(stored)} requests")
        return result

    def __enter__(self) -> "NativeUnit":
        return self

    def __exit__(self, *exception: object) -> None:
        self._instance.close()
