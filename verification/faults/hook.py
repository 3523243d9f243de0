"""Hardware compiled with a hook: a step function that injects a fault."""

import ctypes
from pathlib import Path

import numpy as np

from rtl.parameters import T3Parameters
from rtl.top import T3
from sysmodel.engine.native.build import WRAPPER, library, words_header
from sysmodel.engine.native.engine import Instance
from sysmodel.engine.native.flatten import Flat
from sysmodel.engine.native.verilate import Toolchain
from sysmodel.engine.ports import (
    CHANNEL_OUTPUTS,
    CONTEXT_OUTPUTS,
    K,
    input_words,
    output_words,
    top_words,
)
from sysmodel.lib.progress import Report, no_progress

from .memories import Memory, find_memories, memories_header

__all__ = ["FAULT", "FaultyInstance", "Hooked", "build_hooked"]

_HOOK = Path(__file__).with_name("hook.cpp")
_POINTER = ctypes.c_void_p
_WORD = ctypes.c_uint64
NO_BIT = (1 << 64) - 1
"""Bit number of an unused inversion, and cycle of an event that did not occur."""

_FAULT_WORDS = (
    *("handle", "action", "cycle"),
    *("memory", "memories", "row", "first_bit", "second_bit", "delay"),
    *("valid", "kind", "dispatch_index", "tile_atoms", "ready", "number", "add"),
    *("done", "when", "where", "which"),
)
FAULT = np.dtype([(name, np.uint64) for name in _FAULT_WORDS])
"""Fault record of ``hook.cpp``, all zero for no fault; the hook fills in the last four words."""


class Hooked:
    """Library of the hardware with the hook."""

    def __init__(self, path: Path, parameters: T3Parameters, memories: list[Memory]):
        self.path, self.parameters, self.memories = path, parameters, memories

    def group(self, pattern: str) -> range:
        """Find the numbers of the memories whose path contains the pattern.

        Raises
        ------
        ValueError
            If no memory matches, or the numbers are not consecutive.
        """
        found = [i for i, one in enumerate(self.memories) if pattern in one.path]
        if not found or found[-1] - found[0] >= len(found):
            raise ValueError(f"No group of memories is called {pattern!r}")
        return range(found[0], found[-1] + 1)


def build_hooked(parameters: T3Parameters, progress: Report = no_progress) -> Hooked:
    """Compile the hardware with the hook, or find it in the cache.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    """
    toolchain = Toolchain(trace=False)
    progress("RTL to Verilog", 0.0)
    flat = Flat(T3(parameters), top_words(parameters))
    text = flat.verilog()
    memories = find_memories(text)
    words = words_header(flat, input_words(parameters), output_words(parameters))
    sources = {
        "t3.v": text,
        "words.h": words,
        "wrapper.h": WRAPPER.read_text(),
        "memories.h": memories_header(memories),
        "hook.cpp": _HOOK.read_text(),
    }
    target = library(toolchain, sources, lambda done: progress("Verilog to machine code", done))
    return Hooked(target, parameters, memories)


class FaultyInstance(Instance):
    """Instance whose steps go through the hook; a context manager."""

    def __init__(self, hooked: Hooked):
        p = hooked.parameters
        super().__init__(hooked.path, input_words(p), output_words(p))
        functions = self._library.functions
        functions.t3_arm.argtypes = [_POINTER, _WORD, _WORD, _WORD]
        functions.t3_arm.restype = None
        functions.t3_error_cycle.argtypes = [_POINTER, _WORD]
        functions.t3_error_cycle.restype = _WORD
        functions.t3_fault_words.restype = _WORD
        if functions.t3_fault_words() != len(_FAULT_WORDS):
            raise RuntimeError(f"{hooked.path} has another kind of fault")
        self._irqs = p.channels * CHANNEL_OUTPUTS + K.irq, CONTEXT_OUTPUTS, p.contexts
        self.step_address = ctypes.cast(functions.t3_fault_step, _POINTER).value or 0

    def arm(self, fault: np.ndarray) -> None:
        """Inject a fault into the run that begins now.

        The record must stay in place during the run; it applies to all instances of the library in
        this process.
        """
        self._library.functions.t3_arm(fault.ctypes.data, *self._irqs)

    def error_cycle(self, context: int) -> int | None:
        """First cycle with a pending error of the context, counted from :meth:`arm`."""
        cycle = self._library.functions.t3_error_cycle(self.handle, context)
        return None if cycle == NO_BIT else cycle
