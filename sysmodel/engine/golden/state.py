"""State of the golden model: records of the GPU, its channels and tracker banks, and tables.

Everything that a parameter or a register decides is in the state, so that one compilation serves
every geometry.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map

from .layouts import (
    ARBITER,
    COMMAND,
    COMPLETION,
    COPY,
    EVENT,
    ISSUE_ACK,
    LAUNCH,
    NMC_RESULT,
    RANGE,
    READY,
    REGION,
    SLOT,
)
from .protected_queue import PROTECTED_QUEUE, RING
from .queues import RINGS
from .records import record

__all__ = [
    "COMPLETIONS",
    "EVENTS",
    "ISSUE_ACK_BUFFER",
    "MOST_WALKERS",
    "NMC_LATENCY",
    "REGISTERS",
    "F",
    "GoldenState",
    "R",
    "TYPES",
    "new_state",
]

ISSUE_ACK_BUFFER = 128
NMC_LATENCY = NmcUnit.LATENCY

# The instance's parameters, and the decoded registers.
_CONFIG = record(
    "channels first_channel channel_bits offset_bits interleave atom_mask atom_shift "
    "dispatch_index_mask wavefront_mask credit_limit_mask count_mask regions ranges commands "
    "rows row_bits ways banks bank_bits slots walkers credit_window_slots depth with_data",
    [("launch", LAUNCH), ("arbiter", ARBITER)],
)

# `next` waits for LOOKUP if `taken`.
_TRIGGER = record(
    "state row taken action command granularity waves group_first group_size group_index",
    [("completion", COMPLETION), ("next", COMPLETION)],
)
# A walker's segment lies in `channel`, if that is one of those served here.
_WALKER = record("row row_start offset wavefront channel")
MOST_WALKERS = 16
# A bit for each walker: it has not ended; it offered a segment that was not taken.
_ENGINE = record(
    "state last dispatch_index start outer_extent inner_extent stride "
    "wave_outer_extent wave_inner_log2 waves_inner_log2 wavefront_base "
    "workgroup context kind op dtype atom_offset walking waiting",
    [("walkers", _WALKER, (MOST_WALKERS,))],
)
_CRITICALITY = record(
    "launched phase fraction elapsed finished_seen finish_time sent measuring group group_time "
    "link_time gone remaining verdict late active relaxed critical "
    "turn seen congestion congested"
)
_BUS = record(
    "aw_full w_full b_valid b_resp ar_full r_valid r_data r_resp awaddr wdata wstrb araddr"
)
# Errors, credit window, tracker, and the units that are one for the whole GPU.
_GPU = record(
    "strobes running configuration_error failure error report errors "
    "launched oldest issued credit_limit dispatch_limit done waited "
    "tiles copies_head copies_level "
    "bank_pointer completions entries entries_change entries_moved tracker_busy idle cycle",
    [
        ("bus", _BUS),
        ("trigger", _TRIGGER),
        ("engine", _ENGINE),
        ("criticality", _CRITICALITY),
        ("ready", PROTECTED_QUEUE),
        ("copies", COPY, (2,)),
    ],
)

# One channel: registers, then its queues' records. `popped` and `pushed` come from the blocks
# outside it.
_CHANNEL = record(
    "levels heads popped pushed "
    "compute_last communication_last link_last arbiter_last front_last "
    "starved compute_starved occupancy measuring sum count average measured stored "
    "segment_index slot_head slot_tail slots_used in_flight under_way begun ended",
    [
        ("waiting", PROTECTED_QUEUE),
        *RINGS,
        ("waiting_acks", ISSUE_ACK, (RING * ISSUE_ACK_BUFFER,)),
        ("nmc_valid", np.int64, (NMC_LATENCY,)),
        ("nmc_result", NMC_RESULT, (NMC_LATENCY,)),
    ],
)

# One tracker bank: a bit for each event on its way, clearing, the front's choice for it, rings of
# completions and of events.
COMPLETIONS, EVENTS = 8, 8
_BANK = record(
    "flying level head clearing row pointer best best_channel",
    [("completions", COMPLETION, (COMPLETIONS,)), ("events", EVENT, (EVENTS,))],
)
_ENTRY = record("valid tag ended balance outer_edge inner_edge start")

# A row of the trigger unit's memories.
_ROW = record("tiles start outer_edge inner_edge group")

# A word of the register port: its value, the one after reset, bits that software can write, bits
# that it reads, whether it is a register.
_REGISTER = record("value reset writable readable known")

_map = register_map.load()
# Word index of each register, and [low, mask] of each field under its own name.
R = namedtuple("Registers", _map)(*(register.address // 4 for register in _map.values()))
F = namedtuple("Fields", [f"{r.name}_{f.name}" for r in _map.values() for f in r.fields])(
    *((r.address // 4, f.low, (1 << f.width) - 1) for r in _map.values() for f in r.fields)
)

REGISTERS = max(R) + 1  # words of the port's address space


class GoldenState(NamedTuple):
    """State of one GPU's T3 hardware: records, and arrays of them."""

    config: np.void
    gpu: np.void
    turns: np.ndarray  # bits of a dispatch index's bank that each wavefront inverts
    regions: np.ndarray
    ranges: np.ndarray
    commands: np.ndarray
    channels: np.ndarray
    slots: np.ndarray  # [channel, egress slot]
    banks: np.ndarray
    entries: np.ndarray  # [bank, row, way]
    table: np.ndarray  # [dispatch index modulo credit window]
    complete: np.ndarray  # likewise: whether the workgroup is
    ready: np.ndarray  # ring of the queue of ready commands
    registers: np.ndarray  # [word]


TYPES = GoldenState(
    config=_CONFIG,
    gpu=_GPU,
    turns=np.dtype(np.int64),
    regions=REGION,
    ranges=RANGE,
    commands=COMMAND,
    channels=_CHANNEL,
    slots=SLOT,
    banks=_BANK,
    entries=_ENTRY,
    table=_ROW,
    complete=np.dtype(np.int64),
    ready=READY,
    registers=_REGISTER,
)
"""Type of the elements of each."""


def _describe_registers(p: T3Parameters, registers: np.ndarray) -> None:
    """A field keeps the bits that its destination has."""
    widths = {
        F.FIRST_WORKGROUP_workgroup: p.workgroup_bits,
        F.WORKGROUPS_count: p.workgroup_bits + 1,
        F.TRACKED_FIRST_dispatch_index: p.credit_limit_bits,
        F.TRACKED_END_dispatch_index: p.credit_limit_bits,
        F.SHIFT_dispatch_indices: p.credit_limit_bits,
        F.CREDIT_WINDOW_workgroups: p.credit_limit_bits,
        F.COMMAND_WINDOW_workgroups: p.credit_limit_bits,
        F.REGION_CONTEXT_context: p.context_bits,
        F.RANGE_DISPATCH_INDICES_first: p.dispatch_index_bits,
        F.RANGE_DISPATCH_INDICES_last: p.dispatch_index_bits,
        F.COMMAND_TRANSFER_context: p.context_bits,
    }
    for register in _map.values():
        word = register.address // 4
        row = registers[word]
        row["known"] = 1
        for field in register.fields:
            mask = (1 << field.width) - 1
            mask &= (1 << widths.get((word, field.low, mask), field.width)) - 1
            row["reset"] |= ((field.reset or 0) & mask) << field.low
            row["writable"] |= mask << field.low if field.writable else 0
            row["readable"] |= mask << field.low if field.readable else 0


def _turn(p: T3Parameters, wavefront: int) -> int:
    """The bits of a dispatch index's bank that a wavefront inverts: its lowest bit the highest
    one."""
    highest = (p.banks - 1).bit_length() - 1
    inverted = (highest - bit for bit in range(p.wavefront_bits) if wavefront >> bit & 1)
    return sum(1 << bit for bit in inverted if bit >= 0)


def new_state(parameters: T3Parameters) -> GoldenState:
    """Records for a GPU of this geometry; :func:`~sysmodel.engine.golden.reset` them before use."""
    p = parameters
    shapes = GoldenState(
        config=1,
        gpu=1,
        turns=p.wavefronts,
        regions=p.regions,
        ranges=p.ranges,
        commands=p.commands,
        channels=p.channels,
        slots=(p.channels, p.egress_slots),
        banks=p.banks,
        entries=(p.banks, p.sets // p.banks, p.ways),
        table=p.credit_window,
        complete=p.credit_window,
        ready=RING * p.command_depth,
        registers=REGISTERS,
    )
    arrays = GoldenState(*map(np.zeros, shapes, TYPES))
    state = arrays._replace(config=arrays.config[0], gpu=arrays.gpu[0])
    values = dict(
        channels=p.channels,
        first_channel=p.first_channel,
        channel_bits=(p.system_channels - 1).bit_length(),
        offset_bits=(p.interleave_atoms - 1).bit_length(),
        interleave=p.interleave_atoms,
        atom_mask=(1 << p.atom_address_bits) - 1,
        atom_shift=(p.atom_bytes - 1).bit_length(),
        dispatch_index_mask=(1 << p.dispatch_index_bits) - 1,
        wavefront_mask=(1 << p.wavefront_bits) - 1,
        credit_limit_mask=(1 << p.credit_limit_bits) - 1,
        count_mask=(1 << p.count_bits) - 1,
        regions=p.regions,
        ranges=p.ranges,
        commands=p.commands,
        rows=p.sets // p.banks,
        row_bits=(p.sets // p.banks - 1).bit_length(),
        ways=p.ways,
        banks=p.banks,
        bank_bits=(p.banks - 1).bit_length(),
        slots=p.egress_slots,
        walkers=p.dma_walkers,
        credit_window_slots=p.credit_window,
        depth=p.command_depth,
        with_data=int(p.with_data),
    )
    for name, value in values.items():
        state.config[name] = value
    for wavefront in range(p.wavefronts):
        state.turns[wavefront] = _turn(p, wavefront)
    _describe_registers(p, state.registers)
    return state
