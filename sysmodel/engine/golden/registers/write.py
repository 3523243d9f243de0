"""Writes that act: plain registers, strobes, commits and launches."""

from rtl.interface.encodings import ConfigurationError
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from ..state import GoldenState
from .configuration import decode
from .injection import arm
from .interrupts import clear_interrupts, set_global_strobes
from .launch import (
    ABORT,
    LAUNCH,
    accept_launch,
    reset_epochs,
    set_configuration_error,
    set_strobes,
    trust_word,
)
from .launch_check import check_launch
from .read import NO_WORD, OKAY, REJECT, page_of, word_of
from .tables import (
    clear_tables,
    commit_command,
    commit_peer,
    commit_range,
    commit_region,
    is_fixed,
    overlaps_others,
    start_copy,
)
from .words import F, R, field_bits, field_of, put_field, set_word, store_word

__all__ = ["commit", "is_foreign", "moves_fixed", "write_register"]

_IN_USE, _LOCKED = ConfigurationError.IN_USE.value, ConfigurationError.LOCKED.value
_OVERLAP = ConfigurationError.OVERLAP.value
_NOT_WRITABLE = ConfigurationError.NOT_WRITABLE.value
_UNKNOWN_INDEX = ConfigurationError.UNKNOWN_INDEX.value
_HOLD = field_bits(F.LOCK_hold)


@compiled
def _is_act(word: int) -> bool:
    """Return whether a write of a context's register has an effect besides storing a value."""
    return (
        word == R.CONTROL
        or word == R.REGION_COMMIT
        or word == R.RANGE_COMMIT
        or word == R.COMMAND_COMMIT
        or word == R.COPY
        or word == R.PEER_COMMIT
    )


@compiled
def _is_of_launch(word: int) -> bool:
    """Return whether a register is part of a launch's configuration."""
    return (
        word == R.WORKGROUPS
        or word == R.TRACKED_FIRST
        or word == R.TRACKED_END
        or word == R.TO_SEND
        or word == R.CREDIT_WINDOW
        or word == R.COMMAND_WINDOW
        or word == R.TRACKING
        or word == R.TIMEOUT
        or word == R.PROGRESS
    )


@compiled
def _reset_epochs(s: GoldenState, context: int, value: int, busy: bool) -> int:
    """Write EPOCH_RESET, which reports that the memory holds no epochs of the context; return the
    reason for a refusal.
    """
    if not field_of(value, F.EPOCH_RESET_restart):
        return 0
    if busy:
        return _IN_USE
    reset_epochs(s.registers[CONTEXT + context])
    return 0


@compiled
def _write_control(s: GoldenState, context: int, value: int, busy: bool) -> int:
    """Write CONTROL: strobes and a launch; return the reason for a refusal."""
    own = s.contexts[context]
    if field_of(value, F.CONTROL_launch):
        code = _IN_USE if value & ABORT else check_launch(s, context, busy)
        if code:
            return code
        accept_launch(own.control, own.programmed, s.registers[CONTEXT + context])
    writable = s.registers[CONTEXT + context, R.CONTROL].writable
    set_strobes(own.control, value & writable & ~LAUNCH)
    return 0


@inlined
def _is_locked(s: GoldenState, page: int, word: int, value: int, privileged: int) -> bool:
    """Return whether the write is for privileged software only, and is unprivileged."""
    lock = s.registers[page, word].lock
    if page != GLOBAL and word == R.CONTROL and value & (LAUNCH | ABORT):
        lock = _HOLD
    if privileged or not lock:
        return False
    of_page = R.GPU_LOCK if page == GLOBAL else R.LOCK
    return lock < 0 or s.registers[page, of_page].contents & lock != 0


@compiled
def _write_global(s: GoldenState, word: int, value: int) -> int:
    """Write a register of the GPU's page; return the reason for a refusal."""
    if word == R.INJECT:
        exists = arm(s.config, s.gpu.injection, s.registers, value)
        return 0 if exists else _UNKNOWN_INDEX
    if word == R.GPU_CONTROL:
        set_global_strobes(s.interrupts[GLOBAL], value)
    elif word == R.GPU_INTERRUPTS:
        clear_interrupts(s, GLOBAL, word, value)
    else:
        store_word(s.registers[GLOBAL, word], value)
        decode(s)
    return 0


@compiled
def commit(
    s: GoldenState,
    context: int,
    word: int,
    value: int,
    copies: int,
    locked: bool,
    aborted: bool,
    foreign: bool,
    fixed: bool,
    mixed: bool,
    in_use: bool,
) -> int:
    """Commit an entry of a table, or start a copy; return the configuration error."""
    if word == R.REGION_COMMIT:
        index, enable = field_of(value, F.REGION_COMMIT_index), F.REGION_COMMIT_enable
        enabled = field_of(value, enable)
        return commit_region(s, context, index, enabled, locked, foreign, fixed, mixed)
    if word == R.RANGE_COMMIT:
        index, enable = field_of(value, F.RANGE_COMMIT_index), F.RANGE_COMMIT_enable
        return commit_range(s, context, index, field_of(value, enable), locked)
    if word == R.COMMAND_COMMIT:
        return commit_command(s, context, field_of(value, F.COMMAND_COMMIT_index), locked)
    if word == R.PEER_COMMIT:
        index, enable = field_of(value, F.PEER_COMMIT_index), F.PEER_COMMIT_enable
        return commit_peer(s, context, index, field_of(value, enable), in_use)
    command, peers = field_of(value, F.COPY_command), field_of(value, F.COPY_peers)
    return start_copy(s, context, command, peers, copies, aborted)


@compiled
def _takes_space(s: GoldenState, context: int, value: int) -> bool:
    """Return whether a write of ADDRESS_SPACE names the space of another context."""
    written = value & s.registers[CONTEXT + context, R.ADDRESS_SPACE].writable
    if not field_of(written, F.ADDRESS_SPACE_enable):
        return False
    for other in range(s.config.contexts):
        space = s.contexts[other].address_space
        same = space.local == field_of(written, F.ADDRESS_SPACE_local)
        if other != context and space.enable and same:
            return True
    return False


@compiled
def _check_ways(s: GoldenState, context: int, value: int, privileged: int, in_use: bool) -> int:
    """Return the reason to refuse a write of WAYS: the way of another context, which only
    privileged software shares, or a way that the context loses while it may have tiles there.
    """
    for other in range(s.config.contexts):
        if not privileged and other != context and s.contexts[other].ways & value:
            return _OVERLAP
    return _IN_USE if in_use and s.contexts[context].ways & ~value else 0


@compiled
def _write_context(
    s: GoldenState,
    context: int,
    word: int,
    value: int,
    privileged: bool,
    copies: int,
    busy: bool,
    locked: bool,
    aborted: bool,
    foreign: bool,
    fixed: bool,
) -> int:
    """Write a register of a context's page; return the reason for a refusal."""
    page = CONTEXT + context
    if word == R.CONTROL:
        return _write_control(s, context, value, locked or aborted)
    if word == R.INTERRUPTS:
        clear_interrupts(s, page, word, value)
        return 0
    if word == R.EPOCH_RESET:
        return _reset_epochs(s, context, value, busy)
    if word == R.ADDRESS_SPACE and _takes_space(s, context, value):
        return _OVERLAP
    # The page has taken in the `idle` of this cycle.
    in_use = busy or not s.interrupts[page].was_idle
    if word == R.CLEAR:
        if field_of(value, F.CLEAR_tables) and in_use:
            return _IN_USE
        if field_of(value, F.CLEAR_tables):
            clear_tables(s, context)
            set_word(s.registers[page, R.MAY_AWAIT], 0)
            decode(s)
        return 0
    if word == R.WAYS:
        code = _check_ways(s, context, value, privileged, in_use)
        if code:
            return code
    if _is_act(word):
        share = privileged and field_of(value, F.REGION_COMMIT_share) != 0
        mixed = share and s.contexts[context].control.untrusted != 0
        return commit(
            s, context, word, value, copies, locked, aborted, foreign, fixed, mixed, in_use
        )
    if locked and _is_of_launch(word):
        return _IN_USE
    if R.REGION_BASE_LO <= word <= R.REGION_LIMIT_HI:
        trust_word(s.contexts[context].control, word - R.REGION_BASE_LO, privileged)
    store_word(s.registers[page, word], value)
    decode(s)
    return 0


@compiled
def _may_refuse(s: GoldenState, page: int, word: int, value: int) -> bool:
    """Return whether a write of a register could be refused."""
    if s.registers[page, word].lock:
        return True
    if page == GLOBAL:
        return False
    if word == R.CONTROL:
        return field_of(value, F.CONTROL_launch) != 0
    return _is_act(word) or _is_of_launch(word)


@inlined
def _report(s: GoldenState, page: int, code: int, privileged: int) -> None:
    """Set the result of the last write to a page that could be refused, and of the last privileged
    one.
    """
    if page == GLOBAL:
        status = put_field(F.GPU_STATUS_configuration_error, code)
        set_word(s.registers[GLOBAL, R.GPU_STATUS], status)
        if privileged:
            s.gpu.privileged_refusal = code
    else:
        set_configuration_error(s.contexts[page - CONTEXT].control, code, privileged)


@compiled
def is_foreign(s: GoldenState, address: int, privileged: int, value: int) -> bool:
    """Return whether a write commits a region that overlaps another context's and is not shared, at
    the start of a cycle.
    """
    page, word = page_of(s.config, address), word_of(address)
    if page < CONTEXT or word != R.REGION_COMMIT:
        return False
    shares = privileged != 0 and field_of(value, F.REGION_COMMIT_share) != 0
    return not shares and overlaps_others(s, page - CONTEXT)


@compiled
def moves_fixed(s: GoldenState, address: int, value: int) -> bool:
    """Return whether a write commits a region that must not move, at the start of a cycle."""
    page, word = page_of(s.config, address), word_of(address)
    if page < CONTEXT or word != R.REGION_COMMIT:
        return False
    return is_fixed(s, page - CONTEXT, field_of(value, F.REGION_COMMIT_index))


@compiled
def write_register(
    s: GoldenState,
    address: int,
    strobes: int,
    privileged: int,
    value: int,
    copies: int,
    busy: int,
    pending: int,
    aborted: int,
    foreign: bool,
    fixed: bool,
) -> int:
    """Write the register of an address; the next cycle sees the effects.

    Parameters
    ----------
    strobes, privileged : int
        Bytes that are written, and whether privileged software writes.
    copies : int
        Copies of the context that waited at the start of the cycle.
    busy, pending, aborted : int
        State of each context at the start of the cycle, one bit each: a launch runs or waits, or an
        abort is in progress; a launch waits; the context is aborted.
    foreign, fixed : bool
        Results of :func:`is_foreign` and :func:`moves_fixed` at the start of the cycle.

    Returns
    -------
    int
        The response, the same for a write that the page refuses.
    """
    page, word = page_of(s.config, address), word_of(address)
    if page < 0:
        return REJECT
    if strobes != 15 or word == NO_WORD or not s.registers[page, word].accepts:
        _report(s, page, _NOT_WRITABLE, privileged)
    elif _is_locked(s, page, word, value, privileged):
        _report(s, page, _LOCKED, privileged)
    else:
        if page == GLOBAL:
            code = _write_global(s, word, value)
        else:
            context = page - CONTEXT
            locked, is_aborted = (pending >> context & 1) != 0, (aborted >> context & 1) != 0
            is_busy = (busy >> context & 1) != 0
            code = _write_context(
                s,
                context,
                word,
                value,
                privileged != 0,
                copies,
                is_busy,
                locked,
                is_aborted,
                foreign,
                fixed,
            )
        if _may_refuse(s, page, word, value):
            _report(s, page, code, privileged)
    return OKAY
