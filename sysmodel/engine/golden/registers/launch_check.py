"""Launch check: decides from the registers and the tables whether a launch may begin."""

from rtl.interface.encodings import Action, ConfigurationError, Granularity
from sysmodel.lib.compiled import compiled

from ..state import GoldenState
from .launch import EPOCHS, next_epoch

__all__ = ["check_launch", "launch_needs"]

_IN_USE, _EMPTY = ConfigurationError.IN_USE.value, ConfigurationError.EMPTY.value
_LAUNCH_RANGE = ConfigurationError.LAUNCH_RANGE.value
_WINDOW = ConfigurationError.WINDOW.value
_EPOCH = ConfigurationError.EPOCH.value
_DMA, _OWN, _WAVEFRONT = Action.DMA.value, Action.OWN.value, Granularity.WAVEFRONT.value


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
def _lacks_wavefronts(s: GoldenState, context: int) -> bool:
    """Return whether the command of a tracked range has no wavefront in any workgroup."""
    for number in range(s.config.ranges):
        entry = s.programmed_ranges[context, number]
        if entry.enable and (entry.action == _DMA or entry.action == _OWN):
            waves = 0
            for edge in range(4):
                waves |= s.programmed_commands[context, entry.command].waves[edge]
            if waves == 0:
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
    without_kernel = launch.workgroups == 0 and launch.first_workgroup == 0
    if (
        launch.workgroups > config.dispatch_index_mask + 1
        or (launch.first_workgroup >= launch.workgroups and not without_kernel)
        or launch.tracked_first > launch.tracked_end
        or launch.tracked_end > launch.workgroups
        or launch.updates_per_atom == 0
    ):
        return _LAUNCH_RANGE
    if _lacks_wavefronts(s, context):
        return _EMPTY
    commands, others = launch_needs(s, context)
    if launch.credit_window == 0 or launch.credit_window + others > config.credit_window_slots:
        return _WINDOW
    if launch.command_window == 0 or launch.command_window * commands > config.depth:
        return _WINDOW
    if next_epoch(s.registers) >= EPOCHS:
        return _EPOCH
    return 0
