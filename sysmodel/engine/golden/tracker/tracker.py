"""Tracker: counts of all contexts, over all banks."""

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..state import GoldenState
from .bank import begin_bank
from .clearing import is_clearing_context
from .completions import withdraw_completion
from .counts import begin_counts, count_entries
from .scrub import end_bank_scrub
from .table import reset_entry_counts

__all__ = ["begin_entries", "begin_tracker", "clears_context", "end_tracker"]


@inlined
def clears_context(s: GoldenState, context: int) -> bool:
    """Return whether a bank clears the context's entries."""
    for index in range(s.config.banks):
        bank = s.banks[natural(index)]
        if bank.clearing or is_clearing_context(bank, context):
            return True
    return False


@inlined
def _count_contexts(s: GoldenState, clear: int) -> None:
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
def begin_tracker(s: GoldenState, clear: int) -> None:
    """Begin a cycle of the tracker: count the entries of the last cycle, offer no completion yet,
    and move the scrub walks on before the banks change their tables.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context whose entries are to be cleared.
    """
    _count_contexts(s, clear)
    withdraw_completion(s.gpu.merge)
    if s.gpu.scrubber.scrubbing:
        for index in range(s.config.banks):
            begin_bank(s, index)


@inlined
def end_tracker(s: GoldenState) -> None:
    """End a cycle of the tracker: write the corrected entries."""
    if s.gpu.scrubber.scrubbing:
        for index in range(s.config.banks):
            end_bank_scrub(s, index)


@inlined
def begin_entries(s: GoldenState) -> None:
    """Begin a cycle of the banks in which no entry was made yet."""
    for context in range(s.config.contexts):
        begin_counts(s.contexts[context].tracker)
