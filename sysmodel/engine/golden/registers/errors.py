"""Errors: the error priority encoder, and the log that software reads."""

import numpy as np

from rtl.interface.encodings import ErrorCode
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from ..records import Record, Records, record
from .words import R, count_up, set_word

__all__ = [
    "LOG",
    "PLACE_ATOM",
    "channel_error",
    "describe_error",
    "error",
    "is_of_link",
    "keep_error",
    "needs_log",
    "oldest_error",
    "oldest_place",
    "owner_of",
    "place_of",
    "report_bank_error",
    "report_channel_error",
    "set_failure",
    "unit_error",
]

LOG = record(
    "log_level log_head total failure failure_place failure_before channel_failure channel_place "
    "bank_failure",
    [
        ("errors", np.int64, (ERROR_LOG_DEPTH,)),
        ("places", np.int64, (ERROR_LOG_DEPTH,)),
    ],
)
"""Errors of the GPU or of a context: the log with its level, its oldest entry and the number of
errors; the error that is logged in this cycle, and the error that is counted in this cycle; the
first errors that channels and banks report in this cycle. An error consists of two words: a report
and a place.
"""

_COUNT_MASK = 0xFFFF
PLACE_ATOM = (1 << 48) - 1
_UNOWNED = 1 << 62
_LINK_DOWN, _LINK_RESET = ErrorCode.LINK_DOWN.value, ErrorCode.LINK_RESET.value
# Word of the counter of each code, for the page of the GPU and of a context; 0 without a counter.
_COUNTS = np.array(
    [[getattr(R, f"{prefix}COUNT_{code.name}", 0) for code in ErrorCode] for prefix in ("GPU_", "")]
)


@inlined
def error(code: int, owner: int, dispatch_index: int, wavefront: int) -> int:
    """Make an error report of one word; a word of 0 means no error."""
    return code | wavefront << 8 | dispatch_index << 24 | owner << 48


@inlined
def owner_of(failure: int) -> int:
    """Return the context that an error is reported to."""
    return failure >> 48


@inlined
def is_of_link(failure: int) -> bool:
    """Return whether an error was reported by an endpoint of a link."""
    return failure & 255 in (_LINK_DOWN, _LINK_RESET)


@inlined
def place_of(atom: int, source: int, channel: int, unowned: bool) -> int:
    """Make an error's place of one word; 0 if the place is not known."""
    return atom | source << 48 | channel << 53 | (_UNOWNED if unowned else 0)


@inlined
def describe_error(failure: int, place: int) -> tuple[int, int, int, int, int, int, int]:
    """Return the fields of ``ErrorReport`` after the code, in their order."""
    return (
        failure >> 48,
        failure >> 24 & 0xFFFFFF,
        failure >> 8 & 0xFFFF,
        place & PLACE_ATOM,
        place >> 48 & 31,
        place >> 53 & 255,
        place >> 62,
    )


@inlined
def report_channel_error(logs: Records, failure: int, place: int) -> None:
    """Report an error of a channel; each owner keeps its first error of the cycle."""
    if failure:
        log = logs[GLOBAL if place & _UNOWNED else CONTEXT + owner_of(failure)]
        if log.channel_failure == 0:
            log.channel_failure, log.channel_place = failure, place


@inlined
def report_bank_error(logs: Records, failure: int) -> None:
    """Report an error of a tracker bank; each owner keeps its first error of the cycle."""
    if failure:
        log = logs[CONTEXT + owner_of(failure)]
        if log.bank_failure == 0:
            log.bank_failure = failure


@inlined
def channel_error(log: Record) -> tuple[int, int]:
    """Return the first error of this cycle from a channel, and its place; 0 without an error."""
    return log.channel_failure, log.channel_place


@inlined
def unit_error(log: Record, failure: int, place: int) -> tuple[int, int]:
    """Error priority encoder of a context: channels first, then banks, then the context's units.

    Parameters
    ----------
    failure, place : int
        First error of the units, or 0.
    """
    if log.channel_failure:
        return log.channel_failure, log.channel_place
    if log.bank_failure:
        return log.bank_failure, 0
    return failure, place


@inlined
def set_failure(log: Record, failure: int, place: int) -> None:
    """Set the error that is logged in the next cycle, and begin a cycle without reports."""
    log.failure, log.failure_place = failure, place
    log.channel_failure = log.channel_place = log.bank_failure = 0


@inlined
def oldest_error(log: Record) -> int:
    """Return the oldest error in the log, or 0."""
    return log.errors[log.log_head] if log.log_level else 0


@inlined
def oldest_place(log: Record) -> int:
    """Return the place of the oldest error in the log, or 0."""
    return log.places[log.log_head] if log.log_level else 0


@inlined
def needs_log(log: Record) -> bool:
    """Return whether an error is logged or counted in this cycle."""
    return log.failure | log.failure_before != 0


@compiled
def keep_error(log: Record, registers: Records, page: int, clear: bool, drop: bool) -> None:
    """Log the error of this cycle, and count the error of the last cycle.

    Parameters
    ----------
    page : int
        Page of the registers.
    clear, drop : bool
        Strobes: clear the log and all counters; drop the oldest error.
    """
    kinds = _COUNTS[min(page, CONTEXT)]
    was_full = log.log_level == ERROR_LOG_DEPTH
    if clear:
        log.log_level = log.total = 0
        was_full = False
        for word in kinds:
            if word:
                set_word(registers[word], 0)
    elif log.failure_before:
        log.total = (log.total + 1) & 0xFFFFFFFF
        word = kinds[log.failure_before & 255]
        if word and registers[word].contents != _COUNT_MASK:
            count_up(registers[word], 1, _COUNT_MASK)
    if not clear and drop and log.log_level:
        log.log_level -= 1
        log.log_head = (log.log_head + 1) % ERROR_LOG_DEPTH
    failure = log.failure
    log.failure_before = failure
    if failure and not was_full:
        behind = (log.log_head + log.log_level) % ERROR_LOG_DEPTH
        log.errors[behind], log.places[behind] = failure, log.failure_place
        log.log_level += 1
