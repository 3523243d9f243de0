"""Instance of the compiled hardware."""

import ctypes
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.ports import input_words, output_words

from .build import build

__all__ = ["Engine", "Instance", "Trace"]

_POINTER = ctypes.c_void_p
_WORD = ctypes.c_uint64


@dataclass(frozen=True)
class Trace:
    """Waveform (VCD) to write; one cycle is drawn as one nanosecond.

    Parameters
    ----------
    path : Path
        Appears when the engine is closed.
    first_cycle, last_cycle : int
        Cycles to draw, both included, counted from the last reset.
    """

    path: Path
    first_cycle: int
    last_cycle: int

    def __post_init__(self):
        if not 0 <= self.first_cycle <= self.last_cycle:
            raise ValueError(
                "A waveform's cycles must not be negative, and the last one not before the first, "
                f"not {self.first_cycle!r} to {self.last_cycle!r}"
            )


class _Library:
    """Functions of a shared library, checked to take arrays of these lengths."""

    def __init__(self, path: Path, inputs: int, outputs: int):
        self.functions = functions = ctypes.CDLL(str(path))
        for name in ("t3_input_words", "t3_output_words"):
            getattr(functions, name).restype = _WORD
        functions.t3_new.restype = _POINTER
        functions.t3_free.argtypes = [_POINTER]
        functions.t3_free.restype = None
        functions.t3_gated_kinds.restype = ctypes.c_char_p
        functions.t3_clocked.argtypes = [_POINTER]
        functions.t3_clocked.restype = ctypes.POINTER(_WORD)
        functions.t3_reset.argtypes = [_POINTER, _POINTER]
        functions.t3_reset.restype = None
        found = functions.t3_input_words(), functions.t3_output_words()
        if found != (inputs, outputs):
            raise RuntimeError(
                f"{path} has {found[0]} words of inputs and {found[1]} of outputs, "
                f"not {inputs} and {outputs}"
            )

    def start_trace(self, handle: int, path: str, trace: Trace) -> None:
        start = self.functions.t3_trace
        start.argtypes = [_POINTER, ctypes.c_char_p, _WORD, _WORD]
        start.restype = None
        start(handle, os.fsencode(path), trace.first_cycle, trace.last_cycle)


class Instance:
    """Instance of a component that ``build_component`` compiled; a context manager.

    A cycle is :func:`call_step` with :attr:`step_address` and :attr:`handle`: it sets the inputs,
    clocks once, and reads the outputs after the edge. Output words that the component lacks stay
    as they were.

    Parameters
    ----------
    library : Path
        Made with waveforms if there is a trace.
    inputs, outputs : int
        Lengths of the arrays.
    trace : :class:`Trace`
        Waveform to write.

    Attributes
    ----------
    handle : int
        Address of the instance; 0 when it is closed.
    step_address : int
        Address of the step function.

    Raises
    ------
    OSError
        If the waveform cannot be written.
    RuntimeError
        If the library has arrays of other lengths.
    """

    def __init__(self, library: Path, inputs: int, outputs: int, trace: Trace | None = None):
        self.handle = 0
        self._trace = trace
        self._outputs = outputs
        self._library = _Library(library, inputs, outputs)
        functions = self._library.functions
        self.step_address = ctypes.cast(functions.t3_step, _POINTER).value or 0
        if trace is not None:
            # The file has another name until it is complete.
            target = Path(trace.path)
            file, self._partial = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
            os.close(file)
            os.chmod(self._partial, 0o644)
        self.handle = functions.t3_new()
        if trace is not None:
            self._library.start_trace(self.handle, self._partial, trace)

    def reset(self, outputs: np.ndarray) -> None:
        """Restore the state after power-up, and read its outputs.

        Parameters
        ----------
        outputs : array of uint64
            Contiguous, with all words of output.

        Raises
        ------
        ValueError
            If the array has another length or type, or the instance is closed.
        """
        if not self.handle:
            raise ValueError("Instance is closed")
        if (
            not isinstance(outputs, np.ndarray)
            or outputs.dtype != np.uint64
            or outputs.shape != (self._outputs,)
            or not outputs.flags.c_contiguous
        ):
            raise ValueError(
                f"Outputs must be a contiguous array of {self._outputs} words of uint64, "
                f"not {outputs!r}"
            )
        self._library.functions.t3_reset(self.handle, outputs.ctypes.data)

    @property
    def gated_blocks(self) -> tuple[list[str], np.ndarray]:
        """Kinds of the gated blocks, and the cycles since the last reset in which each was clocked;
        the array is updated with the instance.

        Raises
        ------
        ValueError
            If the instance is closed.
        """
        if not self.handle:
            raise ValueError("Instance is closed")
        functions = self._library.functions
        kinds = functions.t3_gated_kinds().decode().split()
        return kinds, np.ctypeslib.as_array(functions.t3_clocked(self.handle), (len(kinds),))

    @property
    def clocked(self) -> dict[str, int]:
        """Cycles since the last reset in which gated blocks were clocked, summed by kind."""
        kinds, cycles = self.gated_blocks
        sums = dict.fromkeys(kinds, 0)
        for kind, count in zip(kinds, cycles.tolist(), strict=True):
            sums[kind] += count
        return sums

    def close(self) -> None:
        """Free the instance and finish the waveform; a second call does nothing."""
        if not self.handle:
            return
        self._library.functions.t3_free(self.handle)
        self.handle = 0
        if self._trace is not None:
            os.replace(self._partial, self._trace.path)

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Engine(Instance):
    """Instance of the T3 hardware, compiled on first use; a context manager.

    Its arrays are those of ``sysmodel.engine.ports``.

    Parameters
    ----------
    trace : :class:`Trace`
        Waveform to write. The hardware is then compiled in a second, slower way.
    progress : callable
        Called with a stage and the fraction that is done.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    OSError
        If the waveform cannot be written.
    """

    def __init__(
        self,
        parameters: T3Parameters,
        trace: Trace | None = None,
        *,
        progress: Callable[[str, float], None] | None = None,
    ):
        library = build(parameters, trace=trace is not None, progress=progress)
        super().__init__(library, input_words(parameters), output_words(parameters), trace)
