"""Dispatch gates: workgroups of a range wait for slots that another context completes."""

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..records import Record, Records, record
from ..registers.launch import ABORT
from ..state import GoldenState

__all__ = ["GATE", "GATES", "step_gates"]

GATE = record("released gate_slot gate_open")
"""Gate of a range: the first dispatch index that is not released, the slot that releases more, and
the flag that all workgroups were released.
"""
GATES = record(
    "arrives passes cut lost lost_next failed gate_term gate_merged "
    "gate_changes gate_works gate_waits releases fails"
)
"""Gates of a context: for the range in the second step, its slot is complete, its launch is
complete, and its context was aborted; contexts that were aborted since the launch, or the pending
launch, was accepted, one bit each; an abort was reported in the launch; the dispatch limit by the
gate of the range in the third step, from the next cycle on and in this one. Of this cycle: another
walk is needed, a register changes without a walk, a gate waits, releases, or reports an abort.
"""

_GENERATIONS = 1 << GENERATION_BITS


@compiled
def _named(config: Record, ranges: Records) -> int:
    """Return a bit for each context that a range of the launch awaits."""
    named = 0
    for number in range(config.ranges):
        entry = ranges[natural(number)]
        if entry.enable and entry.gate.enable:
            named |= 1 << entry.gate.context
    return named


@compiled
def _closed(config: Record, ranges: Records, gates: Records) -> bool:
    """Return whether a gate of the launch is not known to be open."""
    for number in range(config.ranges):
        entry, gate = ranges[natural(number)], gates[natural(number)]
        if entry.enable and entry.gate.enable and not gate.gate_open:
            return True
    return False


@compiled
def _release(config: Record, own: Record, entry: Record, gate: Record) -> None:
    """Second step: release the next workgroups of a range."""
    mask = config.credit_limit_mask
    inside = gate.released > entry.last
    closed = entry.enable != 0 and entry.gate.enable != 0 and not inside
    gate.gate_open = inside
    own.gate_term = gate.released if closed else mask
    if closed and own.cut and not own.failed:
        own.fails = own.failed = 1
    if closed and not own.cut and (own.arrives or own.passes):
        own.releases = 1
        released = gate.released + entry.gate.workgroups
        everything = own.passes or entry.gate.workgroups == 0
        gate.released = mask if everything else min(released, mask)
        gate.gate_slot = min(gate.gate_slot + entry.gate.slots, mask)


@compiled
def _look(
    s: GoldenState, own: Record, lost: int, may_await: int, entry: Record, gate: Record
) -> None:
    """First step: compare the slot of a range with the progress of the context that it awaits."""
    awaited = entry.gate.context
    own.arrives = own.passes = own.cut = 0
    if not may_await >> awaited & 1:
        return
    own.cut = lost >> awaited & 1
    progress = s.contexts[natural(awaited)].external
    ahead = (progress.own_generation - entry.gate.generation) % _GENERATIONS
    reached = progress.progress_oldest >= gate.gate_slot
    own.arrives = progress.progress_valid != 0 and ahead == 0 and reached
    own.passes = ahead < ABORT_BITS and progress.progress_complete >> ahead & 1 != 0


@inlined
def _begin(config: Record, ranges: Records, gates: Records) -> None:
    """Begin a launch with closed gates."""
    for number in range(config.ranges):
        entry, gate = ranges[natural(number)], gates[natural(number)]
        gate.released, gate.gate_slot, gate.gate_open = entry.first, entry.gate.slot, 0


@inlined
def step_gates(s: GoldenState, context: int) -> None:
    """Advance the gates of a context by one cycle, before the range limits of any context and
    before the progress of any context.
    """
    own, ranges, gates = s.contexts[context], s.ranges[context], s.gates[context]
    state, limits = own.gates, own.range_limits
    launch, pending = own.control.launches != 0, own.cycle.waits != 0
    strobes = moves = 0
    for other in range(s.config.contexts):
        one = s.contexts[other]
        strobes |= (one.cycle.strobes_on & ABORT != 0) << other
        moves |= (one.external.progress_changes != 0) << other
    strobes, moves = strobes & own.may_await, moves & own.may_await
    named, before, lost = _named(s.config, ranges), state.lost_next, state.lost
    state.gate_waits = limits.limits_open != 0 and _closed(s.config, ranges, gates)
    state.gate_works = strobes != 0 if pending else before != 0
    state.lost_next = (before | strobes) if pending else 0
    state.releases = state.fails = 0
    state.gate_merged = state.gate_term
    if launch:
        state.lost, state.failed = before | strobes, 0
        _begin(s.config, ranges, gates)
    elif limits.limits_open and own.aborted == 0:
        state.lost = lost | (strobes & named)
        if limits.chosen:
            number = natural(limits.chosen - 1)
            _release(s.config, state, ranges[number], gates[number])
        if limits.visited:
            number = natural(limits.visited - 1)
            _look(s, state, lost, own.may_await, ranges[number], gates[number])
    state.gate_changes = (strobes | moves) & named != 0 or state.releases != 0
