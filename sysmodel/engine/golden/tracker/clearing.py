"""Clearing of a tracker bank: all rows after reset, and the entries of aborted contexts."""

from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..records import Record
from ..state import GoldenState
from .table import clear_owners, clear_row

__all__ = [
    "CLEARING_WORDS",
    "clearing_contexts",
    "is_clearing",
    "is_clearing_context",
    "reads_row",
    "step_clearing",
]

CLEARING_WORDS = "clearing clear_next clear_pending forgetting"
"""Fields of the bank's record: 1 while all rows are cleared after reset; the next row; contexts
that the next walk clears; contexts that the current walk clears.
"""

_WALK_CYCLES = 2  # cycles from the read of a row to its write


@inlined
def is_clearing(bank: Record) -> bool:
    """Return whether the bank clears entries of any context."""
    return bank.clearing | bank.clear_pending | bank.forgetting != 0


@inlined
def is_clearing_context(bank: Record, context: int) -> bool:
    """Return whether the bank clears the entries of this context, but not of all contexts."""
    return (bank.clear_pending | bank.forgetting) >> context & 1 != 0


@compiled
def clearing_contexts(s: GoldenState) -> int:
    """Return a bit for each context whose entries a bank clears."""
    clearing = 0
    for index in range(s.config.banks):
        bank = s.banks[natural(index)]
        clearing |= bank.clear_pending | bank.forgetting
        if bank.clearing:
            clearing |= (1 << s.config.contexts) - 1
    return clearing


@inlined
def reads_row(config: Record, bank: Record) -> bool:
    """Return whether the walk of this cycle reads a row."""
    return bank.forgetting != 0 and bank.clear_next < config.rows


@compiled
def step_clearing(s: GoldenState, number: int, clear: int, busy: bool) -> None:
    """Advance the clearing of a bank by one cycle, after the bank's pipeline.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context whose entries are to be cleared.
    busy : bool
        At the start of the cycle the pipeline held events, not counting an event chosen in this
        cycle.
    """
    bank, rows = s.banks[natural(number)], s.config.rows
    starts = bank.clear_pending != 0 and not bank.forgetting and not bank.clearing and not busy
    if bank.clearing:
        clear_row(s.config, s.entries[natural(number), natural(bank.clear_next)])
        bank.clear_next += 1
        if bank.clear_next == rows:
            bank.clearing = 0
    elif bank.forgetting:
        # A row is read two cycles before it is written.
        row = bank.clear_next - _WALK_CYCLES
        if row >= 0:
            entries = s.entries[natural(number), natural(row)]
            clear_owners(s.config, bank, entries, bank.forgetting, s.gpu.cycle)
        bank.clear_next += 1
        if bank.clear_next == rows + _WALK_CYCLES:
            bank.forgetting = 0
    if starts:
        bank.forgetting = bank.clear_pending
        bank.clear_pending = 0
        bank.clear_next = 0
    bank.clear_pending |= clear
