"""Clock enables of the tracker's blocks."""

from sysmodel.lib.compiled import inlined

from ..index import natural
from ..records import record
from ..scrub import walks
from ..state import GoldenState
from ..tracker.bank import event_comes, has_events
from ..tracker.clearing import is_clearing
from ..tracker.front import FrontOutputs
from ..tracker.table import is_undisturbed
from .counters import enable
from .kinds import BLOCK

__all__ = ["BANK_ACTIVITY", "count_bank", "count_front", "count_merge", "look_at_scrub"]

BANK_ACTIVITY = record("came scrubs")
"""Arrival of an event in the bank, a bit for each of the last two cycles; whether a step
of the bank's walk is due or outstanding in this cycle."""


@inlined
def count_front(s: GoldenState, done: FrontOutputs) -> None:
    """Count the clock enable of the front, which stays high for one cycle after a choice."""
    own = s.activity
    enable(s, BLOCK.tracker_front, done.nominates or done.chooses or own.front_chose != 0)
    own.front_chose = done.chooses


@inlined
def count_merge(s: GoldenState, taken: bool) -> None:
    """Count the clock enable of the merge of completions, which exists only with more than one
    bank.
    """
    enable(s, BLOCK.tracker_merge, taken and s.config.banks > 1)


@inlined
def look_at_scrub(s: GoldenState, number: int) -> None:
    """Read the state of a bank's walk, at the start of a cycle."""
    s.bank_activity[number].scrubs = walks(s.gpu.scrubber, s.banks[number].walk)


@inlined
def count_bank(s: GoldenState, number: int, clear: int, taken: bool) -> bool:
    """Count the clock enable of a bank, before its cycle; return whether the clock is enabled.

    An access of the bank's memories is outstanding for two more cycles.

    Parameters
    ----------
    clear : int
        Strobes: a bit for each context whose entries are to be cleared.
    taken : bool
        A completion of the bank is taken in this cycle.
    """
    own, bank, cycle = s.bank_activity[natural(number)], s.banks[natural(number)], s.gpu.cycle
    came = own.came
    own.came = (came << 1 | event_comes(bank, cycle)) & 3
    busy = has_events(bank, cycle) or is_clearing(bank) or not is_undisturbed(bank, cycle)
    busy = busy or taken or clear != 0 or came | own.scrubs | bank.fixes != 0
    busy = busy or s.gpu.injection.strobe != 0
    enable(s, BLOCK.tracker_bank, busy)
    return busy
