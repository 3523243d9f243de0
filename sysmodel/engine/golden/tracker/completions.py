"""Completions: each bank's queue of complete tiles, and the merge that offers one in a cycle."""

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.tiles import make_completion
from ..records import Record, record
from ..state import GoldenState
from .counts import note_completion, note_taken

__all__ = [
    "COMPLETIONS",
    "MERGE",
    "offer_completion",
    "offered_completion",
    "offers_to",
    "push_completion",
    "take_completion",
    "withdraw_completion",
]

COMPLETIONS = 8
"""Depth of a bank's queue."""
MERGE = record("bank_pointer completions_waiting offered_bank")
"""First bank of the merge, number of waiting completions in all banks, and the bank that offers a
completion in this cycle, or -1.
"""


@inlined
def push_completion(
    s: GoldenState, bank: Record, tile: Record, start: int, outer_edge: int, inner_edge: int
) -> None:
    """Push a completion; the front has ensured that there is space."""
    to = bank.completions[(bank.completions_head + bank.completions_level) & (COMPLETIONS - 1)]
    make_completion(to, tile, start, outer_edge, inner_edge)
    bank.completions_level += 1
    s.gpu.merge.completions_waiting += 1
    note_completion(s.contexts[natural(tile.owner)].tracker)


@inlined
def offer_completion(s: GoldenState) -> None:
    """Offer the oldest completion of the first bank, at or after the merge's pointer, that has any;
    at the start of a cycle.
    """
    config, merge = s.config, s.gpu.merge
    merge.offered_bank = -1
    if merge.completions_waiting:
        index = natural(merge.bank_pointer)
        while s.banks[index].completions_level == 0:
            index = index + 1 if index + 1 < config.banks else 0
        merge.offered_bank = index


@inlined
def withdraw_completion(merge: Record) -> None:
    """Offer no completion in this cycle."""
    merge.offered_bank = -1


@inlined
def offered_completion(s: GoldenState) -> Record:
    """Return the offered completion, or an arbitrary completion if none is offered."""
    bank = s.banks[natural(max(s.gpu.merge.offered_bank, 0))]
    return bank.completions[natural(bank.completions_head)]


@inlined
def offers_to(s: GoldenState, context: int) -> bool:
    """Return whether a completion is offered to the context."""
    return s.gpu.merge.offered_bank >= 0 and offered_completion(s).owner == context


@inlined
def take_completion(s: GoldenState) -> int:
    """Take the completion that is offered; return its bank."""
    merge = s.gpu.merge
    index = natural(merge.offered_bank)
    bank = s.banks[index]
    note_taken(s.contexts[natural(bank.completions[natural(bank.completions_head)].owner)].tracker)
    bank.completions_head = (bank.completions_head + 1) & (COMPLETIONS - 1)
    bank.completions_level -= 1
    merge.completions_waiting -= 1
    merge.offered_bank = -1
    merge.bank_pointer = index + 1 if index + 1 < s.config.banks else 0
    return index
