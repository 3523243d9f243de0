"""Wrong bits in the memories: software asks for them, and their corrections are counted.

A word has one wrong bit, or two and is lost: that is all that the model keeps of its check bits.
"""

from rtl.interface.encodings import InjectTarget
from rtl.registers.map import GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from .state import F, R

__all__ = [
    "COMMANDS",
    "CORRECTED",
    "GROUPS",
    "ISSUE_ACKS",
    "LOST",
    "TILES",
    "arm",
    "arm_banks",
    "count_corrected",
    "follow_injection",
    "is_armed",
    "wrong_bits",
    "wrong_bits_of_entry",
]

CORRECTED, LOST = 1, 2
_NONE, _TRACKER = InjectTarget.NONE.value, InjectTarget.TRACKER.value
TILES, GROUPS = InjectTarget.TILES.value, InjectTarget.GROUPS.value
COMMANDS, ISSUE_ACKS = InjectTarget.COMMANDS.value, InjectTarget.ISSUE_ACKS.value


@inlined
def _field(s, field):
    word, low, mask = field
    return (s.registers[GLOBAL, word].value >> low) & mask


@compiled
def arm(s, value):
    """Write INJECT; gives whether there is such a memory."""
    _, low, mask = F.INJECT_target
    target = (value >> low) & mask
    _, low, mask = F.INJECT_instance
    instance = (value >> low) & mask
    exists = target == _NONE
    if target == _TRACKER:
        exists = instance < s.config.banks
    elif target == ISSUE_ACKS:
        exists = instance < s.config.channels
    elif TILES <= target <= COMMANDS:
        exists = instance < s.config.contexts
    if exists:
        register = s.registers[GLOBAL, R.INJECT]
        register.value = value & register.writable
        s.gpu.arms = s.gpu.injecting = 1
    return exists


@inlined
def is_armed(s):
    """What INJECT.armed shows in this cycle."""
    return s.gpu.armed_shown


@compiled
def arm_banks(s):
    """At the start of a cycle. A bank writes a cycle after it changed its table, so the strobe of
    this cycle counts already."""
    gpu = s.gpu
    gpu.armed_shown = gpu.bank_waits | gpu.armed != 0
    if gpu.arms:
        of_bank = _field(s, F.INJECT_target) == _TRACKER
        gpu.bank_armed = _field(s, F.INJECT_double) + 1 if of_bank else 0
        gpu.bank_number = _field(s, F.INJECT_instance)
    gpu.bank_waits = gpu.bank_armed != 0


@compiled
def follow_injection(s):
    """At the end of a cycle: the other memories, whose strobe counts in the next one."""
    gpu = s.gpu
    if gpu.arms:
        target = _field(s, F.INJECT_target)
        is_other = target != _NONE and target != _TRACKER
        gpu.armed = _field(s, F.INJECT_double) + 1 if is_other else 0
        gpu.armed_target, gpu.armed_number = target, _field(s, F.INJECT_instance)
    gpu.arms = 0
    gpu.injecting = gpu.bank_armed | gpu.bank_waits | gpu.armed | gpu.armed_shown != 0


@inlined
def wrong_bits(s, target, number):
    """Of a word that is written in this cycle into a memory other than a bank's."""
    gpu = s.gpu
    if gpu.armed == 0 or gpu.armed_target != target or gpu.armed_number != number:
        return 0
    bits = gpu.armed
    gpu.armed = 0
    return bits


@inlined
def wrong_bits_of_entry(s, number):
    """Of an entry that a bank writes."""
    gpu = s.gpu
    if gpu.bank_armed == 0 or gpu.bank_number != number:
        return 0
    bits = gpu.bank_armed
    gpu.bank_armed = 0
    gpu.has_wrong_entries = 1
    return bits


@inlined
def count_corrected(s):
    """At the end of a cycle: what was corrected in the one before counts."""
    gpu = s.gpu
    if gpu.corrected_next | gpu.corrected | gpu.corrected_before:
        count = s.registers[GLOBAL, R.CORRECTED]
        count.value = (count.value + gpu.corrected_before) & 0xFFFFFFFF
        gpu.corrected_before, gpu.corrected = gpu.corrected, gpu.corrected_next
        gpu.corrected_next = 0
