"""State of the golden model: five arrays of words, and what each word of them is.

Everything that a parameter or a register decides is a word of ``config``, so that one compilation
serves every geometry. Records of a queue or a memory have the fields of their layout, in order.
"""

from collections import namedtuple

import numpy as np
from amaranth.lib import data

from rtl.interface import configuration, layouts
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map

from .protected_queue import FIELDS as QUEUE_FIELDS
from .protected_queue import RING
from .queues import BODY_WORDS, RECORD_WORDS

__all__ = [
    "WRITABLE",
    "VALUE",
    "READABLE",
    "RESET",
    "KNOWN",
    "BANK_WORDS",
    "CHANNEL_WORDS",
    "CANDIDATE",
    "CLASSIFIED",
    "COMMAND",
    "COMPLETION",
    "COMPLETIONS",
    "COPY",
    "DATA_WORDS",
    "DRAM",
    "ENTRY",
    "EVENT",
    "EVENTS",
    "F",
    "LOCATION",
    "NMC_WORDS",
    "ISSUE_ACK",
    "ISSUE_ACK_BUFFER",
    "PACKET",
    "SEGMENT",
    "R",
    "RANGE",
    "READ",
    "READY",
    "SLOT",
    "STORE",
    "TABLE",
    "TILE",
    "REGION",
    "B",
    "C",
    "GoldenState",
    "K",
    "U",
    "UPDATES",
    "new_state",
]

DATA_WORDS = 4
NMC_WORDS = 8
ISSUE_ACK_BUFFER = 128
# Columns of ``registers``.
VALUE, RESET, WRITABLE, READABLE, KNOWN = range(5)


def _columns(kind: str, names):
    names = names.split() if isinstance(names, str) else list(names)
    return namedtuple(kind, names)(*range(len(names)))


def _fields(layout: data.StructLayout):
    for name, field in layout:
        if isinstance(field.shape, data.ArrayLayout):
            yield from (f"{name}_{index}" for index in range(field.shape.length))
        else:
            yield name


def _record(layout):
    return _columns(layout.__name__, _fields(layout(T3Parameters(with_data=True))))


READ = _record(layouts.ReadRequest)
STORE = _record(layouts.StoreRequest)
CLASSIFIED = _record(layouts.Classified)
PACKET = _record(layouts.Packet)
DRAM = _record(layouts.DramRequest)
ISSUE_ACK = _record(layouts.IssueAck)
UPDATES = _record(layouts.TileUpdates)
TILE = _record(layouts.TrackerInput)
COMPLETION = _record(layouts.Completion)
READY = _record(layouts.ReadyCommand)
COPY = _record(layouts.Copy)
SEGMENT = _record(layouts.Segment)
LOCATION = _record(layouts.Location)
REGION = _record(configuration.RegionEntry)
RANGE = _record(configuration.RangeEntry)
COMMAND = _record(configuration.CommandEntry)
# An event with the bank that it falls into, and one on its way through that bank.
CANDIDATE = _columns("Candidate", (*TILE._fields, "bank"))
EVENT = _columns("Event", (*TILE._fields, "threshold"))
# A tracker entry, a row of the trigger unit's memories, and an egress slot.
ENTRY = _columns("Entry", "valid tag ended balance outer_edge inner_edge start")
TABLE = _columns("Table", "tiles start outer_edge inner_edge group complete")
SLOT = _columns("Slot", (*PACKET._fields, "filled"))

# Parameters, where the variable-sized parts of `config` and `memory` begin, decoded registers.
C = _columns(
    "Config",
    "channels first_channel channel_bits offset_bits interleave atom_bits atom_mask atom_shift "
    "address_bits dispatch_index_mask wavefront_mask credit_limit_mask count_mask regions ranges "
    "commands "
    "rows row_bits ways banks bank_bits slots credit_window_slots depth with_data latency "
    "at_turns at_regions at_ranges at_commands "
    "at_banks at_rows at_table at_ready at_issue_acks at_copies at_slots at_nmc "
    "first_workgroup workgroups tracked_first tracked_end shift credit_window command_window "
    "updates_per_atom epoch timeout "
    "policy automatic threshold starvation_limit measure_log2 "
    "cut0 cut1 cut2 level0 level1 level2",
)

_ready = " ".join(f"ready_{field}" for field in QUEUE_FIELDS)
_waiting = " ".join(f"waiting_{field}" for field in QUEUE_FIELDS)
# The GPU: bus and errors, credit window, trigger unit, ready queue, copies, DMA engine, pointers.
U = _columns(
    "Gpu",
    "aw_full w_full b_valid b_resp ar_full r_valid r_data r_resp awaddr wdata wstrb araddr "
    "strobes configuration_error failure error report errors "
    "launched oldest issued credit_limit dispatch_limit done waited "
    "trigger_state trigger_row tiles dispatch_index wavefront start outer_edge inner_edge "
    "taken taken_dispatch_index taken_wavefront taken_start taken_outer_edge taken_inner_edge "
    "action command granularity waves group_first group_size group_index "
    f"{_ready} copies_head copies_level "
    "engine engine_last engine_dispatch_index row_start offset outer_extent inner_extent stride "
    "wave_outer_extent wave_row wave_inner_log2 waves_inner_log2 wave_step wavefront_base "
    "workgroup context kind op dtype atom_offset "
    "bank_pointer completions entries entries_change tracker_busy idle cycle",
)

# One channel: its queues, then registers. `popped` and `pushed` come from the blocks outside it.
K = _columns(
    "Channel",
    "levels heads popped pushed "
    "compute_last communication_last link_last arbiter_last front_last "
    "starved occupancy measuring sum count average measured stored "
    f"{_waiting} segment_index slot_head slot_tail slots_used in_flight body",
)
CHANNEL_WORDS = K.body + BODY_WORDS

# One tracker bank: a bit for each event on its way, its completions, clearing and the front's
# choice for it; then a ring of completions and one of events.
COMPLETIONS, EVENTS = 8, 8
B = _columns("Bank", "flying level head clearing row pointer best best_channel body")
BANK_WORDS = B.body + (COMPLETIONS + EVENTS) * RECORD_WORDS

_map = register_map.load()
# Word index of each register, and [low, mask] of each field under its own name.
R = namedtuple("Registers", _map)(*(register.address // 4 for register in _map.values()))
F = namedtuple("Fields", [f"{r.name}_{f.name}" for r in _map.values() for f in r.fields])(
    *((r.address // 4, f.low, (1 << f.width) - 1) for r in _map.values() for f in r.fields)
)

GoldenState = namedtuple("GoldenState", "config gpu channels memory registers")
GoldenState.__doc__ = """State of one GPU's T3 hardware.

``registers`` has a row for each word of the register port's address space: value, value after
reset, bits that software can write, bits that it reads, whether the word is a register.
"""


def _register_rows(p: T3Parameters) -> np.ndarray:
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
    rows = np.zeros((max(R) + 1, 5), np.int64)
    for register in _map.values():
        word = register.address // 4
        rows[word, KNOWN] = 1
        for field in register.fields:
            mask = (1 << field.width) - 1
            mask &= (1 << widths.get((word, field.low, mask), field.width)) - 1
            rows[word, RESET] |= ((field.reset or 0) & mask) << field.low
            rows[word, WRITABLE] |= mask << field.low if field.writable else 0
            rows[word, READABLE] |= mask << field.low if field.readable else 0
    return rows


def _turn(p: T3Parameters, wavefront: int) -> int:
    """The bits of a dispatch index's bank that a wavefront inverts: its lowest bit the highest
    one."""
    highest = (p.banks - 1).bit_length() - 1
    inverted = (highest - bit for bit in range(p.wavefront_bits) if wavefront >> bit & 1)
    return sum(1 << bit for bit in inverted if bit >= 0)


def new_state(parameters: T3Parameters) -> GoldenState:
    """Arrays for a GPU of this geometry; :func:`~sysmodel.engine.golden.reset` them before use."""
    p = parameters
    values = dict(
        channels=p.channels,
        first_channel=p.first_channel,
        channel_bits=(p.system_channels - 1).bit_length(),
        offset_bits=(p.interleave_atoms - 1).bit_length(),
        interleave=p.interleave_atoms,
        atom_bits=p.atom_address_bits,
        atom_mask=(1 << p.atom_address_bits) - 1,
        atom_shift=(p.atom_bytes - 1).bit_length(),
        address_bits=p.address_bits,
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
        credit_window_slots=p.credit_window,
        depth=p.command_depth,
        with_data=int(p.with_data),
        latency=NmcUnit.LATENCY,
    )

    def lay_out(start: int, parts: dict[str, int]) -> int:
        for name, words in parts.items():
            values[name] = start
            start += words
        return start

    config_words = lay_out(
        len(C),
        {
            "at_turns": p.wavefronts,
            "at_regions": p.regions * len(REGION),
            "at_ranges": p.ranges * len(RANGE),
            "at_commands": p.commands * len(COMMAND),
        },
    )
    memory_words = lay_out(
        0,
        {
            "at_banks": p.banks * BANK_WORDS,
            "at_rows": p.sets * p.ways * len(ENTRY),
            "at_table": p.credit_window * len(TABLE),
            "at_ready": RING * p.command_depth * len(READY),
            "at_issue_acks": p.channels * RING * ISSUE_ACK_BUFFER * len(ISSUE_ACK),
            "at_copies": 2 * len(COPY),
            "at_slots": p.channels * p.egress_slots * len(SLOT),
            "at_nmc": p.channels * NmcUnit.LATENCY * NMC_WORDS if p.with_data else 0,
        },
    )
    config = np.zeros(config_words, np.int64)
    for name, value in values.items():
        config[getattr(C, name)] = value
    for wavefront in range(p.wavefronts):
        config[values["at_turns"] + wavefront] = _turn(p, wavefront)
    return GoldenState(
        config=config,
        gpu=np.zeros(len(U), np.int64),
        channels=np.zeros(p.channels * CHANNEL_WORDS, np.int64),
        memory=np.zeros(memory_words, np.int64),
        registers=_register_rows(p),
    )
