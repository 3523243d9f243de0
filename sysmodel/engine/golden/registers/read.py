"""Reads of the register port: addresses, and the data of each register."""

from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.lib.compiled import compiled, inlined

from ..records import Record
from ..state import GoldenState
from .errors import PLACE_ATOM, channel_of, oldest_error, oldest_place, source_of
from .words import REGISTERS, F, R, put_field

__all__ = ["NO_WORD", "OKAY", "REJECT", "page_of", "read_register", "word_of"]

OKAY, REJECT = 0, 2
"""Responses of the bus."""
NO_WORD = -1
"""Word of an address that has none."""


@inlined
def page_of(config: Record, address: int) -> int:
    """Return the page of an address: 0 for the GPU, from 1 on for the contexts, -1 for none."""
    page = address >> PAGE_BITS
    return -1 if page > config.contexts else page


@inlined
def word_of(address: int) -> int:
    """Return the word of an address in its page, or ``NO_WORD``."""
    word = (address & ((1 << PAGE_BITS) - 1)) >> 2
    return NO_WORD if address & 3 or word >= REGISTERS else word


@compiled
def _read_error(config: Record, log: Record, word: int, is_context: bool) -> tuple[bool, int]:
    """Read a register of an error log; return whether the register belongs to a log, and
    its data.
    """
    failure, place = oldest_error(log), oldest_place(log)
    if word == (R.ERROR if is_context else R.GPU_ERROR):
        return True, (
            put_field(F.ERROR_code, failure & 255)
            | put_field(F.ERROR_wavefront, (failure >> 8) & 0xFFFF)
            | put_field(F.ERROR_dispatch_index, failure >> 24)
        )
    if word == (R.ERROR_LOCATION if is_context else R.GPU_ERROR_LOCATION):
        return True, (
            put_field(F.ERROR_LOCATION_channel, channel_of(place))
            | put_field(F.ERROR_LOCATION_source, source_of(place))
            | put_field(F.ERROR_LOCATION_errors, log.log_level)
        )
    address = (place & PLACE_ATOM) << config.atom_shift
    if word == (R.ERROR_ADDRESS_LO if is_context else R.GPU_ERROR_ADDRESS_LO):
        return True, address & 0xFFFFFFFF
    if word == (R.ERROR_ADDRESS_HI if is_context else R.GPU_ERROR_ADDRESS_HI):
        return True, address >> 32
    if word == (R.ERRORS if is_context else R.GPU_ERRORS):
        return True, log.log_total
    return False, 0


@compiled
def _read_status(own: Record, log: Record, word: int, privileged: int) -> tuple[bool, int]:
    """Read a status register of a context; return whether it is a status register, and its data."""
    control = own.control
    refusal = control.privileged_error if privileged else control.configuration_error
    if word == R.STATUS:
        return True, (
            put_field(F.STATUS_done, own.window.done)
            | put_field(F.STATUS_idle, own.status.idle)
            | put_field(F.STATUS_error, log.log_level != 0)
            | put_field(F.STATUS_aborting, control.aborting)
            | put_field(F.STATUS_pending, control.pending)
            | put_field(F.STATUS_running, control.running)
            | put_field(F.STATUS_aborted, control.launch_dropped)
            | put_field(F.STATUS_configuration_error, refusal)
        )
    if word == R.TILES:
        return True, own.trigger.tiles
    if word == R.LAUNCHES:
        begun = put_field(F.LAUNCHES_begun, control.launches_begun)
        return True, begun | put_field(F.LAUNCHES_done, control.launches_done)
    if word == R.OLDEST:
        return True, put_field(F.OLDEST_dispatch_index, own.window.oldest)
    if word == R.CREDIT_LIMIT:
        return True, put_field(F.CREDIT_LIMIT_dispatch_index, own.window.credit_limit)
    return False, 0


@compiled
def read_register(s: GoldenState, address: int, privileged: int) -> tuple[int, int]:
    """Read the register of an address.

    Parameters
    ----------
    privileged : int
        Privileged software reads.

    Returns
    -------
    data, resp : int
    """
    page, word = page_of(s.config, address), word_of(address)
    if page < 0 or word == NO_WORD or not s.registers[page, word].known:
        return 0, REJECT
    registers, log = s.registers[page], s.logs[page]
    known, data = _read_error(s.config, log, word, page != GLOBAL)
    if known:
        return data, OKAY
    if page == GLOBAL:
        if word == R.INJECT:
            armed = put_field(F.INJECT_armed, s.gpu.injection.armed_shown)
            return registers[word].contents | armed, OKAY
        if word == R.GPU_STATUS and privileged:
            return put_field(F.GPU_STATUS_configuration_error, s.gpu.privileged_refusal), OKAY
    else:
        known, data = _read_status(s.contexts[page - CONTEXT], log, word, privileged)
        if known:
            return data, OKAY
    return registers[word].contents & registers[word].readable, OKAY
