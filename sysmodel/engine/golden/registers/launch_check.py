"""Launch check: decides from the registers and the tables whether a launch may begin."""

from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.registers.map import CONTEXT
from sysmodel.lib.compiled import compiled

from ..channel.address_map import is_tracked
from ..records import Record
from ..state import GoldenState
from .launch import EPOCHS, next_epoch
from .tables import takes_kind

__all__ = ["check_launch", "held_workgroups", "launch_needs"]

_IN_USE, _EMPTY = ConfigurationError.IN_USE.value, ConfigurationError.EMPTY.value
_LAUNCH_RANGE = ConfigurationError.LAUNCH_RANGE.value
_WINDOW = ConfigurationError.WINDOW.value
_EPOCH = ConfigurationError.EPOCH.value
_GENERATION = ConfigurationError.GENERATION.value
_NO_PEER = ConfigurationError.NO_PEER.value
_NO_CONTEXT = ConfigurationError.NO_CONTEXT.value
_REMOTE, _DMA, _OWN = Action.REMOTE.value, Action.DMA.value, Action.OWN.value
_WAVEFRONT = Granularity.WAVEFRONT.value
_GENERATIONS = 1 << GENERATION_BITS
_NEAR = _GENERATIONS // 2 - 1  # furthest that a GPU may be behind a launch


@compiled
def launch_needs(s: GoldenState, context: int) -> tuple[int, int]:
    """Return the numbers of commands of a workgroup, and of other members of a group, for which a
    launch needs space: the maximum over all ranges.
    """
    commands, others = 1, 0
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        if entry.enable and entry.action == _DMA:
            command = s.programmed_commands[context, entry.command]
            if command.granularity == _WAVEFRONT:
                for edge in range(4):
                    commands = max(commands, command.waves[edge])
            else:
                others = max(others, (1 << command.group_log2) - 1)
    return commands, others


@compiled
def held_workgroups(s: GoldenState, context: int) -> int:
    """Return how many workgroups with consecutive dispatch indices the context's ways hold."""
    ways, wavefronts = 0, 1
    for way in range(s.config.ways):
        ways += s.contexts[context].ways >> way & 1
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        if entry.enable and is_tracked(entry.action, entry.shares):
            for edge in range(4):
                waves = s.programmed_commands[context, entry.command].waves[edge]
                wavefronts = max(wavefronts, waves)
    return s.config.rows * s.config.banks * (ways // wavefronts)


@compiled
def _leaves_peer(own: Record, peer: Record) -> bool:
    """Return whether a peer would be so far behind the programmed launch that it looks ahead.

    The peer's lead over the launch before, from -8 to 7, is taken as the true one; it must stay at
    least ``-_NEAR``.
    """
    if not peer.now_admits:
        return False
    behind = (own.programmed.generation - peer.now_generation) % _GENERATIONS
    if not own.control.launched_before:
        return behind > _NEAR
    step = (own.programmed.generation - own.launch.generation) % _GENERATIONS
    lead = (peer.now_generation - own.launch.generation) % _GENERATIONS
    if lead > _NEAR:
        lead -= _GENERATIONS
    return step - lead > _NEAR


@compiled
def _repeats_generation(s: GoldenState, context: int) -> bool:
    """Return whether something could carry the programmed generation and belong to another launch.

    A launch follows the one before by 1 to ``_NEAR`` generations.
    """
    own = s.contexts[context]
    step = (own.programmed.generation - own.launch.generation) % _GENERATIONS
    if own.control.launched_before and (step < 1 or step > _NEAR):
        return True
    for index in range(s.config.peers):
        if _leaves_peer(own, own.peer_status[index]):
            return True
    return False


@compiled
def _lacks_peers(s: GoldenState, context: int) -> bool:
    """Return whether a range sends packets to a peer that does not take them."""
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        kind = s.programmed_commands[context, entry.command].kind
        if entry.enable and (entry.action == _REMOTE or entry.action == _DMA):
            if not takes_kind(s, context, entry.peers, kind):
                return True
    return False


@compiled
def _lacks_contexts(s: GoldenState, context: int) -> bool:
    """Return whether a range awaits a context that the context may not await."""
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        allowed = s.contexts[context].may_await >> entry.gate.context & 1
        if entry.enable and entry.gate.enable and not allowed:
            return True
    return False


@compiled
def _lacks_wavefronts(s: GoldenState, context: int) -> bool:
    """Return whether a tracked range has no share, or its command no wavefront in any workgroup."""
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        waves = 0
        for edge in range(4):
            waves |= s.programmed_commands[context, entry.command].waves[edge]
        if entry.enable and is_tracked(entry.action, entry.shares) and waves == 0:
            return True
        updates = entry.action == _DMA or entry.action == _OWN
        if entry.enable and updates and entry.shares == 0:
            return True
    return False


@compiled
def check_launch(s: GoldenState, context: int, busy: bool) -> int:
    """Check a launch; return the configuration error.

    Parameters
    ----------
    busy : bool
        A launch waits, or the context is aborted.
    """
    config, launch = s.config, s.contexts[context].programmed
    if busy:
        return _IN_USE
    if (
        launch.workgroups > config.dispatch_index_mask + 1
        or launch.tracked_first > launch.tracked_end
        or launch.tracked_end > config.dispatch_index_mask + 1
    ):
        return _LAUNCH_RANGE
    if _lacks_wavefronts(s, context):
        return _EMPTY
    if _lacks_peers(s, context):
        return _NO_PEER
    if _lacks_contexts(s, context):
        return _NO_CONTEXT
    commands, others = launch_needs(s, context)
    if launch.credit_window == 0 or launch.credit_window + others > config.credit_window_slots:
        return _WINDOW
    if launch.command_window == 0 or launch.command_window * commands > config.depth:
        return _WINDOW
    if launch.credit_window > held_workgroups(s, context):
        return _WINDOW
    if _repeats_generation(s, context):
        return _GENERATION
    if next_epoch(s.registers[CONTEXT + context]) >= EPOCHS:
        return _EPOCH
    return 0
