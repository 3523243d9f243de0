"""The walks that write corrected words back into the memories, in cycles without traffic."""

from rtl.registers.map import GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from .injection import CORRECTED
from .queues import natural
from .state import R
from .tracker_bank import comes_now

__all__ = ["begin_bank", "end_bank", "follow_patrol", "is_timed", "step_rows", "walks"]


@compiled
def follow_patrol(s):
    """At the end of a cycle: the timer, and what was counted."""
    gpu, count = s.gpu, s.registers[GLOBAL, R.PATROLLED]
    count.value = (count.value + gpu.patrolled_before) & 0xFFFFFFFF
    gpu.patrolled_before, gpu.patrolled = gpu.patrolled, 0
    ends = gpu.patrol_left <= 1
    gpu.patrols = ends and gpu.patrol_interval != 0
    gpu.patrol_left = gpu.patrol_interval if ends else gpu.patrol_left - 1


@inlined
def is_timed(gpu):
    """Whether the timer counts."""
    return gpu.patrol_interval | gpu.patrol_left | gpu.patrols != 0


@inlined
def walks(s, walk):
    """Whether a step of a walk is due or under way; before its cycle."""
    return s.gpu.patrols | walk.due | walk.looks | walk.looked | walk.holds != 0


@inlined
def _next_row(walk, rows):
    walk.row = walk.row + 1 if walk.row + 1 < rows else 0


@inlined
def _first_corrected(s, number, row):
    """Way of the first entry of a set with one wrong bit, or -1."""
    for way in range(s.config.ways):
        if s.entries[number, natural(row), way].wrong == CORRECTED:
            return way
    return -1


@compiled
def begin_bank(s, number):
    """At the start of a cycle, before the bank changes its table. What changed it in cycle *c* is
    written in *c* + 1."""
    bank = s.banks[number]
    walk, cycle = bank.walk, s.gpu.cycle
    bank.walks = walks(s, walk)
    bank.fixes = bank.held and bank.wrote < cycle - 2
    bank.held = walk.holds
    holds = 0
    walk.looked = walk.looks and bank.wrote < cycle - 2
    if walk.looked:
        way = _first_corrected(s, number, walk.row)
        if way >= 0:
            holds, bank.fixed_way = 1, way
        else:
            _next_row(walk, s.config.rows)
    busy = comes_now(s, bank) or bank.clearing or bank.fixes
    busy = busy or (bank.forgetting and bank.row < s.config.rows)
    reads = walk.due and not busy and not walk.looks and not walk.holds
    walk.due = s.gpu.patrols or (walk.due and not reads)
    walk.looks, walk.holds = reads, holds


@compiled
def end_bank(s, number):
    """Write the corrected entry; what read the set in this cycle has not seen it."""
    bank = s.banks[number]
    if bank.fixes:
        entry = s.entries[number, natural(bank.walk.row), natural(bank.fixed_way)]
        # What is changed in this cycle is written after it.
        if entry.since <= s.gpu.cycle:
            entry.wrong = 0
        s.gpu.patrolled = 1
        bank.fixes = 0


@inlined
def step_rows(s, walk, reads, writes, wrong):
    """One cycle of the walk over a trigger unit's memory, after what the unit does in it.

    Parameters
    ----------
    reads, writes : bool
        The unit does.
    wrong : int
        Of the walk's row.

    Returns
    -------
    bool
        The row is written, corrected.
    """
    fixes = walk.holds and not writes
    holds = 0
    walk.looked = walk.looks and not writes and not walk.wrote
    if walk.looked:
        if walk.seen == CORRECTED:
            holds = 1
        else:
            _next_row(walk, s.config.credit_window_slots)
    looks = walk.due and not reads and not walk.looks and not walk.holds
    walk.seen = wrong
    walk.due = s.gpu.patrols or (walk.due and not looks)
    walk.looks, walk.holds, walk.wrote = looks, holds, writes
    s.gpu.patrolled |= fixes
    return fixes
