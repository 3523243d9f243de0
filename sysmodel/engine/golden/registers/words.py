"""Words of the register port: their addresses, their fields, and their contents."""

from rtl.interface.configuration import EPOCH_BITS, GATE_CONTEXT_BITS, GENERATION_BITS
from rtl.interface.signatures import MOST_LINKS
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import ALWAYS, CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from ..constants import constants
from ..records import Record, Records, record

__all__ = [
    "EPOCHS",
    "REGISTER",
    "REGISTERS",
    "F",
    "Field",
    "R",
    "clear_bits",
    "count_up",
    "describe_registers",
    "field_bits",
    "field_of",
    "get_field",
    "put_field",
    "set_word",
    "store_word",
]

REGISTER = record("contents reset writable readable known accepts lock")
"""Word: its contents, its contents after reset, masks of the bits that software can write and read,
the flags that a register exists and that software can write to it, even if this instance keeps no
bit of it, and the bits of the lock that protect it (-1: always).
"""

Field = tuple[int, int, int]
"""Field: its word, its lowest bit, and its mask."""

_map = register_map.load()
_LOCKS = {GLOBAL: _map["GPU_LOCK"], CONTEXT: _map["LOCK"]}
R = constants("Registers", {name: register.offset // 4 for name, register in _map.items()})
"""Word of each register in its page."""
F = constants(
    "Fields",
    {
        f"{r.name}_{f.name}": (r.offset // 4, f.low, (1 << f.width) - 1)
        for r in _map.values()
        for f in r.fields
    },
)
"""Each field of each register."""

EPOCHS = 1 << EPOCH_BITS
"""First number that is no epoch."""

REGISTERS = max(R) + 1
"""Number of words of a page."""


def field_bits(field: Field) -> int:
    """Return the bits of a field in its word."""
    _, low, mask = field
    return mask << low


@inlined
def field_of(word: int, field: Field) -> int:
    """Return a field of a word."""
    _, low, mask = field
    return (word >> low) & mask


@compiled
def get_field(registers: Records, field: Field) -> int:
    """Return a field of a page's registers."""
    word, low, mask = field
    return (registers[word].contents >> low) & mask


@compiled
def put_field(field: Field, value: int) -> int:
    """Return a word with this field."""
    _, low, mask = field
    return (value & mask) << low


@inlined
def set_word(register: Record, value: int) -> None:
    """Set all bits of a register."""
    register.contents = value


@inlined
def store_word(register: Record, value: int) -> None:
    """Set the bits of a register that software can write."""
    kept = register.writable
    register.contents = (register.contents & ~kept) | (value & kept)


@inlined
def count_up(register: Record, step: int, mask: int) -> None:
    """Add a step to a counter."""
    register.contents = (register.contents + step) & mask


@inlined
def clear_bits(register: Record, cleared: int, events: int) -> None:
    """Clear bits of a register, and set the bits of this cycle's events."""
    register.contents = register.contents & ~cleared | events


def describe_registers(p: T3Parameters, registers: Records) -> None:
    """Describe all words of an instance; a field keeps the bits that its destination has."""
    there = int(p.contexts > 1)
    widths = {
        F.WORKGROUPS_count: p.workgroup_bits + 1,
        F.TRACKED_FIRST_dispatch_index: p.credit_limit_bits,
        F.TRACKED_END_dispatch_index: p.credit_limit_bits,
        F.TO_SEND_count: p.credit_limit_bits,
        F.CREDIT_WINDOW_workgroups: p.credit_limit_bits,
        F.COMMAND_WINDOW_workgroups: p.credit_limit_bits,
        F.RANGE_DISPATCH_INDICES_first: p.dispatch_index_bits,
        F.RANGE_DISPATCH_INDICES_last: p.dispatch_index_bits,
        F.RANGE_ACTION_shares: p.share_bits,
        F.RANGE_PEERS_slot_offset: p.credit_limit_bits,
        F.PEER_space: p.context_bits,
        F.ADDRESS_SPACE_local: p.context_bits,
        F.WAYS_mask: p.ways,
        F.MAY_AWAIT_contexts: p.await_bits,
        F.RANGE_GATE_enable: there,
        F.RANGE_GATE_context: GATE_CONTEXT_BITS * there,
        F.RANGE_GATE_generation: GENERATION_BITS * there,
        F.RANGE_GATE_slot: p.credit_limit_bits * there,
        F.RANGE_BAND_workgroups: p.dispatch_index_bits * there,
        F.RANGE_BAND_slots: p.dispatch_index_bits * there,
    }
    of_gpu = {F.LINK_OFF_links: min(p.channels, MOST_LINKS)}
    for register in _map.values():
        word = register.offset // 4
        row = registers[register.page][word]
        row["known"] = 1
        row["accepts"] = register.writable
        if register.lock:
            always = register.lock == ALWAYS
            row["lock"] = -1 if always else _LOCKS[register.page][register.lock].mask
        for field in register.fields:
            mask = (1 << field.width) - 1
            kept = widths if register.page == CONTEXT else of_gpu  # words have the same numbers
            mask &= (1 << kept.get((word, field.low, mask), field.width)) - 1
            row["reset"] |= ((field.reset or 0) & mask) << field.low
            row["writable"] |= mask << field.low if field.writable else 0
            row["readable"] |= mask << field.low if field.readable else 0
    registers[GLOBAL][R.CONTEXTS]["reset"] = p.contexts << F.CONTEXTS_count[1]
    registers[CONTEXT][R.EPOCHS]["reset"] = EPOCHS << F.EPOCHS_next[1]
    registers[CONTEXT:] = registers[CONTEXT]
    for context in range(p.contexts):
        ways = range(context * p.ways // p.contexts, (context + 1) * p.ways // p.contexts)
        registers[CONTEXT + context][R.WAYS]["reset"] = sum(1 << way for way in ways)
