"""DMA: the engine that walks tiles, and each channel's lane of reads and sends."""

from rtl.interface.encodings import ErrorCode, Granularity
from sysmodel.lib.compiled import compiled, inlined
from sysmodel.lib.interleave import channel_of_atom

from .errors import error
from .protected_queue import oldest
from .queues import natural, pick
from .records import copy_record
from .rooms import MORE, UNIT
from .state import MOST_WALKERS, READS, SEGMENTS

__all__ = [
    "fill_slot",
    "has_command",
    "lane_is_idle",
    "push_copy",
    "segment_length",
    "step_engine",
    "step_lane",
]

_OUTSIDE = ErrorCode.DMA_OUTSIDE.value
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
def push_copy(s, context, command, start):
    gpu = s.contexts[context]
    to = gpu.copies[(gpu.copies_head + gpu.copies_level) & 1]
    copy_record(to.command, s.programmed_commands[context, command])
    copy_record(to.region, s.programmed_regions[context, to.command.region])
    to.start = start
    gpu.copies_level += 1


@compiled
def _begin(s, context, command, start):
    """Take what a copy and a command have in common."""
    engine = s.contexts[context].engine
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
    engine.context = s.contexts[context].address_space.remote
    engine.generation = s.contexts[context].launch.generation
    engine.kind = command.kind
    engine.op = command.op
    engine.dtype = command.dtype
    engine.atom_offset = command.atom_offset
    engine.region_number = command.region


@inlined
def _begin_ready(s, context, ready):
    """Take a ready command."""
    engine = s.contexts[context].engine
    command = s.commands[context, ready.command]
    _begin(s, context, command, ready.start)
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
def _scale(s, context):
    """State SCALE: the workgroup and the region, by the launch and the table of this cycle."""
    config, own = s.config, s.contexts[context]
    engine = own.engine
    if engine.dispatch_index >= 0:
        copy_record(engine.region, s.regions[context, natural(engine.region_number)])
        workgroup = engine.dispatch_index + own.launch.first_workgroup
        if workgroup >= own.launch.workgroups:
            workgroup -= own.launch.workgroups
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
def _shape(s, context):
    """State SHAPE: the walkers begin, each with a row of its own; gives whether any does."""
    config, engine = s.config, s.contexts[context].engine
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
def _push(config, engine, walker, lane, length):
    """A walker's segment into its channel's lane."""
    to = lane.segments[(lane.segments_head + lane.segments_level) & (SEGMENTS - 1)]
    to.atom = (walker.row_start + walker.offset) & config.atom_mask
    to.length = length
    to.offset = walker.offset
    to.wave_inner_log2 = engine.wave_inner_log2
    to.wavefront = walker.wavefront
    to.workgroup = engine.workgroup
    to.context = engine.context
    to.generation = engine.generation
    to.kind = engine.kind
    to.op = engine.op
    to.dtype = engine.dtype
    to.atom_offset = engine.atom_offset
    lane.segments_pushed = 1


@inlined
def _offered(engine, walker):
    """Whether a walker's lane has an offer that it did not take."""
    if engine.waiting:
        for other in range(MOST_WALKERS):
            if engine.waiting >> other & 1 and engine.walkers[other].channel == walker.channel:
                return True
    return False


@inlined
def _segment(config, engine, walker):
    """A walker's next segment: its atom, its length, and whether the region has it."""
    region = engine.region
    atom = (walker.row_start + walker.offset) & config.atom_mask
    length = segment_length(config, atom, engine.inner_extent - walker.offset)
    inside = region.enable and region.base <= atom and atom + length <= region.limit
    return atom, length, inside


@compiled
def _step_walker(s, context, index):
    """Offer one walker's segment to its lane, unless another one did, and go on if it leaves.

    Returns
    -------
    outside : bool
        The segment is outside the region, and dropped.
    advances : bool
    """
    config, engine = s.config, s.contexts[context].engine
    walker = engine.walkers[natural(index)]
    atom, length, inside = _segment(config, engine, walker)
    if not inside and index < engine.outside_walker:
        engine.outside_walker, engine.outside_atom = index, atom
    if inside and 0 <= walker.channel < config.channels:
        channel = s.channels[natural(walker.channel)]
        lane = channel.lanes[context]
        if lane.segments_pushed:
            return False, False
        if lane.segments_level == SEGMENTS:
            if not _offered(engine, walker):
                engine.waiting |= 1 << index
            return False, False
        channel.live |= 1 << context
        channel.rests = 0
        _push(config, engine, walker, lane, length)
        engine.waiting &= ~(1 << index)
    walker.offset += length
    if walker.offset == engine.inner_extent:
        walker.offset = 0
        walker.row += config.walkers
        if walker.row >= engine.outer_extent:
            engine.walking &= ~(1 << index)
            return not inside, True
        walker.row_start = (walker.row_start + config.walkers * engine.stride) & config.atom_mask
        walker.wavefront = _wavefront(config, engine, walker.row)
    _place(config, walker)
    return not inside, True


@inlined
def _walk(s, context):
    """One segment of each walker, as the lanes take them; gives the error of one outside, whose
    atom is noted."""
    own, engine = s.contexts[context], s.contexts[context].engine
    engine.outside_walker = MOST_WALKERS
    outside = moves = False
    # What was offered before stays, and goes first.
    offered = engine.waiting
    others = engine.walking & ~offered
    if offered:
        for index in range(s.config.walkers):
            if offered >> index & 1:
                is_outside, advances = _step_walker(s, context, index)
                outside |= is_outside
                moves |= advances
    for index in range(s.config.walkers):
        if others >> index & 1:
            is_outside, advances = _step_walker(s, context, index)
            outside |= is_outside
            moves |= advances
    if moves or engine.waiting != offered:
        own.awake |= UNIT.engine
    if engine.walking == 0:
        engine.state = _IDLE
    return error(_OUTSIDE, context, engine.workgroup, engine.wavefront_base) if outside else 0


@inlined
def has_command(own):
    """Whether one is at the engine's ports."""
    return own.ready.checked | own.copies_level != 0


@compiled
def _stop(s, context):
    """An abort: which walkers wait for a lane is known for a cycle more."""
    config, engine = s.config, s.contexts[context].engine
    for number in range(config.channels):
        lane, first = s.channels[number].lanes[context], -1
        for index in range(config.walkers):
            walker = engine.walkers[natural(index)]
            if not engine.walking >> index & 1 or walker.channel != number:
                continue
            _, _, inside = _segment(config, engine, walker)
            if inside and (first < 0 or engine.waiting >> index & 1):
                first = index
        for index in range(config.walkers):
            if engine.walkers[natural(index)].channel == number:
                engine.waiting &= ~(1 << index)
        if first >= 0 and lane.segments_level == SEGMENTS:
            engine.waiting |= 1 << first


@inlined
def _drop_all(own):
    """Forget the command in hand, and one of each kind that waits; gives whether one was ready."""
    own.engine.state = _IDLE
    if own.copies_level:
        own.copies_head ^= 1
        own.copies_level -= 1
    return own.ready.checked != 0


@inlined
def step_engine(s, context, credit_limit_in):
    """One cycle.

    Returns
    -------
    popped : bool
        A ready command was taken.
    issued : bool
        It was the last one of its workgroup.
    failure : int
        Error, or 0.
    """
    own = s.contexts[context]
    engine = own.engine
    state = engine.state
    waits = engine.waiting if state != _WALK else own.aborted
    if waits or state in (_SCALE, _SHAPE) or (state == _IDLE and has_command(own)):
        own.awake |= UNIT.engine
    if state != _WALK:
        engine.waiting = 0
    elif own.aborted:
        _stop(s, context)
    if own.aborted:
        return _drop_all(own), False, 0
    if state == _WALK:
        return False, False, _walk(s, context)
    if state == _SCALE:
        _scale(s, context)
        engine.state = _SHAPE
        return False, False, 0
    if state == _SHAPE:
        engine.state = _WALK if _shape(s, context) else _IDLE
        return False, False, 0
    if not has_command(own):
        return False, False, 0
    ready = s.ready[context, oldest(own.ready)]
    eligible = own.ready.checked != 0 and ready.dispatch_index + own.launch.shift < credit_limit_in
    choice = pick(eligible, own.copies_level != 0, engine.last)
    if choice < 0:
        return False, False, 0
    engine.last = choice
    engine.state = _SCALE
    if choice == 0:
        _begin_ready(s, context, ready)
        return True, ready.last != 0, 0
    copy = own.copies[natural(own.copies_head)]
    _begin(s, context, copy.command, copy.start)
    copy_record(engine.region, copy.region)
    own.copies_head ^= 1
    own.copies_level -= 1
    return False, False, 0


@inlined
def fill_slot(s, number, slot):
    """Mark an egress slot of channel `number` as filled; gives its record."""
    at = s.slots[natural(number), natural(slot)]
    at.filled = 1
    return at


@inlined
def _expand(s, number, context, lane, to):
    """One read of the lane's first segment into the next egress slot; the read goes to ``to``."""
    config = s.config
    segment = lane.segments[natural(lane.segments_head)]
    index, tail = lane.segment_index, lane.slot_tail
    slot = (context << config.slot_bits) + tail
    to.atom = (segment.atom + index) & config.atom_mask
    to.tag = tail

    packet = s.slots[natural(number), natural(slot)].packet
    wave = (segment.offset + index) >> segment.wave_inner_log2
    packet.kind = segment.kind
    packet.atom = (segment.atom + index + segment.atom_offset) & config.atom_mask
    packet.context = segment.context
    packet.generation = segment.generation
    packet.workgroup = segment.workgroup
    packet.wavefront = (segment.wavefront + wave) & config.wavefront_mask
    packet.op = segment.op
    packet.dtype = segment.dtype
    lane.slot_tail = (tail + 1) & (config.slots - 1)
    lane.slots_used += 1
    lane.segment_index = index + 1
    if index + 1 == segment.length:
        lane.segment_index = 0
        lane.segments_head = (lane.segments_head + 1) & (SEGMENTS - 1)
        lane.segments_level -= 1


@inlined
def lane_is_idle(lane):
    """Whether the lane holds nothing; its reads are looked at apart."""
    return lane.slots_used | lane.has_ahead | lane.segments_level | lane.reads_level == 0


@inlined
def step_lane(s, number, context, read, sent, returned):
    """One cycle of a lane of channel `number`, but for the returns.

    Parameters
    ----------
    read, sent, returned : bool
        What waits to be read leaves for the arbiter, what is read ahead leaves for the link, data
        comes into a slot.
    """
    config, channel = s.config, s.channels[natural(number)]
    lane = channel.lanes[context]
    used, level, reads = lane.slots_used, lane.segments_level, lane.reads_level
    is_aborted = s.contexts[context].aborted
    head = lane.slot_head
    slot = s.slots[natural(number), natural((context << config.slot_bits) + head)]
    # Each of the slots' memories has one port. What comes is written first; after that, nothing is
    # expanded until the packet that could have left is read.
    expands = used < config.slots and level and reads < READS and not is_aborted and not lane.held
    leaves = used and slot.filled and (not lane.has_ahead or sent)
    awake = expands or leaves or read or sent or returned or lane.held != 0
    if awake or lane.segments_pushed or (level and is_aborted):
        channel.awake_more += MORE.lane
    lane.held = leaves and (expands or returned)
    if read:
        lane.reads_head = (lane.reads_head + 1) & (READS - 1)
        lane.reads_level -= 1
    if sent:
        lane.has_ahead = 0
    if leaves and not lane.held:
        slot.filled = 0
        lane.slot_head = (head + 1) & (config.slots - 1)
        lane.slots_used -= 1
        lane.has_ahead = 1
        copy_record(lane.ahead, slot.packet)
    if is_aborted:
        lane.segment_index = 0
        if level:
            lane.segments_head = (lane.segments_head + 1) & (SEGMENTS - 1)
            lane.segments_level -= 1
    elif expands:
        behind = natural((lane.reads_head + lane.reads_level) & (READS - 1))
        _expand(s, number, context, lane, lane.reads[behind])
        lane.reads_level += 1
    if level == SEGMENTS and lane.segments_level < level:
        s.gpu.freed = 1
    if lane.segments_pushed:
        lane.segments_pushed = 0
        lane.segments_level += 1
