"""DMA: the engine that walks tiles, and each channel's lane of reads and sends."""

from rtl.interface.encodings import Granularity
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom

from .queues import D, Q, back, copy_words, front, has, mark, natural, pick, room
from .state import (
    CHANNEL_WORDS,
    COMMAND,
    COPY,
    DATA_WORDS,
    PACKET,
    READ,
    READY,
    SEGMENT,
    SLOT,
    C,
    K,
    U,
)

__all__ = ["fill_slot", "segment_length", "push_copy", "step_engine", "step_lane"]

_WORKGROUP = Granularity.WORKGROUP.value
# A run divided in segments this long stays in one wavefront.
_WHOLE_RUN = 15
# States of the engine.
_IDLE, _SCALE, _SHAPE, _WALK = range(4)


@inlined
def segment_length(config, atom, remaining):
    """Atoms from `atom` on in its channel, at most `remaining`."""
    interleave = config[C.interleave]
    return min(remaining, interleave - (atom & (interleave - 1)))


@compiled
def push_copy(s, command, start):
    gpu = s.gpu
    position = (gpu[U.copies_head] + gpu[U.copies_level]) & 1
    to = s.config[C.at_copies] + position * len(COPY)
    s.memory[to + COPY.command] = command
    s.memory[to + COPY.start] = start
    gpu[U.copies_level] += 1


@compiled
def _begin(s, number, start):
    """Take what a copy and a command have in common."""
    config, gpu = s.config, s.gpu
    command = natural(config[C.at_commands] + number * len(COMMAND))
    gpu[U.row_start] = start
    gpu[U.offset] = 0
    gpu[U.outer_extent] = config[command + COMMAND.outer_extent]
    gpu[U.inner_extent] = config[command + COMMAND.inner_extent]
    gpu[U.stride] = config[command + COMMAND.stride]
    gpu[U.wave_inner_log2] = _WHOLE_RUN
    gpu[U.wave_outer_extent] = 0
    gpu[U.wave_row] = 0
    gpu[U.wave_step] = 0
    gpu[U.wavefront_base] = 0
    gpu[U.workgroup] = 0
    gpu[U.engine_dispatch_index] = -1
    gpu[U.context] = config[command + COMMAND.context]
    gpu[U.kind] = config[command + COMMAND.kind]
    gpu[U.op] = config[command + COMMAND.op]
    gpu[U.dtype] = config[command + COMMAND.dtype]
    gpu[U.atom_offset] = config[command + COMMAND.atom_offset]
    return command


@compiled
def _begin_ready(s, ready):
    """Take the ready command at this word of the memory."""
    config, gpu, memory = s.config, s.gpu, s.memory
    command = _begin(s, memory[ready + READY.command], memory[ready + READY.start])
    gpu[U.engine_dispatch_index] = memory[ready + READY.dispatch_index]
    outer_extent = config[command + COMMAND.outer_extent]
    if memory[ready + READY.outer_edge]:
        outer_extent = config[command + COMMAND.outer_extent_edge]
    inner_extent = config[command + COMMAND.inner_extent]
    if memory[ready + READY.inner_edge]:
        inner_extent = config[command + COMMAND.inner_extent_edge]
    minor_log2 = config[command + COMMAND.waves_inner_log2]
    if config[command + COMMAND.granularity] == _WORKGROUP:
        gpu[U.wave_inner_log2] = config[command + COMMAND.wave_inner_log2]
        gpu[U.wave_outer_extent] = config[command + COMMAND.wave_outer_extent]
        gpu[U.wave_step] = 1 << minor_log2
    else:
        wavefront = memory[ready + READY.wavefront]
        minor = wavefront & ((1 << minor_log2) - 1)
        major = wavefront >> minor_log2
        run_log2 = config[command + COMMAND.wave_inner_log2]
        wave_outer_extent = config[command + COMMAND.wave_outer_extent]
        inner_extent = max(min(1 << run_log2, inner_extent - (minor << run_log2)), 0)
        outer_extent = max(min(wave_outer_extent, outer_extent - major * wave_outer_extent), 0)
        gpu[U.wavefront_base] = wavefront
    gpu[U.outer_extent] = outer_extent
    gpu[U.inner_extent] = inner_extent


@compiled
def _scale(s):
    """State SCALE: the workgroup, by the launch of this cycle."""
    config, gpu = s.config, s.gpu
    if gpu[U.engine_dispatch_index] >= 0:
        workgroup = gpu[U.engine_dispatch_index] + config[C.first_workgroup]
        if workgroup >= config[C.workgroups]:
            workgroup -= config[C.workgroups]
        gpu[U.workgroup] = workgroup & config[C.dispatch_index_mask]


@compiled
def _walk(s):
    """Push one segment, unless its lane is full, and go on."""
    config, gpu, channel = s.config, s.gpu, s.channels
    atom = (gpu[U.row_start] + gpu[U.offset]) & config[C.atom_mask]
    length = segment_length(config, atom, gpu[U.inner_extent] - gpu[U.offset])
    number = channel_of_atom(atom, config[C.offset_bits], config[C.channel_bits])
    number -= config[C.first_channel]
    if 0 <= number < config[C.channels]:
        k = natural(number * CHANNEL_WORDS)
        levels, heads = channel[k + K.levels], channel[k + K.heads]
        if not room(levels, Q.segments, D.segments):
            return
        to = back(k + K.body, levels, heads, Q.segments)
        channel[to + SEGMENT.atom] = atom
        channel[to + SEGMENT.length] = length
        channel[to + SEGMENT.offset] = gpu[U.offset]
        channel[to + SEGMENT.wave_inner_log2] = gpu[U.wave_inner_log2]
        channel[to + SEGMENT.wavefront] = gpu[U.wavefront_base]
        channel[to + SEGMENT.workgroup] = gpu[U.workgroup]
        channel[to + SEGMENT.context] = gpu[U.context]
        channel[to + SEGMENT.kind] = gpu[U.kind]
        channel[to + SEGMENT.op] = gpu[U.op]
        channel[to + SEGMENT.dtype] = gpu[U.dtype]
        channel[to + SEGMENT.remote] = (atom + gpu[U.atom_offset]) & config[C.atom_mask]
        channel[k + K.pushed] += mark(Q.segments)
    gpu[U.offset] += length
    if gpu[U.offset] == gpu[U.inner_extent]:
        gpu[U.offset] = 0
        gpu[U.row_start] = (gpu[U.row_start] + gpu[U.stride]) & config[C.atom_mask]
        gpu[U.outer_extent] -= 1
        gpu[U.wave_row] += 1
        if gpu[U.wave_row] == gpu[U.wave_outer_extent]:
            gpu[U.wave_row] = 0
            advanced = gpu[U.wavefront_base] + gpu[U.wave_step]
            gpu[U.wavefront_base] = advanced & config[C.wavefront_mask]
        if gpu[U.outer_extent] == 0:
            gpu[U.engine] = _IDLE


@inlined
def step_engine(s, credit_limit_in):
    """One cycle.

    Returns
    -------
    popped : bool
        A ready command was taken.
    issued : bool
        It was the last one of its workgroup.
    """
    config, gpu, memory = s.config, s.gpu, s.memory
    state = gpu[U.engine]
    if state == _WALK:
        _walk(s)
        return False, False
    if state == _SCALE:
        _scale(s)
        gpu[U.engine] = _SHAPE
        return False, False
    if state == _SHAPE:
        gpu[U.engine] = _WALK if gpu[U.outer_extent] != 0 and gpu[U.inner_extent] != 0 else _IDLE
        return False, False
    if not gpu[U.ready_checked] and not gpu[U.copies_level]:
        return False, False
    ready = natural(config[C.at_ready] + gpu[U.ready_head] * len(READY))
    eligible = (
        gpu[U.ready_checked] != 0
        and memory[ready + READY.dispatch_index] + config[C.shift] < credit_limit_in
    )
    choice = pick(eligible, gpu[U.copies_level] != 0, gpu[U.engine_last])
    if choice < 0:
        return False, False
    gpu[U.engine_last] = choice
    gpu[U.engine] = _SCALE
    if choice == 0:
        _begin_ready(s, ready)
        return True, memory[ready + READY.last] != 0
    copy = config[C.at_copies] + gpu[U.copies_head] * len(COPY)
    _begin(s, memory[copy + COPY.command], memory[copy + COPY.start])
    gpu[U.copies_head] ^= 1
    gpu[U.copies_level] -= 1
    return False, False


@inlined
def fill_slot(s, number, slot):
    """Mark an egress slot of channel `number` as filled; gives where it is."""
    config = s.config
    at = natural(config[C.at_slots] + (number * config[C.slots] + slot) * len(SLOT))
    s.memory[at + SLOT.filled] = 1
    return at


@compiled
def _expand(s, k, slots, levels, heads):
    """One read of the head of ``segments`` into the next egress slot."""
    config, channel, memory = s.config, s.channels, s.memory
    body = k + K.body
    segment = front(body, heads, Q.segments)
    index, tail = channel[k + K.segment_index], channel[k + K.slot_tail]
    atom = channel[segment + SEGMENT.atom] + index
    to = back(body, levels, heads, Q.dma_reads)
    channel[to + READ.atom] = atom & config[C.atom_mask]
    channel[to + READ.tag] = tail

    slot = natural(slots + tail * len(SLOT))
    moved = channel[segment + SEGMENT.remote] + index
    wave = (channel[segment + SEGMENT.offset] + index) >> channel[segment + SEGMENT.wave_inner_log2]
    memory[slot + PACKET.kind] = channel[segment + SEGMENT.kind]
    memory[slot + PACKET.atom] = moved & config[C.atom_mask]
    memory[slot + PACKET.context] = channel[segment + SEGMENT.context]
    memory[slot + PACKET.workgroup] = channel[segment + SEGMENT.workgroup]
    memory[slot + PACKET.wavefront] = (channel[segment + SEGMENT.wavefront] + wave) & config[
        C.wavefront_mask
    ]
    memory[slot + PACKET.op] = channel[segment + SEGMENT.op]
    memory[slot + PACKET.dtype] = channel[segment + SEGMENT.dtype]
    channel[k + K.slot_tail] = (tail + 1) & (config[C.slots] - 1)
    channel[k + K.slots_used] += 1
    if index + 1 == channel[segment + SEGMENT.length]:
        channel[k + K.segment_index] = 0
        return mark(Q.segments), mark(Q.dma_reads)
    channel[k + K.segment_index] = index + 1
    return 0, mark(Q.dma_reads)


@inlined
def step_lane(s, number, levels, heads):
    """One cycle of the lane of channel `number`, but for the returns.

    Returns
    -------
    popped, pushed : int
    """
    config, channel, memory = s.config, s.channels, s.memory
    k = natural(number * CHANNEL_WORDS)
    used, in_flight = channel[k + K.slots_used], channel[k + K.in_flight]
    if used == 0 and in_flight == 0 and not has(levels, Q.segments):
        return 0, 0
    slots = natural(config[C.at_slots] + number * config[C.slots] * len(SLOT))
    popped = pushed = 0
    # The slot that was read in the cycle before is written anew at the earliest below.
    if in_flight:
        source = natural(slots + (in_flight - 1) * len(SLOT))
        to = back(k + K.body, levels, heads, Q.sends)
        copy_words(channel, to, memory, source, PACKET.data_0)
        if config[C.with_data]:
            copy_words(channel, to + PACKET.data_0, memory, source + PACKET.data_0, DATA_WORDS)
        pushed += mark(Q.sends)
        channel[k + K.in_flight] = 0
    if used:
        head = channel[k + K.slot_head]
        slot = natural(slots + head * len(SLOT))
        waiting = ((levels >> (4 * Q.sends)) & 15) + (in_flight != 0)
        if memory[slot + SLOT.filled] and waiting < D.sends:
            memory[slot + SLOT.filled] = 0
            channel[k + K.slot_head] = (head + 1) & (config[C.slots] - 1)
            channel[k + K.slots_used] -= 1
            channel[k + K.in_flight] = head + 1
    if (
        used < config[C.slots]
        and has(levels, Q.segments)
        and room(levels, Q.dma_reads, D.dma_reads)
    ):
        more_popped, more_pushed = _expand(s, k, slots, levels, heads)
        popped += more_popped
        pushed += more_pushed
    return popped, pushed
