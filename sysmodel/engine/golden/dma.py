"""DMA: the engine that walks tiles, and each channel's lane of reads and sends."""

from rtl.interface.encodings import Granularity
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom

from .protected_queue import oldest
from .queues import D, Q, back, front, has, mark, natural, pick, room, waiting
from .records import copy_record

__all__ = ["fill_slot", "segment_length", "push_copy", "step_engine", "step_lane"]

_WORKGROUP = Granularity.WORKGROUP.value
# A run divided in segments this long stays in one wavefront.
_WHOLE_RUN = 15
# States of the engine.
_IDLE, _SCALE, _SHAPE, _WALK = range(4)


@inlined
def segment_length(config, atom, remaining):
    """Atoms from `atom` on in its channel, at most `remaining`."""
    interleave = config.interleave
    return min(remaining, interleave - (atom & (interleave - 1)))


@compiled
def push_copy(s, command, start):
    gpu = s.gpu
    to = gpu.copies[(gpu.copies_head + gpu.copies_level) & 1]
    to.command = command
    to.start = start
    gpu.copies_level += 1


@compiled
def _begin(s, number, start):
    """Take what a copy and a command have in common."""
    engine = s.gpu.engine
    command = s.commands[number]
    engine.row_start = start
    engine.offset = 0
    engine.outer_extent = command.outer_extent
    engine.inner_extent = command.inner_extent
    engine.stride = command.stride
    engine.wave_inner_log2 = _WHOLE_RUN
    engine.wave_outer_extent = 0
    engine.wave_row = 0
    engine.wave_step = 0
    engine.wavefront_base = 0
    engine.workgroup = 0
    engine.dispatch_index = -1
    engine.context = command.context
    engine.kind = command.kind
    engine.op = command.op
    engine.dtype = command.dtype
    engine.atom_offset = command.atom_offset
    return command


@inlined
def _begin_ready(s, ready):
    """Take a ready command."""
    engine = s.gpu.engine
    command = _begin(s, ready.command, ready.start)
    engine.dispatch_index = ready.dispatch_index
    outer_extent = command.outer_extent
    if ready.outer_edge:
        outer_extent = command.outer_extent_edge
    inner_extent = command.inner_extent
    if ready.inner_edge:
        inner_extent = command.inner_extent_edge
    minor_log2 = command.waves_inner_log2
    if command.granularity == _WORKGROUP:
        engine.wave_inner_log2 = command.wave_inner_log2
        engine.wave_outer_extent = command.wave_outer_extent
        engine.wave_step = 1 << minor_log2
    else:
        wavefront = ready.wavefront
        minor = wavefront & ((1 << minor_log2) - 1)
        major = wavefront >> minor_log2
        run_log2 = command.wave_inner_log2
        wave_outer_extent = command.wave_outer_extent
        inner_extent = max(min(1 << run_log2, inner_extent - (minor << run_log2)), 0)
        outer_extent = max(min(wave_outer_extent, outer_extent - major * wave_outer_extent), 0)
        engine.wavefront_base = wavefront
    engine.outer_extent = outer_extent
    engine.inner_extent = inner_extent


@inlined
def _scale(s):
    """State SCALE: the workgroup, by the launch of this cycle."""
    config, engine = s.config, s.gpu.engine
    if engine.dispatch_index >= 0:
        workgroup = engine.dispatch_index + config.launch.first_workgroup
        if workgroup >= config.launch.workgroups:
            workgroup -= config.launch.workgroups
        engine.workgroup = workgroup & config.dispatch_index_mask


@inlined
def _walk(s):
    """Push one segment, unless its lane is full, and go on."""
    config, engine = s.config, s.gpu.engine
    atom = (engine.row_start + engine.offset) & config.atom_mask
    length = segment_length(config, atom, engine.inner_extent - engine.offset)
    number = channel_of_atom(atom, config.offset_bits, config.channel_bits)
    number -= config.first_channel
    if 0 <= number < config.channels:
        channel = s.channels[natural(number)]
        levels, heads = channel.levels, channel.heads
        if not room(levels, Q.segments, D.segments):
            return
        to = channel.segments[back(levels, heads, Q.segments)]
        to.atom = atom
        to.length = length
        to.offset = engine.offset
        to.wave_inner_log2 = engine.wave_inner_log2
        to.wavefront = engine.wavefront_base
        to.workgroup = engine.workgroup
        to.context = engine.context
        to.kind = engine.kind
        to.op = engine.op
        to.dtype = engine.dtype
        to.remote = (atom + engine.atom_offset) & config.atom_mask
        channel.pushed += mark(Q.segments)
    engine.offset += length
    if engine.offset == engine.inner_extent:
        engine.offset = 0
        engine.row_start = (engine.row_start + engine.stride) & config.atom_mask
        engine.outer_extent -= 1
        engine.wave_row += 1
        if engine.wave_row == engine.wave_outer_extent:
            engine.wave_row = 0
            advanced = engine.wavefront_base + engine.wave_step
            engine.wavefront_base = advanced & config.wavefront_mask
        if engine.outer_extent == 0:
            engine.state = _IDLE


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
    gpu, engine = s.gpu, s.gpu.engine
    state = engine.state
    if state == _WALK:
        _walk(s)
        return False, False
    if state == _SCALE:
        _scale(s)
        engine.state = _SHAPE
        return False, False
    if state == _SHAPE:
        some = engine.outer_extent != 0 and engine.inner_extent != 0
        engine.state = _WALK if some else _IDLE
        return False, False
    if not gpu.ready.checked and not gpu.copies_level:
        return False, False
    ready = s.ready[oldest(gpu.ready)]
    eligible = (
        gpu.ready.checked != 0 and ready.dispatch_index + s.config.launch.shift < credit_limit_in
    )
    choice = pick(eligible, gpu.copies_level != 0, engine.last)
    if choice < 0:
        return False, False
    engine.last = choice
    engine.state = _SCALE
    if choice == 0:
        _begin_ready(s, ready)
        return True, ready.last != 0
    copy = gpu.copies[natural(gpu.copies_head)]
    _begin(s, copy.command, copy.start)
    gpu.copies_head ^= 1
    gpu.copies_level -= 1
    return False, False


@inlined
def fill_slot(s, number, slot):
    """Mark an egress slot of channel `number` as filled; gives its record."""
    at = s.slots[natural(number), natural(slot)]
    at.filled = 1
    return at


@inlined
def _expand(s, number, levels, heads):
    """One read of the head of ``segments`` into the next egress slot."""
    config, channel = s.config, s.channels[natural(number)]
    segment = channel.segments[front(heads, Q.segments)]
    index, tail = channel.segment_index, channel.slot_tail
    to = channel.dma_reads[back(levels, heads, Q.dma_reads)]
    to.atom = (segment.atom + index) & config.atom_mask
    to.tag = tail

    packet = s.slots[natural(number), natural(tail)].packet
    wave = (segment.offset + index) >> segment.wave_inner_log2
    packet.kind = segment.kind
    packet.atom = (segment.remote + index) & config.atom_mask
    packet.context = segment.context
    packet.workgroup = segment.workgroup
    packet.wavefront = (segment.wavefront + wave) & config.wavefront_mask
    packet.op = segment.op
    packet.dtype = segment.dtype
    channel.slot_tail = (tail + 1) & (config.slots - 1)
    channel.slots_used += 1
    if index + 1 == segment.length:
        channel.segment_index = 0
        return mark(Q.segments), mark(Q.dma_reads)
    channel.segment_index = index + 1
    return 0, mark(Q.dma_reads)


@inlined
def step_lane(s, number, levels, heads):
    """One cycle of the lane of channel `number`, but for the returns.

    Returns
    -------
    popped, pushed : int
    """
    config, channel = s.config, s.channels[natural(number)]
    used, in_flight = channel.slots_used, channel.in_flight
    if used == 0 and in_flight == 0 and not has(levels, Q.segments):
        return 0, 0
    popped = pushed = 0
    # The slot that was read in the cycle before is written anew at the earliest below.
    if in_flight:
        source = s.slots[natural(number), natural(in_flight - 1)]
        copy_record(channel.sends[back(levels, heads, Q.sends)], source.packet)
        pushed += mark(Q.sends)
        channel.in_flight = 0
    if used:
        head = channel.slot_head
        slot = s.slots[natural(number), natural(head)]
        if slot.filled and waiting(levels, Q.sends) + (in_flight != 0) < D.sends:
            slot.filled = 0
            channel.slot_head = (head + 1) & (config.slots - 1)
            channel.slots_used -= 1
            channel.in_flight = head + 1
    if used < config.slots and has(levels, Q.segments) and room(levels, Q.dma_reads, D.dma_reads):
        more_popped, more_pushed = _expand(s, number, levels, heads)
        popped += more_popped
        pushed += more_pushed
    return popped, pushed
