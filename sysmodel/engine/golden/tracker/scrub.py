"""Scrubbing of a tracker bank: the walk that writes corrected entries back into the table."""

from sysmodel.lib.compiled import compiled

from ..index import natural
from ..scrub import note_scrubbed, step_scrub
from ..state import GoldenState
from .clearing import reads_row
from .table import correct_entry, first_corrected, is_undisturbed

__all__ = ["SCRUB_WORDS", "begin_bank_scrub", "end_bank_scrub"]

SCRUB_WORDS = "fix_waits fixes fixed_way"
"""Fields of the bank's record: an entry is to be written back in the next cycle; an entry is
written back in this cycle; its way.
"""


@compiled
def begin_bank_scrub(s: GoldenState, number: int, comes: bool) -> None:
    """Advance the walk by one cycle, before the bank changes its table. A change of cycle *c* is
    written in *c* + 1.

    Parameters
    ----------
    comes : bool
        An event enters the bank in this cycle.
    """
    bank, cycle = s.banks[natural(number)], s.gpu.cycle
    walk, undisturbed = bank.walk, is_undisturbed(bank, cycle)
    bank.fixes = bank.fix_waits and undisturbed
    bank.fix_waits = walk.corrects
    way = -1
    if walk.reads and undisturbed:
        way = first_corrected(s.config, s.entries[natural(number), natural(walk.scrub_row)])
        if way >= 0:
            bank.fixed_way = way
    busy = comes or bank.clearing or bank.fixes or reads_row(s.config, bank)
    strobe = s.gpu.scrubber.scrub_strobe
    step_scrub(walk, s.config.rows, strobe, undisturbed, way >= 0, busy)


@compiled
def end_bank_scrub(s: GoldenState, number: int) -> None:
    """Write the corrected entry; a read of the set in this cycle has not seen the write."""
    bank = s.banks[natural(number)]
    if bank.fixes:
        row, way = natural(bank.walk.scrub_row), natural(bank.fixed_way)
        correct_entry(s.entries[natural(number), row, way], s.gpu.cycle)
        note_scrubbed(s.gpu.scrubber, True)
        bank.fixes = 0
