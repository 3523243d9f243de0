"""Tables of a context: commits of staged entries with their checks, and copies."""

import numpy as np

from rtl.interface.encodings import Action, ConfigurationError, PacketKind
from rtl.registers.map import CONTEXT
from sysmodel.lib.compiled import compiled

from ..dma.copies import MOST_COPIES, push_copy
from ..payloads.tables import (
    disable_entry,
    make_command,
    make_gate,
    make_peer,
    make_range,
    make_region,
)
from ..records import Record, Records
from ..state import GoldenState
from .launch import keep_region
from .words import F, Field, get_field

__all__ = [
    "clear_tables",
    "commit_command",
    "commit_peer",
    "commit_range",
    "commit_region",
    "is_fixed",
    "overlaps_others",
    "start_copy",
    "takes_kind",
]

_UNKNOWN_INDEX = ConfigurationError.UNKNOWN_INDEX.value
_MISALIGNED = ConfigurationError.MISALIGNED.value
_ADDRESS_OUT_OF_RANGE = ConfigurationError.ADDRESS_OUT_OF_RANGE.value
_EMPTY = ConfigurationError.EMPTY.value
_OVERLAP = ConfigurationError.OVERLAP.value
_REGION_DISABLED = ConfigurationError.REGION_DISABLED.value
_REGION_IN_USE = ConfigurationError.REGION_IN_USE.value
_QUEUE_FULL = ConfigurationError.QUEUE_FULL.value
_IN_USE = ConfigurationError.IN_USE.value
_LOCKED = ConfigurationError.LOCKED.value
_NO_PEER = ConfigurationError.NO_PEER.value
_NONE, _OWN = Action.NONE.value, Action.OWN.value
_STORE = PacketKind.STORE.value


@compiled
def _bytes(registers: Records, low: Field, high: Field) -> int:
    """Return a 64-bit byte count from its two registers."""
    return get_field(registers, low) | get_field(registers, high) << 32


@compiled
def _misaligned(config: Record, value: int) -> bool:
    return value & ((1 << config.atom_shift) - 1) != 0


@compiled
def _outside(config: Record, value: int) -> bool:
    """Return whether an aligned byte address is beyond the last atom."""
    return np.uint64(value) > np.uint64(config.atom_mask << config.atom_shift)


@compiled
def _atoms(config: Record, value: int) -> int:
    return (value >> config.atom_shift) & config.atom_mask


@compiled
def overlaps_others(s: GoldenState, context: int) -> bool:
    """Return whether the staged region contains an atom of another context's region: one of its
    next launch, or one that its last launch or its copies may still use.

    The answer belongs to the start of a cycle.
    """
    config, registers = s.config, s.registers[CONTEXT + context]
    base = _atoms(config, _bytes(registers, F.REGION_BASE_LO_bytes, F.REGION_BASE_HI_bytes))
    limit = _atoms(config, _bytes(registers, F.REGION_LIMIT_LO_bytes, F.REGION_LIMIT_HI_bytes))
    for other in range(config.contexts):
        if other == context:
            continue
        own = s.contexts[other]
        in_use = own.control.open != 0 or own.aborted != 0
        for index in range(config.regions):
            region, bit = s.programmed_regions[other, index], 1 << index
            uses = region.enable or own.control.kept & bit
            if uses and base < region.limit and region.base < limit:
                return True
            region = s.regions[other, index]
            uses = (region.enable or own.control.closed & bit) and in_use
            if uses and base < region.limit and region.base < limit:
                return True
    return False


@compiled
def is_fixed(s: GoldenState, context: int, index: int) -> bool:
    """Return whether copies may still read a region that is or was programmed, and that no launch
    holds, at the start of a cycle.
    """
    own = s.contexts[context]
    if index >= s.config.regions or not own.control.reading:
        return False
    region, active = s.programmed_regions[context, index], s.regions[context, index]
    if not region.enable and not own.control.kept >> index & 1:
        return False
    in_use = own.control.open != 0 or own.aborted != 0
    same = active.base == region.base and active.limit == region.limit
    return not (in_use and active.enable and same)


@compiled
def commit_region(
    s: GoldenState,
    context: int,
    index: int,
    enable: int,
    locked: bool,
    foreign: bool,
    fixed: bool,
    mixed: bool,
) -> int:
    """Check the staged region and write it; return the configuration error.

    Parameters
    ----------
    index, enable : int
        Number of the entry, and whether the entry is enabled.
    locked : bool
        A launch waits.
    foreign : bool
        The region overlaps another context's, with which the context must not share it.
    fixed : bool
        The region must not move.
    mixed : bool
        The commit shares the region, a word of which unprivileged software wrote.
    """
    config, registers = s.config, s.registers[CONTEXT + context]
    if index >= config.regions:
        return _UNKNOWN_INDEX
    if locked or (enable and fixed):
        return _IN_USE
    if enable and mixed:
        return _LOCKED
    entry = s.programmed_regions[context, index]
    if not enable:
        for number in range(config.ranges):
            one = s.programmed_ranges[context, number]
            if one.enable and one.region == index:
                return _REGION_IN_USE
        if entry.enable:
            keep_region(s.contexts[context].control, index)
        disable_entry(entry)
        return 0
    base = _bytes(registers, F.REGION_BASE_LO_bytes, F.REGION_BASE_HI_bytes)
    limit = _bytes(registers, F.REGION_LIMIT_LO_bytes, F.REGION_LIMIT_HI_bytes)
    if _misaligned(config, base) or _misaligned(config, limit):
        return _MISALIGNED
    if _outside(config, base) or _outside(config, limit):
        return _ADDRESS_OUT_OF_RANGE
    if np.uint64(limit) <= np.uint64(base):
        return _EMPTY
    if foreign:
        return _OVERLAP
    base, limit = _atoms(config, base), _atoms(config, limit)
    for other in range(config.regions):
        region = s.programmed_regions[context, other]
        if other != index and region.enable and base < region.limit and region.base < limit:
            return _OVERLAP
    make_region(entry, 1, base, limit)
    return 0


@compiled
def commit_range(s: GoldenState, context: int, index: int, enable: int, locked: bool) -> int:
    """Check the staged range and write it; the parameters are those of :func:`commit_region`."""
    config, registers = s.config, s.registers[CONTEXT + context]
    region = get_field(registers, F.RANGE_ACTION_region)
    command = get_field(registers, F.RANGE_ACTION_command)
    peers = get_field(registers, F.RANGE_PEERS_peers)
    if index >= config.ranges or region >= config.regions or command >= config.commands:
        return _UNKNOWN_INDEX
    if peers >> config.peers:
        return _UNKNOWN_INDEX
    if locked:
        return _IN_USE
    entry = s.programmed_ranges[context, index]
    if not enable:
        disable_entry(entry)
        return 0
    first = get_field(registers, F.RANGE_DISPATCH_INDICES_first)
    last = get_field(registers, F.RANGE_DISPATCH_INDICES_last)
    action = get_field(registers, F.RANGE_ACTION_action)
    leaves = action != _NONE and action != _OWN
    gated = get_field(registers, F.RANGE_GATE_enable)
    if last < first or (action == _NONE and not gated) or (leaves and peers == 0):
        return _EMPTY
    if not s.programmed_regions[context, region].enable:
        return _REGION_DISABLED
    for other in range(config.ranges):
        one = s.programmed_ranges[context, other]
        same = other != index and one.enable and one.region == region
        if same and first <= one.last and one.first <= last:
            return _OVERLAP
    shares = get_field(registers, F.RANGE_ACTION_shares)
    slot_offset = get_field(registers, F.RANGE_PEERS_slot_offset)
    make_range(entry, 1, region, first, last, action, command, shares, peers, slot_offset)
    make_gate(
        entry.gate,
        gated,
        get_field(registers, F.RANGE_GATE_context),
        get_field(registers, F.RANGE_GATE_generation),
        get_field(registers, F.RANGE_GATE_slot),
        get_field(registers, F.RANGE_BAND_workgroups),
        get_field(registers, F.RANGE_BAND_slots),
    )
    return 0


@compiled
def commit_command(s: GoldenState, context: int, index: int, locked: bool) -> int:
    """Check the staged command and write it, with the parameters of :func:`commit_region`."""
    config, registers = s.config, s.registers[CONTEXT + context]
    region = get_field(registers, F.COMMAND_STRIDE_region)
    if index >= config.commands or region >= config.regions:
        return _UNKNOWN_INDEX
    if locked:
        return _IN_USE
    offset = _bytes(registers, F.COMMAND_OFFSET_LO_bytes, F.COMMAND_OFFSET_HI_bytes)
    if _misaligned(config, offset):
        return _MISALIGNED
    make_command(
        s.programmed_commands[context, index],
        get_field(registers, F.COMMAND_TRANSFER_kind),
        get_field(registers, F.COMMAND_TRANSFER_marks),
        get_field(registers, F.COMMAND_TRANSFER_op),
        get_field(registers, F.COMMAND_TRANSFER_dtype),
        _atoms(config, offset),
        get_field(registers, F.COMMAND_TRANSFER_granularity),
        get_field(registers, F.COMMAND_TRANSFER_group_log2),
        get_field(registers, F.COMMAND_OUTER_outer_extent),
        get_field(registers, F.COMMAND_OUTER_outer_extent_edge),
        get_field(registers, F.COMMAND_INNER_inner_extent),
        get_field(registers, F.COMMAND_INNER_inner_extent_edge),
        get_field(registers, F.COMMAND_STRIDE_stride),
        region,
        get_field(registers, F.COMMAND_WAVES_wave_outer_extent),
        get_field(registers, F.COMMAND_TRANSFER_wave_inner_log2),
        get_field(registers, F.COMMAND_TRANSFER_waves_inner_log2),
        (
            get_field(registers, F.COMMAND_WAVES_waves0),
            get_field(registers, F.COMMAND_WAVES_waves1),
            get_field(registers, F.COMMAND_WAVES_waves2),
            get_field(registers, F.COMMAND_WAVES_waves3),
        ),
    )
    return 0


@compiled
def commit_peer(s: GoldenState, context: int, index: int, enable: int, in_use: bool) -> int:
    """Write the staged peer; return the configuration error.

    Parameters
    ----------
    in_use : bool
        The context is not idle.
    """
    registers = s.registers[CONTEXT + context]
    if index >= s.config.peers:
        return _UNKNOWN_INDEX
    if in_use:
        return _IN_USE
    make_peer(
        s.contexts[context].peers[index],
        enable,
        get_field(registers, F.PEER_gpu),
        get_field(registers, F.PEER_rank),
        get_field(registers, F.PEER_space),
        get_field(registers, F.PEER_sends_stores),
        get_field(registers, F.PEER_sends_updates),
        get_field(registers, F.PEER_takes_stores),
        get_field(registers, F.PEER_takes_updates),
    )
    return 0


@compiled
def clear_tables(s: GoldenState, context: int) -> None:
    """Remove all regions, ranges and peers; commands stay, without a region that they could
    read.
    """
    for index in range(s.config.regions):
        region = s.programmed_regions[context, index]
        if region.enable:
            keep_region(s.contexts[context].control, index)
        disable_entry(region)
    for index in range(s.config.ranges):
        disable_entry(s.programmed_ranges[context, index])
    for index in range(s.config.peers):
        disable_entry(s.contexts[context].peers[index])


@compiled
def takes_kind(s: GoldenState, context: int, peers: int, kind: int) -> bool:
    """Return whether packets of a kind may leave to each of these peers."""
    for index in range(s.config.peers):
        peer = s.contexts[context].peers[index]
        takes = peer.enable and (peer.sends_stores if kind == _STORE else peer.sends_updates)
        if peers >> index & 1 and not takes:
            return False
    return True


@compiled
def start_copy(
    s: GoldenState, context: int, command: int, peers: int, copies: int, aborted: bool
) -> int:
    """Queue a copy; return the configuration error.

    Parameters
    ----------
    command, peers : int
        Number of the command, and a bit for each peer that gets the copy.
    copies : int
        Copies that waited at the start of the cycle.
    aborted : bool
        The context is aborted.
    """
    config, registers = s.config, s.registers[CONTEXT + context]
    if command >= config.commands or peers >> config.peers:
        return _UNKNOWN_INDEX
    start = _bytes(registers, F.COPY_START_LO_bytes, F.COPY_START_HI_bytes)
    if _misaligned(config, start):
        return _MISALIGNED
    if _outside(config, start):
        return _ADDRESS_OUT_OF_RANGE
    entry = s.programmed_commands[context, command]
    region = s.programmed_regions[context, entry.region]
    if peers == 0:
        return _EMPTY
    if not region.enable:
        return _REGION_DISABLED
    if not takes_kind(s, context, peers, entry.kind):
        return _NO_PEER
    if aborted:
        return _IN_USE
    if copies == MOST_COPIES:
        return _QUEUE_FULL
    push_copy(s.contexts[context].copies, entry, region, _atoms(config, start), peers)
    return 0
