"""Errors: the error priority encoder, and the log that software reads."""

import numpy as np

from rtl.interface.configuration import RANK_BITS
from rtl.interface.encodings import ErrorCode
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from ..constants import constants
from ..records import Record, Records, record
from .words import R, count_up, set_word

__all__ = [
    "LOG",
    "OF_LINK",
    "PLACE_ATOM",
    "RANK",
    "channel_of",
    "describe_error",
    "error",
    "keep_error",
    "needs_log",
    "oldest_error",
    "oldest_place",
    "owner_of",
    "place_of",
    "report_error",
    "report_packet_error",
    "source_of",
    "take_errors",
]

LOG = record(
    "log_level log_head log_total failure failure_place failure_rank kinds kinds_before "
    "next_failure next_place next_rank next_kinds",
    [
        ("errors", np.int64, (ERROR_LOG_DEPTH,)),
        ("places", np.int64, (ERROR_LOG_DEPTH,)),
    ],
)
"""Errors of the GPU or of a context: the log with its level, its oldest entry and the number of
errors; the error that is logged in this cycle, with its rank; a bit for each code of the errors of
the last cycle, and for each that is counted in this cycle; the same of the errors that are reported
in this cycle. An error consists of two words: a report and a place.
"""

RANK = constants(
    "Rank",
    {
        name: rank
        for rank, name in enumerate(
            (
                "link",
                "timeout",
                "peer",
                "port",
                "trigger",
                "dma",
                "issue_ack",
                "bank",
                "store",
                "packet",
            )
        )
    },
)
"""Ranks of the sources of errors: of the errors of a cycle, that of the lowest rank is logged, and
within a rank the first that is reported.
"""
_PLACES_BY_RANK = np.full(RANK.packet + 1, ERROR_LOG_DEPTH)
_PLACES_BY_RANK[[RANK.store, RANK.packet]] = 6  # the contract leaves two places to rarer errors

_COUNT_MASK = 0xFFFF
PLACE_ATOM = (1 << 47) - 1
_SOURCE, _CHANNEL = 47, 54  # lowest bits of these fields of a place
_UNOWNED = 1 << 62
OF_LINK = 1 << ErrorCode.LINK_DOWN.value | 1 << ErrorCode.LINK_RESET.value
"""Kinds of the errors of links."""
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
def place_of(atom: int, source: int, channel: int, unowned: bool) -> int:
    """Make an error's place of one word; 0 if the place is not known."""
    return atom | source << _SOURCE | channel << _CHANNEL | (_UNOWNED if unowned else 0)


@inlined
def source_of(place: int) -> int:
    """Return the rank of a packet's sender, of an error's place."""
    return place >> _SOURCE & (1 << RANK_BITS) - 1


@inlined
def channel_of(place: int) -> int:
    """Return the channel of an error's place."""
    return place >> _CHANNEL & 255


@inlined
def describe_error(failure: int, place: int) -> tuple[int, int, int, int, int, int, int]:
    """Return the fields of ``ErrorReport`` after the code, in their order."""
    return (
        failure >> 48,
        failure >> 24 & 0xFFFFFF,
        failure >> 8 & 0xFFFF,
        place & PLACE_ATOM,
        source_of(place),
        channel_of(place),
        place >> 62,
    )


@inlined
def report_error(log: Record, rank: int, failure: int, place: int) -> None:
    """Report an error of this cycle to its owner; nothing if ``failure`` is 0."""
    if failure:
        log.next_kinds |= 1 << (failure & 255)
        if log.next_failure == 0 or rank < log.next_rank:
            log.next_failure, log.next_place, log.next_rank = failure, place, rank


@inlined
def report_packet_error(logs: Records, failure: int, place: int) -> None:
    """Report an error of a packet, which may belong to no context."""
    if failure:
        log = logs[GLOBAL if place & _UNOWNED else CONTEXT + owner_of(failure)]
        report_error(log, RANK.packet, failure, place)


@inlined
def take_errors(log: Record) -> None:
    """End a cycle: its errors are logged in the next one."""
    log.failure, log.failure_place = log.next_failure, log.next_place
    log.failure_rank, log.kinds = log.next_rank, log.next_kinds
    log.next_failure = log.next_place = log.next_rank = log.next_kinds = 0


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
    return log.kinds | log.kinds_before != 0


@compiled
def keep_error(log: Record, registers: Records, page: int, clear: bool, drop: bool) -> None:
    """Log the error of this cycle, and count the errors of the last cycle.

    Parameters
    ----------
    page : int
        Page of the registers.
    clear, drop : bool
        Strobes: clear the log and all counters; drop the oldest error.
    """
    words = _COUNTS[min(page, CONTEXT)]
    level = 0 if clear else log.log_level
    if clear:
        log.log_level = log.log_total = 0
        for word in words:
            if word:
                set_word(registers[word], 0)
    elif log.kinds_before:
        log.log_total = (log.log_total + 1) & 0xFFFFFFFF
        for code, word in enumerate(words):
            counts = log.kinds_before >> code & 1 != 0
            if word and counts and registers[word].contents != _COUNT_MASK:
                count_up(registers[word], 1, _COUNT_MASK)
    if not clear and drop and log.log_level:
        log.log_level -= 1
        log.log_head = (log.log_head + 1) % ERROR_LOG_DEPTH
    log.kinds_before = log.kinds
    if log.failure and level < _PLACES_BY_RANK[log.failure_rank]:
        behind = (log.log_head + log.log_level) % ERROR_LOG_DEPTH
        log.errors[behind], log.places[behind] = log.failure, log.failure_place
        log.log_level += 1
