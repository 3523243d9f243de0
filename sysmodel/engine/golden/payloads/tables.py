"""Tables and configuration of a context: regions, ranges, commands, peers and launches."""

from sysmodel.lib.compiled import inlined

from ..records import Record

__all__ = [
    "assign_epoch",
    "assign_rank",
    "disable_entry",
    "make_address_space",
    "make_command",
    "make_gate",
    "make_launch",
    "make_peer",
    "make_range",
    "make_region",
]


@inlined
def make_region(to: Record, enable: int, base: int, limit: int) -> None:
    """Make an entry of the table of regions."""
    to.enable = enable
    to.base = base
    to.limit = limit


@inlined
def make_range(
    to: Record,
    enable: int,
    region: int,
    first: int,
    last: int,
    action: int,
    command: int,
    shares: int,
    peers: int,
    slot_offset: int,
) -> None:
    """Make an entry of the table of ranges, apart from its gate."""
    to.enable = enable
    to.region = region
    to.first = first
    to.last = last
    to.action = action
    to.command = command
    to.shares = shares
    to.peers = peers
    to.slot_offset = slot_offset


@inlined
def make_gate(
    to: Record,
    enable: int,
    context: int,
    generation: int,
    slot: int,
    workgroups: int,
    slots: int,
) -> None:
    """Make the gate of a range."""
    to.enable = enable
    to.context = context
    to.generation = generation
    to.slot = slot
    to.workgroups = workgroups
    to.slots = slots


@inlined
def make_peer(
    to: Record,
    enable: int,
    gpu: int,
    rank: int,
    space: int,
    sends_stores: int,
    sends_updates: int,
    takes_stores: int,
    takes_updates: int,
) -> None:
    """Make an entry of the table of peers."""
    to.enable = enable
    to.gpu = gpu
    to.rank = rank
    to.space = space
    to.sends_stores = sends_stores
    to.sends_updates = sends_updates
    to.takes_stores = takes_stores
    to.takes_updates = takes_updates


@inlined
def make_command(
    to: Record,
    kind: int,
    marks: int,
    op: int,
    dtype: int,
    atom_offset: int,
    granularity: int,
    group_log2: int,
    outer_extent: int,
    outer_extent_edge: int,
    inner_extent: int,
    inner_extent_edge: int,
    stride: int,
    region: int,
    wave_outer_extent: int,
    wave_inner_log2: int,
    waves_inner_log2: int,
    waves: tuple[int, int, int, int],
) -> None:
    """Make an entry of the table of commands."""
    to.kind = kind
    to.marks = marks
    to.op = op
    to.dtype = dtype
    to.atom_offset = atom_offset
    to.granularity = granularity
    to.group_log2 = group_log2
    to.outer_extent = outer_extent
    to.outer_extent_edge = outer_extent_edge
    to.inner_extent = inner_extent
    to.inner_extent_edge = inner_extent_edge
    to.stride = stride
    to.region = region
    to.wave_outer_extent = wave_outer_extent
    to.wave_inner_log2 = wave_inner_log2
    to.waves_inner_log2 = waves_inner_log2
    to.waves[0] = waves[0]
    to.waves[1] = waves[1]
    to.waves[2] = waves[2]
    to.waves[3] = waves[3]


@inlined
def disable_entry(to: Record) -> None:
    """Disable an entry of a table."""
    to.enable = 0


@inlined
def make_launch(
    to: Record,
    workgroups: int,
    tracked_first: int,
    tracked_end: int,
    to_send: int,
    credit_window: int,
    command_window: int,
    timeout: int,
    generation: int,
    accumulate: int,
    reports_steps: int,
    report_log2: int,
) -> None:
    """Make the configuration of a launch, without its epoch."""
    to.workgroups = workgroups
    to.tracked_first = tracked_first
    to.tracked_end = tracked_end
    to.to_send = to_send
    to.credit_window = credit_window
    to.command_window = command_window
    to.timeout = timeout
    to.generation = generation
    to.accumulate = accumulate
    to.reports_steps = reports_steps
    to.report_log2 = report_log2


@inlined
def assign_epoch(to: Record, epoch: int) -> None:
    """Set the epoch of a launch, or of an NMC result."""
    to.epoch = epoch


@inlined
def assign_rank(to: Record, rank: int) -> None:
    """Set the rank of a context's GPU."""
    to.rank = rank


@inlined
def make_address_space(to: Record, enable: int, local: int) -> None:
    """Make the configuration of an address space."""
    to.enable = enable
    to.local = local
