"""Injection: bit errors that software requests in the memories.

A word has one bit error, or it has two and is lost. The model stores no further state of the check
bits.
"""

from rtl.interface.encodings import InjectTarget
from rtl.registers.map import GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from ..records import Record, Records, record
from .words import F, R, field_of, get_field, set_word

__all__ = [
    "COMMANDS",
    "CORRECTED",
    "GROUPS",
    "INJECTION",
    "ISSUE_ACKS",
    "LOST",
    "TILES",
    "arm",
    "arm_banks",
    "bit_errors",
    "entry_bit_errors",
    "is_armed",
    "step_injection",
]

INJECTION = record(
    "strobe injecting bank_armed bank_number bank_waits armed armed_target armed_number "
    "armed_shown entries_have_errors"
)
"""Strobe of the register; flag that a memory is armed or shown as armed; bit errors for the next
word of a bank; bit errors for the next word of another memory; flag that an entry of a bank ever
had bit errors.
"""

CORRECTED, LOST = 1, 2
_NONE, _TRACKER = InjectTarget.NONE.value, InjectTarget.TRACKER.value
TILES, GROUPS = InjectTarget.TILES.value, InjectTarget.GROUPS.value
COMMANDS, ISSUE_ACKS = InjectTarget.COMMANDS.value, InjectTarget.ISSUE_ACKS.value


@compiled
def arm(config: Record, own: Record, registers: Records, value: int) -> bool:
    """Write INJECT; return whether the memory exists."""
    target, instance = field_of(value, F.INJECT_target), field_of(value, F.INJECT_instance)
    exists = target == _NONE
    if target == _TRACKER:
        exists = instance < config.banks
    elif target == ISSUE_ACKS:
        exists = instance < config.channels
    elif TILES <= target <= COMMANDS:
        exists = instance < config.contexts
    if exists:
        register = registers[GLOBAL, R.INJECT]
        set_word(register, value & register.writable)
        own.strobe = own.injecting = 1
    return exists


@compiled
def arm_banks(own: Record, registers: Records) -> None:
    """Arm a bank, at the start of a cycle. A bank writes its memory one cycle after it changed its
    table, so the strobe of this cycle already takes effect.
    """
    page = registers[GLOBAL]
    own.armed_shown = own.bank_waits | own.armed != 0
    if own.strobe:
        of_bank = get_field(page, F.INJECT_target) == _TRACKER
        own.bank_armed = get_field(page, F.INJECT_double) + 1 if of_bank else 0
        own.bank_number = get_field(page, F.INJECT_instance)
    own.bank_waits = own.bank_armed != 0


@compiled
def step_injection(own: Record, registers: Records) -> None:
    """Arm the other memories, at the end of a cycle: their strobe takes effect in the next
    cycle.
    """
    page = registers[GLOBAL]
    if own.strobe:
        target = get_field(page, F.INJECT_target)
        is_other = target != _NONE and target != _TRACKER
        own.armed = get_field(page, F.INJECT_double) + 1 if is_other else 0
        own.armed_target, own.armed_number = target, get_field(page, F.INJECT_instance)
    own.strobe = 0
    own.injecting = own.bank_armed | own.bank_waits | own.armed | own.armed_shown != 0


@inlined
def is_armed(own: Record, target: int, number: int) -> bool:
    """Return whether the next word of a memory other than a bank's gets bit errors."""
    return own.armed != 0 and own.armed_target == target and own.armed_number == number


@inlined
def bit_errors(own: Record, target: int, number: int) -> int:
    """Return the bit errors of a word that is written into a memory other than a bank's."""
    if not is_armed(own, target, number):
        return 0
    bits = own.armed
    own.armed = 0
    return bits


@inlined
def entry_bit_errors(own: Record, number: int) -> int:
    """Return the bit errors of an entry that a bank writes."""
    if own.bank_armed == 0 or own.bank_number != number:
        return 0
    bits = own.bank_armed
    own.bank_armed = 0
    own.entries_have_errors = 1
    return bits
