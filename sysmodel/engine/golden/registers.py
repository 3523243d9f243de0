"""The register port: AXI4-Lite, what software reads, and the decoded configuration."""

from rtl.interface.configuration import EPOCH_BITS, GENERATION_BITS
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.ports import G, J
from sysmodel.lib.compiled import compiled, inlined

from .errors import PLACE_ATOM, oldest_error, oldest_place
from .injection import is_armed
from .records import copy_record
from .rooms import UNIT
from .state import REGISTERS, F, R

__all__ = [
    "ABORT",
    "EPOCHS",
    "LAUNCH",
    "OKAY",
    "REJECT",
    "decode",
    "follow_launch",
    "get_field",
    "look_outside",
    "next_epoch",
    "page_of",
    "put_field",
    "read_register",
    "step_bus",
    "store_register",
    "take_launch",
    "word_of",
]

OKAY, REJECT = 0, 2
LAUNCH = F.CONTROL_launch[2] << F.CONTROL_launch[1]
ABORT = F.CONTROL_abort[2] << F.CONTROL_abort[1]
EPOCHS = 1 << EPOCH_BITS
_GENERATIONS = 1 << GENERATION_BITS
_WALK = 3  # state of the engine in which it looks at no table
_TRIGGER_IDLE = 1


@compiled
def get_field(registers, field):
    word, low, mask = field
    return (registers[word].value >> low) & mask


@compiled
def put_field(field, value):
    _, low, mask = field
    return (value & mask) << low


@compiled
def next_epoch(s):
    """Of the next launch, or ``EPOCHS`` if none is left."""
    return get_field(s.registers[GLOBAL], F.EPOCHS_next)


@inlined
def page_of(config, address):
    """The page of an address, or -1: 0, and from 1 on those of the contexts."""
    page = address >> PAGE_BITS
    word = (address & ((1 << PAGE_BITS) - 1)) >> 2
    return -1 if address & 3 or page > config.contexts or word >= REGISTERS else page


@inlined
def word_of(address):
    """The word of an address in its page."""
    return (address & ((1 << PAGE_BITS) - 1)) >> 2


@compiled
def read_register(s, address):
    """What a read of this address gives.

    Returns
    -------
    data, resp : int
    """
    page, word = page_of(s.config, address), word_of(address)
    if page < 0 or not s.registers[page, word].known:
        return 0, REJECT
    registers, log = s.registers[page], s.logs[page]
    is_context = page != GLOBAL
    if word == (R.ERROR if is_context else R.GPU_ERROR):
        failure = oldest_error(log)
        return (
            put_field(F.ERROR_code, failure & 255)
            | put_field(F.ERROR_wavefront, (failure >> 8) & 0xFFFF)
            | put_field(F.ERROR_dispatch_index, failure >> 24)
        ), OKAY
    if word == (R.ERROR_PLACE if is_context else R.GPU_ERROR_PLACE):
        place = oldest_place(log)
        return (
            put_field(F.ERROR_PLACE_channel, place >> 53)
            | put_field(F.ERROR_PLACE_source, place >> 48)
            | put_field(F.ERROR_PLACE_errors, log.level)
        ), OKAY
    address = (oldest_place(log) & PLACE_ATOM) << s.config.atom_shift
    if word == (R.ERROR_ADDRESS_LO if is_context else R.GPU_ERROR_ADDRESS_LO):
        return address & 0xFFFFFFFF, OKAY
    if word == (R.ERROR_ADDRESS_HI if is_context else R.GPU_ERROR_ADDRESS_HI):
        return address >> 32, OKAY
    if word == (R.ERRORS if is_context else R.GPU_ERRORS):
        return log.total, OKAY
    if word == R.INJECT and not is_context:
        return registers[word].value | put_field(F.INJECT_armed, is_armed(s)), OKAY
    if not is_context:
        return registers[word].value & registers[word].readable, OKAY
    gpu = s.contexts[page - CONTEXT]
    if word == R.STATUS:
        return (
            put_field(F.STATUS_done, gpu.done)
            | put_field(F.STATUS_idle, gpu.idle)
            | put_field(F.STATUS_error, log.level != 0)
            | put_field(F.STATUS_aborting, gpu.aborting)
            | put_field(F.STATUS_pending, gpu.pending)
            | put_field(F.STATUS_configuration_error, gpu.configuration_error)
        ), OKAY
    if word == R.TILES:
        return gpu.tiles, OKAY
    if word == R.LAUNCHES:
        begun = put_field(F.LAUNCHES_begun, gpu.begun)
        return begun | put_field(F.LAUNCHES_done, gpu.launches_done), OKAY
    if word == R.OLDEST:
        return put_field(F.OLDEST_dispatch_index, gpu.oldest), OKAY
    if word == R.CREDIT_LIMIT:
        return put_field(F.CREDIT_LIMIT_dispatch_index, gpu.credit_limit), OKAY
    return registers[word].value & registers[word].readable, OKAY


@compiled
def decode_context(s, context):
    """A context's plain registers as words of its configuration."""
    own, registers = s.contexts[context], s.registers[CONTEXT + context]
    launch, space = own.programmed, own.address_space
    launch.first_workgroup = get_field(registers, F.FIRST_WORKGROUP_workgroup)
    launch.workgroups = get_field(registers, F.WORKGROUPS_count)
    launch.tracked_first = get_field(registers, F.TRACKED_FIRST_dispatch_index)
    launch.tracked_end = get_field(registers, F.TRACKED_END_dispatch_index)
    launch.shift = get_field(registers, F.SHIFT_dispatch_indices)
    launch.credit_window = get_field(registers, F.CREDIT_WINDOW_workgroups)
    launch.command_window = get_field(registers, F.COMMAND_WINDOW_workgroups)
    launch.updates_per_atom = get_field(registers, F.TRACKING_updates_per_atom)
    launch.generation = get_field(registers, F.TRACKING_generation)
    launch.timeout = get_field(registers, F.TIMEOUT_ticks)
    space.enable = get_field(registers, F.ADDRESS_SPACE_enable)
    space.local = get_field(registers, F.ADDRESS_SPACE_local)
    space.remote = get_field(registers, F.ADDRESS_SPACE_remote)
    own.ways = get_field(registers, F.WAYS_mask)
    inbound = own.inbound
    inbound.stores = get_field(registers, F.INBOUND_STORES_sources)
    inbound.updates = get_field(registers, F.INBOUND_UPDATES_sources)
    inbound.ops = get_field(registers, F.INBOUND_KINDS_ops)
    inbound.dtypes = get_field(registers, F.INBOUND_KINDS_dtypes)


@compiled
def decode(s):
    """All plain registers as words of the configuration."""
    for context in range(s.config.contexts):
        decode_context(s, context)
    arbiter, registers = s.config.arbiter, s.registers[GLOBAL]
    s.gpu.number = get_field(registers, F.GPU_NUMBER_gpu)
    s.gpu.patrol_interval = get_field(registers, F.PATROL_INTERVAL_cycles)
    s.gpu.patrolling |= s.gpu.patrol_interval != 0
    arbiter.policy = get_field(registers, F.ARBITER_policy)
    arbiter.automatic = get_field(registers, F.ARBITER_automatic)
    arbiter.threshold = get_field(registers, F.ARBITER_threshold)
    arbiter.starvation_limit = get_field(registers, F.STARVATION_cycles)
    arbiter.measure_log2 = get_field(registers, F.MEASURE_log2)
    arbiter.cuts[0] = get_field(registers, F.CUTS_cut0)
    arbiter.cuts[1] = get_field(registers, F.CUTS_cut1)
    arbiter.cuts[2] = get_field(registers, F.CUTS_cut2)
    arbiter.levels[0] = get_field(registers, F.LEVELS_level0)
    arbiter.levels[1] = get_field(registers, F.LEVELS_level1)
    arbiter.levels[2] = get_field(registers, F.LEVELS_level2)


@compiled
def store_register(s, page, word, value):
    """Write a register that is no commit and no strobe."""
    registers = s.registers[page]
    kept = registers[word].writable
    registers[word].value = (registers[word].value & ~kept) | (value & kept)
    decode(s)


@inlined
def _is_over(s, context):
    """Whether nothing is left that needs the tables of the last launch."""
    own = s.contexts[context]
    tiles = own.entries | own.entries_moved | own.candidates | own.flying | own.completions
    if tiles or own.had_ready or own.trigger.state != _TRIGGER_IDLE:
        return False
    if own.engine.state not in (0, _WALK) or own.finished < own.launch.workgroups:
        return False
    for number in range(s.config.channels):
        lane = s.channels[number].lanes[context]
        if lane.under_way | lane.begun:
            return False
    return True


@inlined
def follow_launch(s, context, aborts, clearing):
    """Follow launches from their acceptance to their end, and an abort; both in the cycle before
    their effects are seen.

    Parameters
    ----------
    aborts : bool
        The strobe of an abort is on.
    clearing : bool
        Tiles or counts of the context are being forgotten.

    Returns
    -------
    bool
        The launch that waits begins in the next cycle.
    """
    own = s.contexts[context]
    ends = own.running and own.done and not own.launches
    takes = False
    if own.pending and not own.running and not aborts:
        takes = not own.open or _is_over(s, context)
    own.launches_done = (own.launches_done + ends) & 0xFFFF
    own.begun = (own.begun + takes) & 0xFFFF
    own.given_up = (aborts and own.running) or (own.given_up and not takes)
    own.running = not aborts and (takes or (own.running and not ends))
    own.pending = not aborts and own.pending and not takes
    over = own.gone and not clearing and own.waited_abort
    own.waited_abort = own.aborting and not aborts
    own.aborting = aborts or (own.aborting and not over)
    return takes


@compiled
def take_launch(s, context):
    """At the end of a cycle: what is programmed becomes that of the launch."""
    own = s.contexts[context]
    own.former_valid = own.open
    own.former_generation = own.launch.generation
    own.open = 1
    copy_record(own.launch, own.programmed)
    for index in range(s.config.regions):
        copy_record(s.regions[context, index], s.programmed_regions[context, index])
    for index in range(s.config.ranges):
        copy_record(s.ranges[context, index], s.programmed_ranges[context, index])
    for index in range(s.config.commands):
        copy_record(s.commands[context, index], s.programmed_commands[context, index])


@inlined
def look_outside(own, most, words, at):
    """What the downstream GPU and the dispatcher say, of the launch that it is about."""
    generation = own.launch.generation
    downstream, aborted = own.downstream, own.peer_aborted
    dispatched, finished = own.dispatched, own.finished
    changes = own.told_generation != generation or own.peer_told != aborted
    own.told_generation = generation
    ahead = (words[at + J.generation_in] - generation) & _GENERATIONS - 1
    admitted = words[at + J.credit_limit_in]
    if own.launches or ahead >= _GENERATIONS // 2 or not admitted:
        own.downstream = 0
    elif ahead:
        # It has begun a later launch: it waits for nothing of this one.
        own.downstream = most
    else:
        own.downstream = admitted
    own.peer_told = own.peer_aborted
    own.peer_aborted = words[at + J.aborted_in] != 0 and ahead == 0 and own.open != 0
    is_kernel = words[at + J.kernel_generation] == generation
    own.dispatched = words[at + J.dispatched] if is_kernel else 0
    own.finished = words[at + J.finished] if is_kernel else 0
    changes = changes or own.downstream != downstream or own.peer_aborted != aborted
    if changes or own.dispatched != dispatched or own.finished != finished:
        own.awake |= UNIT.outside_view


@compiled
def step_bus(s, inputs, g):
    """Both handshakes and the read, on the state before this cycle.

    Returns
    -------
    bool
        A write acts in this cycle: its address and data are in the state.
    """
    bus = s.gpu.bus
    acts = bus.aw_full and bus.w_full and not bus.b_valid
    reads = bus.ar_full and not bus.r_valid

    if bus.b_valid and inputs[g + G.bus_bready]:
        bus.b_valid = 0
    if bus.r_valid and inputs[g + G.bus_rready]:
        bus.r_valid = 0
    if inputs[g + G.bus_awvalid] and not bus.aw_full:
        bus.aw_full = 1
        bus.awaddr = inputs[g + G.bus_awaddr]
        bus.privileged = inputs[g + G.bus_awprot] & 1
    elif acts:
        bus.aw_full = 0
    if inputs[g + G.bus_wvalid] and not bus.w_full:
        bus.w_full = 1
        bus.wdata = inputs[g + G.bus_wdata]
        bus.wstrb = inputs[g + G.bus_wstrb]
    elif acts:
        bus.w_full = 0
    if reads:
        bus.ar_full = 0
        bus.r_valid = 1
        bus.r_data, bus.r_resp = read_register(s, bus.araddr)
    elif inputs[g + G.bus_arvalid] and not bus.ar_full:
        bus.ar_full = 1
        bus.araddr = inputs[g + G.bus_araddr]
    if acts:
        bus.b_valid = 1
    return acts
