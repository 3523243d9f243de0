"""Bit errors in memories with check bits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from amaranth.lib import data

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import IssueAck, ReadyCommand
from rtl.parameters import T3Parameters

from .bench import Bench
from .hook import FAULT, NO_BIT
from .judge import TileCheck, judge, report_bound, run_bound
from .outcome import Kind, Result
from .ring import GPUS, Ring, Setup

__all__ = [
    "KINDS",
    "PROTECTED",
    "TARGETS",
    "Target",
    "described",
    "may_report",
    "memory_fault",
]

_SETUP = Setup()
_INVERT_ROW, _INVERT_WRITTEN = 1, 2
_WRITTEN_SHARE = 0.75
_AT_ONCE_SHARE = 0.5
_MOST_DELAY_CYCLES = 64


@dataclass(frozen=True)
class Target:
    """Group of memories of one kind.

    Attributes
    ----------
    name, words : str
        Beginning of the names of its kinds of faults, and name of a row in sentences.
    pattern : str
        Part of the memories' paths.
    code : ErrorCode
        Error code of a loss that cannot be corrected.
    dispatch_index_of_row : callable or None
        Predicate of a dispatch index, a row and the number of rows: may an error in this row
        report a tile of this dispatch index?
    payload : callable or None
        Layout of a row that is reported as it is read, including the bit errors.
    shared : bool
        The memories hold data of all contexts.
    """

    name: str
    words: str
    pattern: str
    code: ErrorCode
    dispatch_index_of_row: Callable[[int, int, int], bool] | None = None
    payload: Callable[[T3Parameters], data.StructLayout] | None = None
    shared: bool = False


def _same(dispatch_index: int, row: int, rows: int) -> bool:
    return dispatch_index % rows == row


def _same_group(dispatch_index: int, row: int, rows: int) -> bool:
    """Accept the two dispatch indices of a group; its count is in the row of the first."""
    return (dispatch_index - row) % rows < 2


TARGETS = (
    Target(
        "tracker-entry",
        "an entry of the tracker's table",
        "tracker.bank_0.table.entries_",
        ErrorCode.TRACKER_CORRUPT,
        _same,
        shared=True,
    ),
    Target(
        "trigger-row",
        "a workgroup's row of the trigger unit's table",
        "trigger.table.words",
        ErrorCode.TRIGGER_CORRUPT,
        _same,
    ),
    Target(
        "trigger-group",
        "a group's count in the trigger unit",
        "trigger.groups.words",
        ErrorCode.TRIGGER_CORRUPT,
        _same_group,
    ),
    Target(
        "ready-command",
        "a command in the ready queue",
        "trigger.queue.words",
        ErrorCode.TRIGGER_CORRUPT,
        payload=ReadyCommand,
    ),
    Target(
        "issue_ack",
        "an issue acknowledgement in the issue acknowledgement buffer",
        "issue_ack_buffer.waiting.words",
        ErrorCode.TRACKER_CORRUPT,
        payload=IssueAck,
        shared=True,
    ),
)
PROTECTED = tuple(target.pattern for target in TARGETS)
"""Path patterns of the memories with check bits."""


def memory_fault(
    ring: Ring, target: Target, bits: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Draw a fault of some bits at a random time; return it with the number of its GPU."""
    group = ring.hooked.group(target.pattern)
    memory = ring.hooked.memories[group[0]]
    gpu = int(rng.integers(GPUS))
    fault = np.zeros((), FAULT)
    fault["handle"] = ring.machine.instances[gpu].handle
    fault["cycle"] = rng.integers(ring.launch_cycle, ring.fault_free.cycles)
    fault["first_bit"], fault["second_bit"] = rng.choice(memory.width, 2, replace=False)
    if bits == 1:
        fault["second_bit"] = NO_BIT
    if rng.random() < _WRITTEN_SHARE:
        # A row that was just written holds data that will be used.
        fault["action"], fault["memory"], fault["memories"] = _INVERT_WRITTEN, group[0], len(group)
        fault["delay"] = 0 if rng.random() < _AT_ONCE_SHARE else rng.integers(_MOST_DELAY_CYCLES)
    else:
        fault["action"], fault["memory"] = _INVERT_ROW, rng.choice(group)
        fault["row"] = rng.integers(memory.rows)
    return fault, gpu


def _inverted_bits(fault: np.ndarray) -> list[int]:
    bits = (int(fault[name]) for name in ("first_bit", "second_bit"))
    return [bit for bit in bits if bit != NO_BIT]


def described(ring: Ring, fault: np.ndarray) -> str:
    """Describe place and time of a fault."""
    memory = ring.hooked.memories[int(fault["where"])]
    return (
        f"{memory.path}, row {fault['which']}, bits {_inverted_bits(fault)}, cycle {fault['when']}"
    )


def may_report(
    ring: Ring, target: Target, fault: np.ndarray, gpu: int, context: int = 0
) -> TileCheck:
    """Make the check of the tiles that a context may report after a fault on a GPU."""
    memory, row = ring.hooked.memories[int(fault["where"])], int(fault["which"])

    def check(reporter: int, dispatch_index: int) -> bool:
        if reporter != gpu:
            return False
        if target.payload is not None:
            field = target.payload(ring.hooked.parameters)["dispatch_index"]
            for bit in _inverted_bits(fault):
                if field.offset <= bit < field.offset + field.width:
                    dispatch_index ^= 1 << bit - field.offset
        elif target.dispatch_index_of_row is None or not target.dispatch_index_of_row(
            dispatch_index, row, memory.rows
        ):
            return False
        end = ring.kernels[context].workgroups
        return ring.tracked_first(gpu, context) <= dispatch_index < end

    return check


def _inject(target: Target, bits: int, bench: Bench, rng: np.random.Generator) -> Result | None:
    ring = bench.ring(_SETUP)
    fault, gpu = memory_fault(ring, target, bits, rng)
    run = ring.run(fault, _SETUP, bound=run_bound(ring))
    if not fault["done"]:
        return None
    return judge(
        ring,
        run,
        injected=f"GPU {gpu}, {described(ring, fault)}",
        begin=int(fault["when"]),
        codes=(target.code,) if bits == 2 else (),
        tile=may_report(ring, target, fault, gpu),
    )


_REQUIRED = {
    1: "The error is corrected, or harmless: the row is written again before it is read.",
    2: "{code} is reported with the tile, or the error is harmless for the same reason; lost data "
    "is never sent.",
}
KINDS = tuple(
    Kind(
        name=f"{target.name}-{'single' if bits == 1 else 'double'}",
        injected=f"{'One bit is' if bits == 1 else 'Two bits are'} inverted in {target.words} or "
        "in its check bits; in three of four cases the row was just written.",
        required=_REQUIRED[bits].format(code=f"`{target.code.name}`"),
        share=6,
        inject=partial(_inject, target, bits),
        report_bound=report_bound(_SETUP) if bits == 2 else None,
    )
    for target in TARGETS
    for bits in (1, 2)
)
