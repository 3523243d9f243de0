"""Queue of ready commands, between the trigger unit of a context and its DMA engine."""

from typing import NamedTuple

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import compiled, inlined

from ..payloads.commands import make_ready
from ..protected_queue import (
    can_push,
    check_leaving,
    note_bit_errors,
    oldest,
    push_at,
    step_queue,
)
from ..records import Record, copy_record
from ..registers.errors import error
from ..registers.injection import COMMANDS, CORRECTED, LOST, bit_errors
from ..state import GoldenState

__all__ = ["ReadyOutputs", "first_ready", "push_ready", "ready_valid", "step_ready"]

_CORRUPT = ErrorCode.TRIGGER_CORRUPT.value


class ReadyOutputs(NamedTuple):
    """Result of the queue's cycle.

    Attributes
    ----------
    active : bool
        A register of the queue changes.
    corrected : bool
        A bit error is corrected.
    failure : int
        Error of a lost command, or 0.
    """

    active: bool
    corrected: bool
    failure: int


@inlined
def ready_valid(queue: Record) -> bool:
    """Return whether the queue offers a command."""
    return queue.checked != 0


@inlined
def first_ready(s: GoldenState, context: int) -> Record:
    """Return the command that the queue offers."""
    return s.ready[context, oldest(s.contexts[context].ready)]


@compiled
def push_ready(
    s: GoldenState,
    context: int,
    number: int,
    dispatch_index: int,
    wavefront: int,
    start: int,
    outer_edge: int,
    inner_edge: int,
    last: int,
) -> bool:
    """Append a ready command of a range to the queue; return whether there was space."""
    queue, depth = s.contexts[context].ready, s.config.depth
    if not can_push(queue, depth):
        return False
    at = push_at(queue, depth)
    bits = bit_errors(s.gpu.injection, COMMANDS, context)
    note_bit_errors(queue, s.ready_errors[context], at, bits)
    to = s.ready[context, at]
    make_ready(to, number, dispatch_index, wavefront, start, outer_edge, inner_edge, last)
    return True


@inlined
def _lose(s: GoldenState, context: int, at: int) -> int:
    """Drop the lost command that leaves the memory; return its error."""
    queue, lost = s.contexts[context].ready, s.ready[context, at]
    # The error names the dispatch index as read, which may itself have a bit error.
    flipped = s.config.ranges <= 2
    failure = error(_CORRUPT, context, lost.dispatch_index ^ flipped, lost.wavefront)
    if queue.checked:
        copy_record(lost, s.ready[context, oldest(queue)])
    return failure


@inlined
def step_ready(s: GoldenState, context: int, pushed: bool, popped: bool) -> ReadyOutputs:
    """Advance the queue by one cycle."""
    queue, depth = s.contexts[context].ready, s.config.depth
    at, bits = check_leaving(queue, s.ready_errors[context], depth)
    failure = _lose(s, context, at) if bits == LOST else 0
    active = step_queue(queue, depth, pushed, popped, bits == LOST)
    return ReadyOutputs(active != 0, bits == CORRECTED, failure)
