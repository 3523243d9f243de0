"""Launch control of a context: from a launch's acceptance to its end, and aborts."""

from sysmodel.lib.compiled import compiled, inlined

from ..payloads import assign_epoch
from ..records import Record, Records, copy_record, record
from ..state import GoldenState
from .words import EPOCHS, F, R, count_up, field_bits, get_field, set_word

__all__ = [
    "ABORT",
    "CONTROL",
    "EPOCHS",
    "LAUNCH",
    "MEASURE",
    "accept_launch",
    "begin_launch",
    "close_launch",
    "next_epoch",
    "reset_control",
    "reset_epochs",
    "set_configuration_error",
    "set_strobes",
    "step_launch",
    "take_launch",
    "take_strobes",
]

CONTROL = record(
    "strobes launches running pending launches_begun launches_done open cut_short "
    "launch_dropped former_valid former_generation aborting waited_abort configuration_error "
    "launched_before"
)
"""Launch control: strobes of CONTROL for the next cycle, and the strobe of a launch; flags that a
launch runs, waits, has begun since the last abort, is aborted in this cycle before it is done, or
was dropped by an abort and none accepted since; the previous launch; the flag that the context is
aborting; the flag that a launch has begun since reset.
"""

LAUNCH, ABORT = field_bits(F.CONTROL_launch), field_bits(F.CONTROL_abort)
MEASURE = field_bits(F.CONTROL_measure)
_EPOCH_STEP = 1 << F.EPOCHS_next[1]


@inlined
def set_strobes(control: Record, value: int) -> None:
    """Set the strobes of the next cycle."""
    control.strobes = value


@inlined
def take_strobes(control: Record) -> int:
    """Return the strobes of this cycle, at the start of the cycle."""
    strobes = control.strobes
    control.strobes = 0
    return strobes


@inlined
def set_configuration_error(control: Record, code: int) -> None:
    """Set the code of the last write that could be refused: the reason, or 0 if it was accepted."""
    control.configuration_error = code


@compiled
def next_epoch(registers: Records) -> int:
    """Return the epoch of the next launch, or ``EPOCHS`` if none is left; ``registers`` are those
    of the context's page.
    """
    return get_field(registers, F.EPOCHS_next)


@inlined
def reset_epochs(registers: Records) -> None:
    """Restart at the first epoch of a context, whose page has these registers."""
    set_word(registers[R.EPOCHS], _EPOCH_STEP)


@compiled
def accept_launch(control: Record, programmed: Record, registers: Records) -> None:
    """Accept a launch with an epoch of its own; it waits from the next cycle on."""
    control.pending = 1
    control.launch_dropped = 0
    assign_epoch(programmed, next_epoch(registers))
    count_up(registers[R.EPOCHS], _EPOCH_STEP, 0xFFFFFFFF)


@inlined
def reset_control(control: Record) -> None:
    """Set the launch control to its state after reset, which equals the state in an abort."""
    control.aborting = 1


@inlined
def step_launch(
    control: Record, aborts: bool, done: bool, tables_free: bool, drained: bool, clearing: bool
) -> bool:
    """Advance launches and aborts by one cycle; their effects are visible in the next cycle.

    Parameters
    ----------
    aborts : bool
        Strobe of an abort.
    done : bool
        All tracked workgroups of the launch are complete.
    tables_free : bool
        No work needs the tables of the last launch.
    drained : bool
        No work of the context was outstanding in the last cycle.
    clearing : bool
        Tiles or counts of the context are being cleared.

    Returns
    -------
    bool
        The launch that waits begins in the next cycle.
    """
    ends = control.running and done and not control.launches
    takes = False
    if control.pending and not control.running and not aborts:
        takes = not control.open or tables_free
    control.launches_done = (control.launches_done + ends) & 0xFFFF
    control.launches_begun = (control.launches_begun + takes) & 0xFFFF
    control.launched_before = control.launched_before or takes
    drops = aborts and (control.running or control.pending)
    control.launch_dropped = drops or control.launch_dropped
    control.cut_short = aborts and control.running
    control.running = not aborts and (takes or (control.running and not ends))
    control.pending = not aborts and control.pending and not takes
    aborted = drained and not clearing and control.waited_abort
    control.waited_abort = control.aborting and not aborts
    control.aborting = aborts or (control.aborting and not aborted)
    return takes


@inlined
def close_launch(control: Record) -> None:
    """Discard the state of the launches before an abort."""
    control.open = control.former_valid = 0


@inlined
def begin_launch(control: Record, launches: bool) -> None:
    """Set the strobe of a launch that begins in the next cycle."""
    control.launches = launches


@compiled
def take_launch(s: GoldenState, context: int) -> None:
    """Copy the programmed configuration and tables to the active ones, at the end of a cycle."""
    own = s.contexts[context]
    control = own.control
    control.former_valid = control.open
    control.former_generation = own.launch.generation
    control.open = 1
    copy_record(own.launch, own.programmed)
    for index in range(s.config.regions):
        copy_record(s.regions[context, index], s.programmed_regions[context, index])
    for index in range(s.config.ranges):
        copy_record(s.ranges[context, index], s.programmed_ranges[context, index])
    for index in range(s.config.commands):
        copy_record(s.commands[context, index], s.programmed_commands[context, index])
