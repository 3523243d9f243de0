"""Errors and interrupts: the first of each cycle, the log that software reads, what is pending."""

import numpy as np

from rtl.interface.encodings import ErrorCode
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from .rooms import ROOM, wake
from .state import F, R

__all__ = [
    "PLACE_ATOM",
    "clear_interrupts",
    "describe_error",
    "error",
    "interrupts",
    "is_of_link",
    "note_failure",
    "note_link",
    "oldest_error",
    "oldest_place",
    "owner_of",
    "place_of",
    "report",
    "tell_of_context",
    "tell_of_gpu",
]


def _bits(field):
    _, low, mask = field
    return mask << low


_COUNT_MASK = 0xFFFF
PLACE_ATOM = (1 << 48) - 1
_STRAY = 1 << 62
_CLEAR, _DROP = _bits(F.CONTROL_clear_error), _bits(F.CONTROL_drop_error)
_GPU_CLEAR, _GPU_DROP = _bits(F.GPU_CONTROL_clear_error), _bits(F.GPU_CONTROL_drop_error)
_DONE, _IDLE, _COPY = map(_bits, (F.INTERRUPTS_done, F.INTERRUPTS_idle, F.INTERRUPTS_copy))
_LINK = _bits(F.INTERRUPTS_link)
_LINK_DOWN, _LINK_RESET = ErrorCode.LINK_DOWN.value, ErrorCode.LINK_RESET.value
_ERROR_EVENTS = _bits(F.GPU_INTERRUPTS_error), _bits(F.INTERRUPTS_error)
_PENDING = (R.GPU_INTERRUPTS, R.INTERRUPTS)
_ENABLE = (R.GPU_INTERRUPT_ENABLE, R.INTERRUPT_ENABLE)
# Word of the counter of each code, for the GPU's page and for a context's; 0 without one.
_COUNTS = np.array(
    [[getattr(R, f"{prefix}COUNT_{code.name}", 0) for code in ErrorCode] for prefix in ("GPU_", "")]
)


@inlined
def error(code, owner, dispatch_index, wavefront):
    """An error report in one word; no error is 0."""
    return code | wavefront << 8 | dispatch_index << 24 | owner << 48


@inlined
def owner_of(error):
    """The context that an error is reported to."""
    return error >> 48


@inlined
def is_of_link(error):
    return error & 255 in (_LINK_DOWN, _LINK_RESET)


@inlined
def place_of(atom, source, channel, stray):
    """Where an error was, in one word: 0 if that is not known."""
    return atom | source << 48 | channel << 53 | (_STRAY if stray else 0)


@inlined
def describe_error(error, place):
    """The fields of ``ErrorReport`` after the code, in their order."""
    return (
        error >> 48,
        error >> 24 & 0xFFFFFF,
        error >> 8 & 0xFFFF,
        place & PLACE_ATOM,
        place >> 48 & 31,
        place >> 53 & 255,
        place >> 62,
    )


@inlined
def report(s, failure, place, of_channel):
    """Keep an owner's first error of the cycle; those of channels come before the others."""
    if failure:
        log = s.logs[GLOBAL if place & _STRAY else CONTEXT + owner_of(failure)]
        if of_channel:
            if log.of_channel == 0:
                log.of_channel, log.place_of_channel = failure, place
            s.gpu.called = 1
        else:
            if log.of_unit == 0:
                log.of_unit = failure
            s.gpu.errors_come = 1


@inlined
def oldest_error(log):
    """In the log, or 0."""
    return log.errors[log.first] if log.level else 0


@inlined
def oldest_place(log):
    return log.places[log.first] if log.level else 0


@compiled
def _keep_error(s, page, clear, drop):
    """Log the error of this cycle, which a block reported in the one before, and count the one
    before."""
    log, registers = s.logs[page], s.registers[page]
    kinds = _COUNTS[min(page, CONTEXT)]
    was_full = log.level == ERROR_LOG_DEPTH
    if clear:
        log.level = log.total = 0
        was_full = False
        for word in kinds:
            if word:
                registers[word].value = 0
    elif log.counted:
        log.total = (log.total + 1) & 0xFFFFFFFF
        word = kinds[log.counted & 255]
        if word and registers[word].value != _COUNT_MASK:
            registers[word].value += 1
    if not clear and drop and log.level:
        log.level -= 1
        log.first = (log.first + 1) % ERROR_LOG_DEPTH
    failure = log.failure
    log.counted = failure
    if failure and not was_full:
        behind = (log.first + log.level) % ERROR_LOG_DEPTH
        log.errors[behind], log.places[behind] = failure, log.failure_place
        log.level += 1


@inlined
def _interrupt(s, page, events, clear):
    """What happens in this cycle becomes pending; ``clear``: the errors until now do not stay."""
    log, register = s.logs[page], s.registers[page, _PENDING[min(page, CONTEXT)]]
    of_error = _ERROR_EVENTS[min(page, CONTEXT)]
    log.events = events | (of_error if log.failure else 0)
    register.value = register.value & ~(of_error if clear else 0) | log.events


@inlined
def interrupts(s, page):
    """Whether something that interrupts is pending."""
    registers, kind = s.registers[page], min(page, CONTEXT)
    return registers[_PENDING[kind]].value & registers[_ENABLE[kind]].value != 0


@inlined
def tell_of_context(s, context):
    """Log the context's error of this cycle, and note what interrupts."""
    own, page = s.contexts[context], CONTEXT + context
    sent = own.copying and own.copies_before == 0 and own.has_sent
    own.copying = own.copies_before != 0 or (own.copying and not sent)
    becomes_idle = own.idle and not own.was_idle
    own.was_idle = own.idle
    events = _DONE if own.ended else 0
    events |= _IDLE if becomes_idle else 0
    events |= _LINK if is_of_link(s.logs[GLOBAL].failure) else 0
    clear = own.given & _CLEAR != 0
    _interrupt(s, page, events | (_COPY if sent else 0), clear)
    if s.logs[page].failure or s.logs[page].counted or own.given:
        _keep_error(s, page, clear, own.given & _DROP != 0)


@inlined
def tell_of_gpu(s):
    """Likewise of no context."""
    gpu, log = s.gpu, s.logs[GLOBAL]
    clear = log.strobes & _GPU_CLEAR != 0
    strobes = log.strobes & (_GPU_CLEAR | _GPU_DROP)
    if strobes | log.failure | log.counted | gpu.arms:
        gpu.page_awake = 1
    _interrupt(s, GLOBAL, 0, clear)
    if log.failure or log.counted or log.strobes:
        _keep_error(s, GLOBAL, clear, log.strobes & _GPU_DROP != 0)
    log.strobes = 0
    failure, place = log.of_channel, log.place_of_channel
    if gpu.link_waits | gpu.link_comes:
        wake(s, ROOM.link_errors)
    if gpu.links_fail:
        gpu.link_waits = _link_errors_wait(s)
        if failure == 0:
            failure, place = _take_link_error(s)
    else:
        gpu.link_waits = 0
    note_failure(log, failure, place)


@inlined
def note_link(s, number, down, reset):
    """What the endpoints of a channel's link say waits until the GPU has no other error."""
    if down | reset:
        s.channels[number].link_errors |= down | reset << 1
        s.gpu.links_fail = s.gpu.link_comes = s.gpu.called = 1


@compiled
def _link_errors_wait(s):
    for number in range(s.config.channels):
        if s.channels[number].link_errors:
            return True
    return False


@compiled
def _take_link_error(s):
    """The first one that waits: of the lowest channel, that it is down first."""
    for number in range(s.config.channels):
        channel = s.channels[number]
        if channel.link_errors:
            is_down = channel.link_errors & 1
            channel.link_errors &= 2 if is_down else 0
            return _LINK_DOWN if is_down else _LINK_RESET, place_of(0, 0, number, True)
    s.gpu.links_fail = 0
    return 0, 0


@inlined
def note_failure(log, failure, place):
    """The first error of a cycle counts in the next one."""
    log.failure, log.failure_place = failure, place
    log.of_channel = log.place_of_channel = log.of_unit = 0


@inlined
def clear_interrupts(s, page, word, seen):
    """Software has seen these; what happens in the same cycle stays."""
    register = s.registers[page, word]
    register.value = register.value & ~seen | s.logs[page].events
