"""Writes that act: plain registers, strobes, and the commits of the tables with their checks."""

import numpy as np

from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import compiled, inlined

from .dma import push_copy
from .errors import clear_interrupts
from .injection import arm
from .registers import (
    ABORT,
    EPOCHS,
    LAUNCH,
    OKAY,
    REJECT,
    get_field,
    next_epoch,
    page_of,
    store_register,
    word_of,
)
from .state import F, R

__all__ = [
    "commit_command",
    "commit_range",
    "commit_region",
    "launch_needs",
    "start_copy",
    "write_register",
]

_UNKNOWN_INDEX = ConfigurationError.UNKNOWN_INDEX.value
_MISALIGNED = ConfigurationError.MISALIGNED.value
_OUT_OF_SPACE = ConfigurationError.OUT_OF_SPACE.value
_EMPTY = ConfigurationError.EMPTY.value
_OVERLAP = ConfigurationError.OVERLAP.value
_REGION_DISABLED = ConfigurationError.REGION_DISABLED.value
_REGION_IN_USE = ConfigurationError.REGION_IN_USE.value
_QUEUE_FULL = ConfigurationError.QUEUE_FULL.value
_IN_USE = ConfigurationError.IN_USE.value
_LAUNCH_RANGE = ConfigurationError.LAUNCH_RANGE.value
_WINDOW = ConfigurationError.WINDOW.value
_LOCKED = ConfigurationError.LOCKED.value
_EPOCH = ConfigurationError.EPOCH.value
_DMA, _WAVEFRONT = Action.DMA.value, Granularity.WAVEFRONT.value


@compiled
def _bytes(registers, low, high):
    """A 64-bit byte count from its two registers."""
    return get_field(registers, low) | get_field(registers, high) << 32


@compiled
def _misaligned(config, value):
    return value & ((1 << config.atom_shift) - 1) != 0


@compiled
def _outside(config, value):
    """Whether an aligned byte address is beyond the last atom."""
    return np.uint64(value) > np.uint64(config.atom_mask << config.atom_shift)


@compiled
def _atoms(config, value):
    return (value >> config.atom_shift) & config.atom_mask


@compiled
def commit_region(s, context, word, locked):
    """Check the staged region and write it; gives the configuration error.

    Parameters
    ----------
    locked : bool
        A launch waits.
    """
    config, registers = s.config, s.registers[CONTEXT + context]
    _, low, mask = F.REGION_COMMIT_index
    index = (word >> low) & mask
    _, low, mask = F.REGION_COMMIT_enable
    enable = (word >> low) & mask
    if index >= config.regions:
        return _UNKNOWN_INDEX
    if locked:
        return _IN_USE
    entry = s.programmed_regions[context, index]
    if not enable:
        for number in range(config.ranges):
            if (
                s.programmed_ranges[context, number].enable
                and s.programmed_ranges[context, number].region == index
            ):
                return _REGION_IN_USE
        entry.enable = 0
        return 0
    base = _bytes(registers, F.REGION_BASE_LO_bytes, F.REGION_BASE_HI_bytes)
    limit = _bytes(registers, F.REGION_LIMIT_LO_bytes, F.REGION_LIMIT_HI_bytes)
    if _misaligned(config, base) or _misaligned(config, limit):
        return _MISALIGNED
    if _outside(config, base) or _outside(config, limit):
        return _OUT_OF_SPACE
    if np.uint64(limit) <= np.uint64(base):
        return _EMPTY
    base, limit = _atoms(config, base), _atoms(config, limit)
    for other in range(config.regions):
        region = s.programmed_regions[context, other]
        if other != index and region.enable and base < region.limit and region.base < limit:
            return _OVERLAP
    entry.enable = 1
    entry.base = base
    entry.limit = limit
    return 0


@compiled
def commit_range(s, context, word, locked):
    """Check the staged range and write it, likewise."""
    config, registers = s.config, s.registers[CONTEXT + context]
    _, low, mask = F.RANGE_COMMIT_index
    index = (word >> low) & mask
    _, low, mask = F.RANGE_COMMIT_enable
    enable = (word >> low) & mask
    region = get_field(registers, F.RANGE_ACTION_region)
    command = get_field(registers, F.RANGE_ACTION_command)
    if index >= config.ranges or region >= config.regions or command >= config.commands:
        return _UNKNOWN_INDEX
    if locked:
        return _IN_USE
    entry = s.programmed_ranges[context, index]
    if not enable:
        entry.enable = 0
        return 0
    first = get_field(registers, F.RANGE_DISPATCH_INDICES_first)
    last = get_field(registers, F.RANGE_DISPATCH_INDICES_last)
    action = get_field(registers, F.RANGE_ACTION_action)
    if last < first or action == 0:
        return _EMPTY
    if not s.programmed_regions[context, region].enable:
        return _REGION_DISABLED
    for other in range(config.ranges):
        one = s.programmed_ranges[context, other]
        if (
            other != index
            and one.enable
            and one.region == region
            and first <= one.last
            and one.first <= last
        ):
            return _OVERLAP
    entry.enable = 1
    entry.region = region
    entry.first = first
    entry.last = last
    entry.action = action
    entry.command = command
    return 0


@compiled
def commit_command(s, context, word, locked):
    """Check the staged command and write it, likewise."""
    config, registers = s.config, s.registers[CONTEXT + context]
    _, low, mask = F.COMMAND_COMMIT_index
    index = (word >> low) & mask
    region = get_field(registers, F.COMMAND_STRIDE_region)
    if index >= config.commands or region >= config.regions:
        return _UNKNOWN_INDEX
    if locked:
        return _IN_USE
    offset = _bytes(registers, F.COMMAND_OFFSET_LO_bytes, F.COMMAND_OFFSET_HI_bytes)
    if _misaligned(config, offset):
        return _MISALIGNED
    entry = s.programmed_commands[context, index]
    entry.kind = get_field(registers, F.COMMAND_TRANSFER_kind)
    entry.op = get_field(registers, F.COMMAND_TRANSFER_op)
    entry.dtype = get_field(registers, F.COMMAND_TRANSFER_dtype)
    entry.atom_offset = _atoms(config, offset)
    entry.granularity = get_field(registers, F.COMMAND_TRANSFER_granularity)
    entry.group_log2 = get_field(registers, F.COMMAND_TRANSFER_group_log2)
    entry.outer_extent = get_field(registers, F.COMMAND_OUTER_outer_extent)
    entry.outer_extent_edge = get_field(registers, F.COMMAND_OUTER_outer_extent_edge)
    entry.inner_extent = get_field(registers, F.COMMAND_INNER_inner_extent)
    entry.inner_extent_edge = get_field(registers, F.COMMAND_INNER_inner_extent_edge)
    entry.stride = get_field(registers, F.COMMAND_STRIDE_stride)
    entry.region = region
    entry.wave_outer_extent = get_field(registers, F.COMMAND_WAVES_wave_outer_extent)
    entry.wave_inner_log2 = get_field(registers, F.COMMAND_TRANSFER_wave_inner_log2)
    entry.waves_inner_log2 = get_field(registers, F.COMMAND_TRANSFER_waves_inner_log2)
    entry.waves[0] = get_field(registers, F.COMMAND_WAVES_waves0)
    entry.waves[1] = get_field(registers, F.COMMAND_WAVES_waves1)
    entry.waves[2] = get_field(registers, F.COMMAND_WAVES_waves2)
    entry.waves[3] = get_field(registers, F.COMMAND_WAVES_waves3)
    return 0


@compiled
def start_copy(s, context, word, copies, busy):
    """Queue a copy; gives the configuration error.

    Parameters
    ----------
    copies : int
        Copies that waited at the cycle's start.
    busy : bool
        The context is aborted.
    """
    config, registers = s.config, s.registers[CONTEXT + context]
    _, low, mask = F.COPY_command
    command = (word >> low) & mask
    if command >= config.commands:
        return _UNKNOWN_INDEX
    start = _bytes(registers, F.COPY_START_LO_bytes, F.COPY_START_HI_bytes)
    if _misaligned(config, start):
        return _MISALIGNED
    if _outside(config, start):
        return _OUT_OF_SPACE
    region = s.programmed_commands[context, command].region
    if not s.programmed_regions[context, region].enable:
        return _REGION_DISABLED
    if busy:
        return _IN_USE
    if copies == 2:
        return _QUEUE_FULL
    push_copy(s, context, command, _atoms(config, start))
    return 0


@compiled
def launch_needs(s, context):
    """Most commands of a workgroup, and most members of a group beside one, of what is sent."""
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
def check_launch(s, context, busy):
    """Whether a launch may begin as the registers are; gives the configuration error."""
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
    commands, others = launch_needs(s, context)
    if launch.credit_window == 0 or launch.credit_window + others > config.credit_window_slots:
        return _WINDOW
    if launch.command_window == 0 or launch.command_window * commands > config.depth:
        return _WINDOW
    if next_epoch(s) >= EPOCHS:
        return _EPOCH
    return 0


@compiled
def _is_act(word):
    """Whether a write of a context's register is more than a value."""
    return (
        word == R.CONTROL
        or word == R.REGION_COMMIT
        or word == R.RANGE_COMMIT
        or word == R.COMMAND_COMMIT
        or word == R.COPY
    )


@compiled
def _accept_launch(s, context):
    """It waits from the next cycle on, with an epoch of its own."""
    own, epochs = s.contexts[context], s.registers[GLOBAL][R.EPOCHS]
    own.pending = 1
    s.gpu.page_awake = 1
    own.programmed.epoch = next_epoch(s)
    epochs.value += 1 << F.EPOCHS_next[1]


@compiled
def _scrub(s, value, busy):
    """Begin with the first epoch again; gives the response."""
    _, low, mask = F.SCRUB_scrubbed
    if not (value >> low) & mask:
        return OKAY
    if busy:
        return REJECT
    epochs = s.registers[GLOBAL][R.EPOCHS]
    epochs.value = epochs.reset
    return OKAY


@compiled
def _is_of_a_launch(word):
    return (
        word == R.FIRST_WORKGROUP
        or word == R.WORKGROUPS
        or word == R.TRACKED_FIRST
        or word == R.TRACKED_END
        or word == R.SHIFT
        or word == R.CREDIT_WINDOW
        or word == R.COMMAND_WINDOW
        or word == R.TRACKING
        or word == R.TIMEOUT
    )


@compiled
def _control(s, context, value, busy):
    """Strobes and a launch; gives the response."""
    own = s.contexts[context]
    word, low, mask = F.CONTROL_launch
    launches = (value >> low) & mask
    if launches:
        own.configuration_error = _IN_USE if value & ABORT else check_launch(s, context, busy)
        if own.configuration_error:
            return REJECT
        _accept_launch(s, context)
    own.strobes = value & s.registers[CONTEXT + context, word].writable & ~LAUNCH
    return OKAY


@inlined
def _is_locked(s, page, word):
    """Whether a register is for privileged software, and the write is not its."""
    lock = s.registers[page, word].lock
    if s.gpu.bus.privileged or not lock:
        return False
    of_page = R.GPU_LOCK if page == GLOBAL else R.LOCK
    return lock < 0 or s.registers[page, of_page].value & lock != 0


@compiled
def write_register(s, copies, busy, pending, aborting):
    """The write that acts in this cycle; its effects are seen in the next one.

    Parameters
    ----------
    copies : int
        Copies of the context that waited at the cycle's start.
    busy, pending, aborting : int
        A bit for each context, of the cycle's start: a launch ran or waited, or what was aborted
        was not gone; one waited; it was aborted.
    """
    bus = s.gpu.bus
    value = bus.wdata
    page, word = page_of(s.config, bus.awaddr), word_of(bus.awaddr)
    bus.b_resp = REJECT
    if bus.wstrb != 15 or page < 0 or not s.registers[page, word].writable:
        return
    if _is_locked(s, page, word):
        if page != GLOBAL:
            s.contexts[page - CONTEXT].configuration_error = _LOCKED
        return
    if page == GLOBAL:
        if word == R.SCRUB:
            bus.b_resp = _scrub(s, value, busy)
            return
        if word == R.INJECT:
            bus.b_resp = OKAY if arm(s, value) else REJECT
            return
        bus.b_resp = OKAY
        if word == R.GPU_CONTROL:
            s.logs[GLOBAL].strobes = value
        elif word == R.GPU_INTERRUPTS:
            clear_interrupts(s, page, word, value)
        else:
            store_register(s, page, word, value)
        return
    context = page - CONTEXT
    own, locked = s.contexts[context], (pending >> context & 1) != 0
    aborts = (aborting >> context & 1) != 0
    if word == R.CONTROL:
        bus.b_resp = _control(s, context, value, locked or aborts)
        return
    if word == R.INTERRUPTS:
        clear_interrupts(s, page, word, value)
        bus.b_resp = OKAY
        return
    if not _is_act(word):
        if locked and _is_of_a_launch(word):
            own.configuration_error = _IN_USE
            return
        store_register(s, page, word, value)
        bus.b_resp = OKAY
        return
    if word == R.REGION_COMMIT:
        own.configuration_error = commit_region(s, context, value, locked)
    elif word == R.RANGE_COMMIT:
        own.configuration_error = commit_range(s, context, value, locked)
    elif word == R.COMMAND_COMMIT:
        own.configuration_error = commit_command(s, context, value, locked)
    else:
        own.configuration_error = start_copy(s, context, value, copies, aborts)
    bus.b_resp = REJECT if own.configuration_error else OKAY
