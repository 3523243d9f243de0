"""Launch control of a context: from a launch's acceptance to its end, and aborts."""

from sysmodel.lib.compiled import compiled, inlined

from ..payloads.tables import assign_epoch, disable_entry
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
    "changes_regions",
    "close_launch",
    "close_regions",
    "keep_region",
    "next_epoch",
    "release_regions",
    "reset_control",
    "reset_epochs",
    "set_configuration_error",
    "set_strobes",
    "step_launch",
    "step_reading",
    "take_launch",
    "take_strobes",
    "trust_word",
]

CONTROL = record(
    "strobes launches running pending launches_begun launches_done open cut_short "
    "launch_dropped former_valid former_generation aborting waited_abort configuration_error "
    "privileged_error launched_before reading kept closed closed_before untrusted"
)
"""Launch control: strobes of CONTROL for the next cycle, and the strobe of a launch; flags that a
launch runs, waits, has begun since the last abort, is aborted in this cycle before it is done, or
was dropped by an abort and none accepted since; the previous launch; the flag that the context is
aborting; the flag that a launch has begun since reset; the flag that copies may still read their
regions, with a bit for each region that was removed meanwhile; a bit for each active region that a
pending launch has closed, and the flag that it did so before the last cycle; a bit for each
register of the staged region that unprivileged software wrote last.
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
def set_configuration_error(control: Record, code: int, privileged: int) -> None:
    """Set the code of the last write that could be refused, and of the last privileged one: the
    reason, or 0 if it was accepted.
    """
    control.configuration_error = code
    if privileged:
        control.privileged_error = code


@inlined
def trust_word(control: Record, number: int, privileged: bool) -> None:
    """Note who wrote a register of the staged region."""
    bit = 1 << number
    control.untrusted = control.untrusted & ~bit | (0 if privileged else bit)


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
def step_reading(control: Record, copies: int, sent: bool, drained: bool) -> None:
    """Note whether copies may still read the regions that they name.

    Parameters
    ----------
    copies : int
        Copies that wait for the DMA engine.
    sent, drained : bool
        The context's DMA work was done in the last cycle; no work was outstanding then.
    """
    control.reading = copies != 0 or (control.reading and not sent and not drained)


@inlined
def keep_region(control: Record, index: int) -> None:
    """Keep a removed region for the copies that may still read it."""
    if control.reading:
        control.kept |= 1 << index


@inlined
def release_regions(control: Record) -> None:
    """Release the kept regions once no copy can read them."""
    if not control.reading:
        control.kept = 0


@compiled
def changes_region(s: GoldenState, context: int, index: int) -> bool:
    """Return whether the next launch changes or removes an active region of the current one."""
    now, then = s.regions[context, index], s.programmed_regions[context, index]
    same = then.enable and then.base == now.base and then.limit == now.limit
    return s.contexts[context].control.open != 0 and now.enable != 0 and not same


@compiled
def changes_regions(s: GoldenState, context: int) -> bool:
    """Return whether the next launch changes or removes any active region."""
    for index in range(s.config.regions):
        if changes_region(s, context, index):
            return True
    return False


@compiled
def close_regions(s: GoldenState, context: int) -> None:
    """Close the regions that the next launch changes, at the end of a cycle."""
    control = s.contexts[context].control
    for index in range(s.config.regions):
        if changes_region(s, context, index):
            disable_entry(s.regions[context, index])
            control.closed |= 1 << index


@inlined
def step_launch(
    control: Record,
    aborts: bool,
    held: bool,
    done: bool,
    tables_free: bool,
    drained: bool,
    clearing: bool,
    changes: bool,
) -> tuple[bool, bool]:
    """Advance launches and aborts by one cycle; their effects are visible in the next cycle.

    Parameters
    ----------
    aborts : bool
        Strobe of an abort.
    held : bool
        Privileged software holds the context: no launch begins.
    done : bool
        All tracked workgroups of the launch are complete.
    tables_free : bool
        No work needs the tables of the last launch.
    drained : bool
        No work of the context was outstanding in the last cycle.
    clearing : bool
        Tiles or counts of the context are being cleared.
    changes : bool
        The launch that waits changes active regions.

    Returns
    -------
    takes : bool
        The launch that waits begins in the next cycle.
    closes : bool
        The launch that waits closes the regions that it changes.
    """
    ends = control.running and done and not control.launches
    takes = closes = False
    if control.pending:
        closed_before, control.closed_before = control.closed_before, control.closed != 0
        is_free = not control.open or tables_free
        if not control.running and not aborts and not held and is_free:
            closes = changes
            waits = control.open and control.closed and not (closed_before and drained)
            takes = not closes and not waits
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
    return takes, closes


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
    control.closed = control.closed_before = 0
    copy_record(own.launch, own.programmed)
    for index in range(s.config.regions):
        copy_record(s.regions[context, index], s.programmed_regions[context, index])
    for index in range(s.config.ranges):
        copy_record(s.ranges[context, index], s.programmed_ranges[context, index])
    for index in range(s.config.commands):
        copy_record(s.commands[context, index], s.programmed_commands[context, index])
