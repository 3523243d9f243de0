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
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import ALWAYS, CONTEXT, GLOBAL, MOST_CONTEXTS
from sysmodel.engine.ports import CONTEXT_INPUTS

from .layouts import (
    ADDRESS_SPACE,
    ARBITER,
    COMMAND,
    COMPLETION,
    COPY,
    EVENT,
    INBOUND,
    ISSUE_ACK,
    LAUNCH,
    NMC_RESULT,
    PACKET,
    RANGE,
    READ,
    READY,
    REGION,
    SEGMENT,
    SLOT,
)
from .protected_queue import PROTECTED_QUEUE, RING
from .queues import RINGS
from .records import record
from .rooms import KINDS

__all__ = [
    "COMPLETIONS",
    "EVENTS",
    "ISSUE_ACK_BUFFER",
    "MOST_WALKERS",
    "NMC_LATENCY",
    "READS",
    "REGISTERS",
    "SEGMENTS",
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
    "dispatch_index_mask wavefront_mask credit_limit_mask count_mask full_bank contexts regions "
    "ranges commands rows row_bits ways banks bank_bits slots slot_bits walkers "
    "credit_window_slots depth remote_depth with_data",
    [("arbiter", ARBITER)],
)

# The walk over a memory that corrects it: what its row had wrong when it was read. `looked`: it
# looked in the last cycle, and nothing disturbed.
_WALK = record("due looks looked holds row seen wrote")
# `next` waits for LOOKUP if `taken`. `written`: a memory was written in the last cycle.
_TRIGGER = record(
    "state row taken row_wrong action command granularity waves group_first group_size group_index "
    "row_seen group_seen wrote written",
    [
        ("completion", COMPLETION),
        ("next", COMPLETION),
        ("row_walk", _WALK),
        ("group_walk", _WALK),
    ],
)
# A walker's segment lies in `channel`, if that is one of those served here.
_WALKER = record("row row_start offset wavefront channel")
MOST_WALKERS = 16
# A bit for each walker: it has not ended; it offered a segment that was not taken.
_ENGINE = record(
    "state last dispatch_index start outer_extent inner_extent stride "
    "wave_outer_extent wave_inner_log2 waves_inner_log2 wavefront_base "
    "workgroup context generation kind op dtype atom_offset region_number walking waiting "
    "outside_walker outside_atom",
    [("region", REGION), ("walkers", _WALKER, (MOST_WALKERS,))],
)
_CRITICALITY = record(
    "launched changed phase looked fraction elapsed finished_seen finish_time sent "
    "measuring group group_time link_time gone remaining verdict late active relaxed critical "
    "turn seen congestion congested"
)
_BUS = record(
    "aw_full w_full b_valid b_resp ar_full r_valid r_data r_resp awaddr privileged wdata wstrb "
    "araddr"
)
# The port, the tracker, and what the arbiters are told.
_GPU = record(
    "number bank_pointer completions offered chose tracker_busy cycle "
    "active relaxed critical congested "
    # Rooms: whether one is awake in this cycle; what channels add up. Whether those beside the
    # channels rest; what the channels have left, by contexts; of the last cycle, whether a bank or
    # a unit had an error, a link's error waits, and the pages that were written.
    "awake added added_queues added_more rests called freed busy left unsent errors_come "
    "errors_came link_comes link_waits written page_awake arming "
    # Injection: the strobe, what is armed, what is shown of it; corrections on their way.
    "arms injecting bank_armed bank_number bank_waits armed armed_target armed_number armed_shown "
    "has_wrong_entries corrected_next corrected corrected_before "
    "patrol_interval patrol_left patrols patrolling patrolled patrolled_before links_fail",
    [("bus", _BUS)],
)
# A context: its registers' effects, credit window, and units; what it has in the tracker;
# from `given` on, of the cycle under way.
_CONTEXT = record(
    "strobes launches running pending begun launches_done open given_up "
    "former_valid former_generation told_generation "
    "aborting waited_abort configuration_error ways was_idle copying sent "
    "downstream dispatched finished peer_aborted peer_told "
    "launched oldest issued credit_limit dispatch_limit done waited "
    "tiles copies_head copies_level entries entries_change entries_moved completions candidates "
    "flying idle gone aborted given copies_before had_ready ended has_sent complete own pushed "
    "issues outside corrupt sends works awake",
    [
        ("seen", np.int64, (CONTEXT_INPUTS,)),
        ("launch", LAUNCH),
        ("programmed", LAUNCH),
        ("address_space", ADDRESS_SPACE),
        ("inbound", INBOUND),
        ("trigger", _TRIGGER),
        ("engine", _ENGINE),
        ("criticality", _CRITICALITY),
        ("ready", PROTECTED_QUEUE),
        ("copies", COPY, (2,)),
    ],
)

# What a channel has for each context: segments, their reads, and the packet that is read ahead;
# stores that leave over the link; packets before the link; what is under way, what began and ended
# in the last cycle, and what ended with the tracker's taking it.
SEGMENTS, READS = 2, 2
_LANE = record(
    "segments_level segments_head segments_pushed segment_index reads_level reads_head "
    "slot_head slot_tail slots_used held has_ahead "
    "remote_stored remote_valid remote_head remote_put link_last on_link "
    "under_way begun ended tracked copies_under_way copies_begun copies_ended",
    [("segments", SEGMENT, (SEGMENTS,)), ("reads", READ, (READS,)), ("ahead", PACKET)],
)
# One channel: registers, then its queues' records; where the errors of its store and its packet
# were. `popped` and `pushed` come from the blocks outside it. `link_errors` has a bit for each kind
# that waits to be told. The last line: rooms that are awake in this cycle; whether something was
# under way or in error in the last one; contexts that may have something here; whether all rooms
# slept in the last cycle, and what of the contexts is left then.
_CHANNEL = record(
    "number levels heads popped pushed "
    "compute_last communication_last arbiter_last front_last "
    "starved compute_starved occupancy measuring sum count average measured stored "
    "lane_first link_first corrupt link_errors "
    "awake awake_more comes came live rests busy stays unsent link_room nmc_left",
    [
        ("lanes", _LANE, (MOST_CONTEXTS,)),
        ("waiting", PROTECTED_QUEUE),
        *RINGS,
        ("waiting_acks", ISSUE_ACK, (RING * ISSUE_ACK_BUFFER,)),
        ("waiting_wrong", np.int64, (RING * ISSUE_ACK_BUFFER,)),
        ("places", np.int64, (2,)),
        ("nmc_valid", np.int64, (NMC_LATENCY,)),
        ("nmc_result", NMC_RESULT, (NMC_LATENCY,)),
    ],
)

# One tracker bank: a bit for each event on its way, clearing after reset, the front's choice for
# it, the contexts that the next walk over its rows and this one are for, rings of completions and
# of events, and what it counts of each context's entries.
COMPLETIONS, EVENTS = 8, 8
_BANK = record(
    "flying level head clearing row pointer best best_channel pending forgetting "
    "wrote held fixes fixed_way came gave walks",
    [
        ("walk", _WALK),
        ("completions", COMPLETION, (COMPLETIONS,)),
        ("events", EVENT, (EVENTS,)),
        ("in_use", np.int64, (MOST_CONTEXTS,)),
    ],
)
# Wrong bits are in the memory from the cycle `since` on.
_ENTRY = record("valid owner tag ended balance outer_edge inner_edge start wrong since")

# A row of the trigger unit's memories.
_ROW = record("tiles start outer_edge inner_edge group wrong group_wrong")

# A word of the register port: its value, the one after reset, bits that software can write, bits
# that it reads, whether it is a register.
_REGISTER = record("value reset writable readable known lock")

_map = register_map.load()
_LOCKS = {GLOBAL: _map["GPU_LOCK"], CONTEXT: _map["LOCK"]}
# Word index of each register in its page, and [low, mask] of each field under its own name.
R = namedtuple("Registers", _map)(*(register.offset // 4 for register in _map.values()))
F = namedtuple("Fields", [f"{r.name}_{f.name}" for r in _map.values() for f in r.fields])(
    *((r.offset // 4, f.low, (1 << f.width) - 1) for r in _map.values() for f in r.fields)
)

REGISTERS = max(R) + 1  # words of a page


# Errors of the GPU or of a context: the log, the one that is logged in this cycle, the one that is
# counted in this cycle, the first ones of the cycle under way; interrupts. Each error is two words:
# what, and where.
_LOG = record(
    "level first total failure failure_place counted of_channel place_of_channel of_unit strobes"
    " events",
    [
        ("errors", np.int64, (ERROR_LOG_DEPTH,)),
        ("places", np.int64, (ERROR_LOG_DEPTH,)),
    ],
)


class GoldenState(NamedTuple):
    """State of one GPU's T3 hardware: records, and arrays of them."""

    config: np.void
    gpu: np.void
    turns: np.ndarray  # bits of a dispatch index's bank that each wavefront inverts
    contexts: np.ndarray
    regions: np.ndarray  # [context, index]
    ranges: np.ndarray
    commands: np.ndarray
    programmed_regions: np.ndarray  # likewise, of the next launch
    programmed_ranges: np.ndarray
    programmed_commands: np.ndarray
    channels: np.ndarray
    slots: np.ndarray  # [channel, context and egress slot]
    remote: np.ndarray  # [channel, context, position]
    banks: np.ndarray
    entries: np.ndarray  # [bank, row, way]
    table: np.ndarray  # [context, dispatch index modulo credit window]
    complete: np.ndarray  # likewise: whether the workgroup is
    ready: np.ndarray  # [context, position in the ring of the queue of ready commands]
    ready_wrong: np.ndarray  # likewise: wrong bits
    registers: np.ndarray  # [page, word]
    logs: np.ndarray  # [page]
    clocked: np.ndarray  # [kind of room]: cycles in which rooms were awake


TYPES = GoldenState(
    config=_CONFIG,
    gpu=_GPU,
    turns=np.dtype(np.int64),
    contexts=_CONTEXT,
    regions=REGION,
    ranges=RANGE,
    commands=COMMAND,
    programmed_regions=REGION,
    programmed_ranges=RANGE,
    programmed_commands=COMMAND,
    channels=_CHANNEL,
    slots=SLOT,
    remote=PACKET,
    banks=_BANK,
    entries=_ENTRY,
    table=_ROW,
    complete=np.dtype(np.int64),
    ready=READY,
    ready_wrong=np.dtype(np.int64),
    registers=_REGISTER,
    logs=_LOG,
    clocked=np.dtype(np.int64),
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
        F.RANGE_DISPATCH_INDICES_first: p.dispatch_index_bits,
        F.RANGE_DISPATCH_INDICES_last: p.dispatch_index_bits,
        F.ADDRESS_SPACE_local: p.context_bits,
        F.ADDRESS_SPACE_remote: p.context_bits,
        F.WAYS_mask: p.ways,
    }
    for register in _map.values():
        word = register.offset // 4
        row = registers[register.page][word]
        row["known"] = 1
        if register.lock:
            always = register.lock == ALWAYS
            row["lock"] = -1 if always else _LOCKS[register.page][register.lock].mask
        for field in register.fields:
            mask = (1 << field.width) - 1
            if register.page == CONTEXT:  # words of the pages have the same numbers
                mask &= (1 << widths.get((word, field.low, mask), field.width)) - 1
            row["reset"] |= ((field.reset or 0) & mask) << field.low
            row["writable"] |= mask << field.low if field.writable else 0
            row["readable"] |= mask << field.low if field.readable else 0
    registers[GLOBAL][R.CONTEXTS]["reset"] = p.contexts << F.CONTEXTS_count[1]
    registers[GLOBAL][R.EPOCHS]["reset"] = 1 << F.EPOCHS_next[1]
    registers[CONTEXT:] = registers[CONTEXT]


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
        contexts=p.contexts,
        regions=(p.contexts, p.regions),
        ranges=(p.contexts, p.ranges),
        commands=(p.contexts, p.commands),
        programmed_regions=(p.contexts, p.regions),
        programmed_ranges=(p.contexts, p.ranges),
        programmed_commands=(p.contexts, p.commands),
        channels=p.channels,
        slots=(p.channels, p.contexts * p.egress_slots),
        remote=(p.channels, p.contexts, p.remote_depth),
        banks=p.banks,
        entries=(p.banks, p.sets // p.banks, p.ways),
        table=(p.contexts, p.credit_window),
        complete=(p.contexts, p.credit_window),
        ready=(p.contexts, RING * p.command_depth),
        ready_wrong=(p.contexts, RING * p.command_depth),
        registers=(CONTEXT + p.contexts, REGISTERS),
        logs=CONTEXT + p.contexts,
        clocked=len(KINDS),
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
        full_bank=(1 << (p.sets // p.banks * p.ways + 1).bit_length()) - 1,
        contexts=p.contexts,
        regions=p.regions,
        ranges=p.ranges,
        commands=p.commands,
        rows=p.sets // p.banks,
        row_bits=(p.sets // p.banks - 1).bit_length(),
        ways=p.ways,
        banks=p.banks,
        bank_bits=(p.banks - 1).bit_length(),
        slots=p.egress_slots,
        slot_bits=p.slot_bits,
        remote_depth=p.remote_depth,
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
