"""Golden model: the hardware in Numba, with the same behaviour cycle by cycle, written
independently.

The golden model is the fast engine of the cycle loop, and the scoreboard of the benches. Each block
is one module: its docstring names the block, a record declares the block's state, and a step
function takes the block's inputs and returns its outputs. Only that module writes the state, as
``tests/structure/test_golden_ports.py`` checks. :mod:`.model` connects the blocks, as
``rtl/top.py`` does.

=====================  =============================================================================
:mod:`.channel`        stages of a memory channel between its queues, arbiter, outstanding requests
:mod:`.nmc`            op-and-store, and its pipeline
:mod:`.tracker`        front, banks with their tables, merge of completions
:mod:`.trigger`        trigger unit, queue of ready commands, credit window, criticality unit
:mod:`.dma`            engine with its walkers, lanes, queue of copies
:mod:`.context`        connects the blocks of a context; external status, status
:mod:`.registers`      bus, tables, launches, errors, interrupts, injection, corrections
:mod:`.scrub`          walks that correct the memories, and their timer
:mod:`.activity`       clock enables of all blocks, read from their ports
=====================  =============================================================================

Payloads between the blocks are made in :mod:`.payloads`.
"""

from .allocation import new_state
from .model import reset, step
from .state import GoldenState

__all__ = ["GoldenState", "new_state", "reset", "step"]
