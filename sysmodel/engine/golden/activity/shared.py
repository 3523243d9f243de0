"""Clock enables of the blocks that exist once."""

from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.lib.compiled import inlined

from ..registers.bus import writes_page
from ..registers.errors import needs_log
from ..registers.words import F, field_bits
from ..scrub import is_timed
from ..state import GoldenState
from .counters import enable
from .kinds import BLOCK

__all__ = [
    "count_link_errors",
    "count_registers",
    "count_shared",
    "count_status",
    "look_at_global_page",
    "note_unit_error",
]

_LOG_STROBES = field_bits(F.GPU_CONTROL_clear_error) | field_bits(F.GPU_CONTROL_drop_error)


@inlined
def count_registers(s: GoldenState, changes: bool) -> None:
    """Count the clock enable of the register port."""
    enable(s, BLOCK.registers, changes)


@inlined
def note_unit_error(s: GoldenState, failure: bool) -> None:
    """Record that a bank or a unit reports an error in this cycle."""
    s.activity.errors_now |= failure


@inlined
def count_status(s: GoldenState, changes: bool) -> None:
    """Count the clock enables of the counters of corrections and of scrubbed words, and of the
    status register.

    Parameters
    ----------
    changes : bool
        The status of a context, or the flag of armed bit errors, changes.
    """
    corrections, scrubber = s.gpu.corrections, s.gpu.scrubber
    enable(s, BLOCK.corrections, corrections.corrected_before != 0)
    enable(s, BLOCK.scrubs, scrubber.scrubbed_before != 0)
    changes = changes or corrections.corrected != corrections.corrected_before
    enable(s, BLOCK.status_register, changes or scrubber.scrubbed != scrubber.scrubbed_before)


@inlined
def look_at_global_page(s: GoldenState) -> None:
    """Record whether a register of the GPU's page may change, before its cycle."""
    log = needs_log(s.logs[GLOBAL]) or s.interrupts[GLOBAL].log_strobes & _LOG_STROBES != 0
    timed = s.gpu.scrubber.scrubbing and is_timed(s.gpu.scrubber)
    if log or timed or s.gpu.injection.strobe:
        s.activity.page_changes = 1


@inlined
def count_link_errors(s: GoldenState, comes: bool) -> None:
    """Count the clock enable of the link errors, before their cycle; ``comes`` means that a link
    reports an error.
    """
    enable(s, BLOCK.link_errors, comes or s.gpu.links.link_error_waits != 0)


@inlined
def count_shared(s: GoldenState, acts: bool) -> None:
    """Count the clock enables of the GPU's page and of the error priority encoder, at the end of a
    cycle.

    Parameters
    ----------
    acts : bool
        A write acts in this cycle.
    """
    own, bus = s.activity, s.gpu.bus
    enable(s, BLOCK.registers_gpu, writes_page(bus, acts, GLOBAL) or own.page_changes != 0)
    enable(s, BLOCK.error_priority_encoder, own.errors_now | own.errors_before != 0)
    own.errors_before, own.errors_now = own.errors_now, 0
    own.page_changes = own.pages_written = 0
    if acts:
        page = bus.awaddr >> PAGE_BITS
        own.pages_written = 1 << page if page < CONTEXT + s.config.contexts else 0
