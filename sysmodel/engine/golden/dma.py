"""DMA: the engine that walks tiles, and each channel's lane of reads and sends."""

from rtl.interface.encodings import Granularity
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom

from .protected_queue import oldest
from .queues import D, Q, back, front, has, mark, natural, pick, room, waiting
from .records import copy_record
from .state import MOST_WALKERS

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
    engine.start = start
    engine.outer_extent = command.outer_extent
    engine.inner_extent = command.inner_extent
    engine.stride = command.stride
    engine.wave_inner_log2 = _WHOLE_RUN
    engine.wave_outer_extent = 0
    engine.waves_inner_log2 = command.waves_inner_log2
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
def _wavefront(config, engine, row):
    """Wavefront of a row's first atom."""
    steps = row // engine.wave_outer_extent if engine.wave_outer_extent else 0
    advanced = engine.wavefront_base + (steps << engine.waves_inner_log2)
    return advanced & config.wavefront_mask


@inlined
def _place(config, walker):
    """Find the channel of a walker's segment."""
    atom = (walker.row_start + walker.offset) & config.atom_mask
    channel = channel_of_atom(atom, config.offset_bits, config.channel_bits)
    walker.channel = channel - config.first_channel


@compiled
def _shape(s):
    """State SHAPE: the walkers begin, each with a row of its own; gives whether any does."""
    config, engine = s.config, s.gpu.engine
    if engine.outer_extent == 0 or engine.inner_extent == 0:
        return False
    count = min(config.walkers, engine.outer_extent)
    engine.walking = (1 << count) - 1
    engine.waiting = 0
    for row in range(count):
        walker = engine.walkers[natural(row)]
        walker.row = row
        walker.row_start = (engine.start + row * engine.stride) & config.atom_mask
        walker.offset = 0
        walker.wavefront = _wavefront(config, engine, row)
        _place(config, walker)
    return True


@inlined
def _push(config, engine, walker, channel, length):
    """A walker's segment into its channel's lane."""
    to = channel.segments[back(channel.levels, channel.heads, Q.segments)]
    to.atom = (walker.row_start + walker.offset) & config.atom_mask
    to.length = length
    to.offset = walker.offset
    to.wave_inner_log2 = engine.wave_inner_log2
    to.wavefront = walker.wavefront
    to.workgroup = engine.workgroup
    to.context = engine.context
    to.kind = engine.kind
    to.op = engine.op
    to.dtype = engine.dtype
    to.atom_offset = engine.atom_offset
    channel.pushed += mark(Q.segments)


@inlined
def _offered(engine, walker):
    """Whether a walker's lane has an offer that it did not take."""
    if engine.waiting:
        for other in range(MOST_WALKERS):
            if engine.waiting >> other & 1 and engine.walkers[other].channel == walker.channel:
                return True
    return False


@compiled
def _step_walker(s, index):
    """Offer one walker's segment to its lane, unless another one did, and go on if it leaves."""
    config, engine = s.config, s.gpu.engine
    walker = engine.walkers[natural(index)]
    atom = walker.row_start + walker.offset
    length = segment_length(config, atom, engine.inner_extent - walker.offset)
    if 0 <= walker.channel < config.channels:
        channel = s.channels[natural(walker.channel)]
        if channel.pushed & mark(Q.segments):
            return
        if not room(channel.levels, Q.segments, D.segments):
            if not _offered(engine, walker):
                engine.waiting |= 1 << index
            return
        _push(config, engine, walker, channel, length)
        engine.waiting &= ~(1 << index)
    walker.offset += length
    if walker.offset == engine.inner_extent:
        walker.offset = 0
        walker.row += config.walkers
        if walker.row >= engine.outer_extent:
            engine.walking &= ~(1 << index)
            return
        walker.row_start = (walker.row_start + config.walkers * engine.stride) & config.atom_mask
        walker.wavefront = _wavefront(config, engine, walker.row)
    _place(config, walker)


@inlined
def _walk(s):
    """One segment of each walker, as the lanes take them."""
    engine = s.gpu.engine
    # What was offered before stays, and goes first.
    offered = engine.waiting
    others = engine.walking & ~offered
    if offered:
        for index in range(s.config.walkers):
            if offered >> index & 1:
                _step_walker(s, index)
    for index in range(s.config.walkers):
        if others >> index & 1:
            _step_walker(s, index)
    if engine.walking == 0:
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
        engine.state = _WALK if _shape(s) else _IDLE
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
    packet.atom = (segment.atom + index + segment.atom_offset) & config.atom_mask
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
