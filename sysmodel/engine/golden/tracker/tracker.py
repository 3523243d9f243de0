"""Tracker: its counts of all contexts, over all banks."""

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..state import GoldenState
from .clearing import is_clearing_context
from .counts import begin_counts, count_entries
from .table import reset_entry_counts

__all__ = ["begin_contexts", "clears_context", "count_contexts"]


@inlined
def clears_context(s: GoldenState, context: int) -> bool:
    """Return whether a bank clears the context's entries."""
    for index in range(s.config.banks):
        bank = s.banks[natural(index)]
        if bank.clearing or is_clearing_context(bank, context):
            return True
    return False


@inlined
def count_contexts(s: GoldenState, clear: int) -> None:
    """Count the entries of each context that the last cycle made or freed, before the banks' cycle.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context whose entries are to be cleared.
    """
    for context in range(s.config.contexts):
        own, clears = s.contexts[context].tracker, clear >> context & 1 != 0
        if clear != 0 or own.entries_change != 0:
            bank = s.banks[0]
            clears = clears or bank.clearing != 0 or is_clearing_context(bank, context)
            count_entries(own, clears)
            if clears:
                reset_entry_counts(s.banks, s.config.banks, context)


@inlined
def begin_contexts(s: GoldenState) -> None:
    """Begin a cycle of the banks in which no entry was made yet."""
    for context in range(s.config.contexts):
        begin_counts(s.contexts[context].tracker)
