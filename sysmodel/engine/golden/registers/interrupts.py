"""Interrupts: events that become pending, of the GPU and of each context."""

from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import inlined

from ..records import Record, Records, record
from ..state import GoldenState
from .errors import OF_LINK, keep_error, needs_log
from .words import F, R, clear_bits, field_bits

__all__ = [
    "INTERRUPTS",
    "clear_interrupts",
    "interrupts",
    "set_global_strobes",
    "step_context_page",
    "step_global_page",
]

INTERRUPTS = record("copying was_idle events log_strobes")
"""Interrupts of a page: flags that copies were outstanding and that the context was idle in the
last cycle; events of this cycle; strobes of the GPU's log.
"""

_CLEAR, _DROP = field_bits(F.CONTROL_clear_error), field_bits(F.CONTROL_drop_error)
_GPU_CLEAR, _GPU_DROP = field_bits(F.GPU_CONTROL_clear_error), field_bits(F.GPU_CONTROL_drop_error)
_DONE, _IDLE = field_bits(F.INTERRUPTS_done), field_bits(F.INTERRUPTS_idle)
_COPY, _LINK = field_bits(F.INTERRUPTS_copy), field_bits(F.INTERRUPTS_link)
_PROGRESS = field_bits(F.INTERRUPTS_progress)
_ERROR_EVENTS = field_bits(F.GPU_INTERRUPTS_error), field_bits(F.INTERRUPTS_error)
_PENDING = (R.GPU_INTERRUPTS, R.INTERRUPTS)
_ENABLE = (R.GPU_INTERRUPT_ENABLE, R.INTERRUPT_ENABLE)


@inlined
def _interrupt(s: GoldenState, page: int, events: int, clear: bool) -> None:
    """Make the events of this cycle pending.

    Parameters
    ----------
    clear : bool
        Strobe: a pending error is cleared, unless it occurs in this cycle.
    """
    kind = min(page, CONTEXT)
    of_error = _ERROR_EVENTS[kind]
    own = s.interrupts[page]
    own.events = events | (of_error if s.logs[page].kinds else 0)
    clear_bits(s.registers[page, _PENDING[kind]], of_error if clear else 0, own.events)


@inlined
def interrupts(registers: Records, page: int) -> bool:
    """Return whether an enabled event of a page is pending."""
    kind = min(page, CONTEXT)
    return registers[page, _PENDING[kind]].contents & registers[page, _ENABLE[kind]].contents != 0


@inlined
def clear_interrupts(s: GoldenState, page: int, word: int, seen: int) -> None:
    """Clear the events that software has seen; events of the same cycle stay pending."""
    clear_bits(s.registers[page, word], seen, s.interrupts[page].events)


@inlined
def set_global_strobes(own: Record, value: int) -> None:
    """Set the strobes of the GPU's log for the next cycle."""
    own.log_strobes = value


@inlined
def step_context_page(
    s: GoldenState,
    context: int,
    strobes: int,
    idle: bool,
    sent: bool,
    ended: bool,
    reports: bool,
    copies: int,
) -> None:
    """Log the context's error of this cycle, and make its events pending.

    Parameters
    ----------
    strobes : int
        Strobes of ``CONTROL`` in this cycle.
    idle : bool
        The context is idle.
    sent : bool
        The context's DMA work was done in the last cycle.
    ended : bool
        A launch ends.
    reports : bool
        A launch comes to a step of its progress.
    copies : int
        Copies that waited at the start of the cycle.
    """
    page = CONTEXT + context
    own, log = s.interrupts[page], s.logs[page]
    copied = own.copying and copies == 0 and sent
    own.copying = copies != 0 or (own.copying and not copied)
    becomes_idle = idle and not own.was_idle
    own.was_idle = idle
    events = _DONE if ended else 0
    events |= _IDLE if becomes_idle else 0
    events |= _PROGRESS if reports else 0
    events |= _LINK if s.logs[GLOBAL].kinds & OF_LINK else 0
    clear = strobes & _CLEAR != 0
    _interrupt(s, page, events | (_COPY if copied else 0), clear)
    if needs_log(log) or strobes:
        keep_error(log, s.registers[page], page, clear, strobes & _DROP != 0)


@inlined
def step_global_page(s: GoldenState) -> None:
    """Log the GPU's error of this cycle, and make its event pending."""
    own, log = s.interrupts[GLOBAL], s.logs[GLOBAL]
    strobes, clear = own.log_strobes, own.log_strobes & _GPU_CLEAR != 0
    _interrupt(s, GLOBAL, 0, clear)
    if needs_log(log) or strobes:
        keep_error(log, s.registers[GLOBAL], GLOBAL, clear, strobes & _GPU_DROP != 0)
    own.log_strobes = 0
