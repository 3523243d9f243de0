"""Wrong bits in memories that have check bits."""

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
_TURN_ROW, _TURN_WRITTEN = 1, 2
_WRITTEN_SHARE = 0.75
_AT_ONCE_SHARE = 0.5
_MOST_DELAY_CYCLES = 64


@dataclass(frozen=True)
class Target:
    """A group of memories.

    Attributes
    ----------
    name, words : str
        As a kind's name begins, and what it is called in sentences.
    pattern : str
        In the memories' paths.
    code : ErrorCode
        Of what cannot be corrected.
    dispatch_index_of_row : callable or None
        Whether a tile of that dispatch index may be reported for that row; given also the rows.
    payload : callable or None
        Layout of a row whose own tile is reported as it reads, wrong bits and all.
    shared : bool
        The memories hold what is of all contexts.
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
    """A group's count is in the row of its first dispatch index."""
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
"""Patterns of the memories with check bits."""


def memory_fault(
    ring: Ring, target: Target, bits: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """A fault of so many bits at a random time, and the GPU that has it."""
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
        # A row that was just written holds something that matters.
        fault["action"], fault["memory"], fault["memories"] = _TURN_WRITTEN, group[0], len(group)
        fault["delay"] = 0 if rng.random() < _AT_ONCE_SHARE else rng.integers(_MOST_DELAY_CYCLES)
    else:
        fault["action"], fault["memory"] = _TURN_ROW, rng.choice(group)
        fault["row"] = rng.integers(memory.rows)
    return fault, gpu


def _turned(fault: np.ndarray) -> list[int]:
    bits = (int(fault[name]) for name in ("first_bit", "second_bit"))
    return [bit for bit in bits if bit != NO_BIT]


def described(ring: Ring, fault: np.ndarray) -> str:
    """Where a fault has hit, and when."""
    memory = ring.hooked.memories[int(fault["where"])]
    return f"{memory.path}, row {fault['which']}, bits {_turned(fault)}, cycle {fault['when']}"


def may_report(
    ring: Ring, target: Target, fault: np.ndarray, gpu: int, context: int = 0
) -> TileCheck:
    """Which tiles a context may report that was hit on that GPU."""
    memory, row = ring.hooked.memories[int(fault["where"])], int(fault["which"])

    def check(reporter: int, dispatch_index: int) -> bool:
        if reporter != gpu:
            return False
        if target.payload is not None:
            field = target.payload(ring.hooked.parameters)["dispatch_index"]
            for bit in _turned(fault):
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
    1: "Corrected, or harmless: nothing is read from there before it is written anew.",
    2: "{code} with the tile, or harmless likewise; what is lost is never sent.",
}
KINDS = tuple(
    Kind(
        name=f"{target.name}-{'single' if bits == 1 else 'double'}",
        injected=f"{'One bit' if bits == 1 else 'Two bits'} of {target.words}, check bits "
        "included, three times in four of what was just written.",
        required=_REQUIRED[bits].format(code=f"`{target.code.name}`"),
        share=6,
        inject=partial(_inject, target, bits),
        report_bound=report_bound(_SETUP) if bits == 2 else None,
    )
    for target in TARGETS
    for bits in (1, 2)
)
