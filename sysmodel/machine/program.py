"""Programs of the software on a simulated GPU, as lists of register writes by the driver."""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import count, islice
from typing import TypeVar

from driver.python import (
    DOWNSTREAM,
    T3,
    UPSTREAM,
    Collective,
    Context,
    Part,
    Peer,
    Recorder,
    Transfer,
)
from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Datatype, Granularity, Operation, PacketKind, Policy
from rtl.registers.map import CONTEXT, PAGE_BITS, load
from sysmodel.collectives.launch_map import LaunchMap, MappedRange, TrackedSchedule
from sysmodel.config.limits import MOST_OCCUPANCY, MOST_STARVATION_CYCLES, MOST_WORKGROUPS
from sysmodel.config.system import System
from sysmodel.gpu.address_spaces import COLLECTIVE_RANK
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.placement import END_OF_REGIONS_ATOM, OUTPUT_ATOM
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.lib.interleave import REGION_ATOM_BITS, channel_of_atom

from .credits import group_workgroups, launch_windows

__all__ = [
    "GENERATIONS",
    "OUTPUT",
    "abort_writes",
    "arbitrate",
    "collective_writes",
    "copy_writes",
    "epoch_writes",
    "fields_of",
    "launch_writes",
    "map_writes",
    "measure_writes",
    "place_offsets",
    "register_address",
    "register_at",
    "stage_cycles",
    "transfer_of",
    "ways_of",
]

GENERATIONS = 1 << GENERATION_BITS
"""Number of generations, which launches use in turn."""

Writes = list[tuple[int, int]]
_Code = TypeVar("_Code", bound=Enum)

_TRANSFER = 0  # command template of transfers
OUTPUT, _STAGING = 0, 1  # regions of the output, which all transfers read, and beyond it
_PAPER_QUEUE_DEPTH = 64  # depth of the queue that t3.mca_levels and t3.mca_cuts refer to
# Share of the DRAM queue above which the queue counts as full. Communication that is not critical
# leaves the rest of the queue to compute; critical communication with an idle link is then delayed
# by the memory.
_FULL = 7 / 8
# Copies that an idle engine takes without refusing one: it walks one, and two wait.
_MOST_COPIES = 3
_STAGING_ATOMS = 1 << REGION_ATOM_BITS


def register_address(name: str, context: int = 0) -> int:
    return load()[name].address_in(context)


def register_at(address: int) -> str:
    """Name of the register at an address, in any context."""
    place = min(address >> PAGE_BITS, CONTEXT), address & ((1 << PAGE_BITS) - 1)
    registers = load().values()
    return next(one.name for one in registers if (one.page, one.offset) == place)


def fields_of(name: str, word: int) -> dict[str, int]:
    """Unpack a word read from a register into field values."""
    return load()[name].unpack(word)


def _code(codes: type[_Code], name: str) -> _Code:
    """Code of a name in a user's spelling: lower case, with hyphens."""
    return codes[name.upper().replace("-", "_")]


def _bytes(atoms: int) -> int:
    return atoms * ATOM_BYTES


def place_offsets(system_channels: int, places: int) -> list[int]:
    """Offsets in atoms from the output to the places in which a collective stages data.

    Place 0 is the output. The others lie beyond all buffers, and every atom stays in its channel:
    an offset has remainder 0, the output's addresses leave its bits clear, and it consists of whole
    regions.
    """
    low_bits = (system_channels & -system_channels) - 1
    multiples = (
        multiple
        for multiple in count(END_OF_REGIONS_ATOM // _STAGING_ATOMS)
        if channel_of_atom(multiple, 0, system_channels) & low_bits == 0
        and not multiple & (OUTPUT_ATOM // _STAGING_ATOMS)
    )
    return [0, *(_STAGING_ATOMS * multiple for multiple in islice(multiples, places - 1))]


def stage_cycles(tiling: Tiling, system: System) -> int:
    """Length of a stage of the GEMM at the rate of the matrix pipes.

    Software knows this length. It lets MCA measure over the largest power-of-two number of cycles
    within the first stage, which has no communication.
    """
    steps = tiling.steps * system.gpu.workgroups_per_cu
    return max(1, int(steps * system.matrix_cycles(tiling.step_flops)))


def map_writes(
    kernel: Kernel,
    system: System,
    gpu: int,
    tracked: TrackedSchedule,
    *,
    address_space: int,
    op: str = "sum",
    dtype: str = "fp16",
    policy: str = "round-robin",
    context: int = 0,
    contexts: int = 1,
    places: Sequence[int] = (0,),
) -> Writes:
    """Map the output for a collective that the GEMM's stores drive, as ``tracked`` says.

    Operation, data type and policy are names of codes in lower case, for example ``"mca"``.
    The GEMM of ``context`` stores in ``address_space``; the ``contexts`` share the tracker equally.
    The program of context 0 also sets the GPU's policy. The ``places`` of the schedule are offsets
    from the output, in atoms.

    Raises
    ------
    InputError
        The launch has more slots than dispatch indices name, or the windows that the hardware
        holds could deadlock.
    """
    launch = tracked.map(kernel.chunks.sizes, gpu)
    if launch.end > MOST_WORKGROUPS:
        raise InputError(
            "kernel.tile_m",
            f"{kernel.tiling.m} x {kernel.tiling.n} outputs make {launch.end} slots in a launch "
            f"with {tracked.schedule.operation}; allowed: up to {MOST_WORKGROUPS}",
        )
    t3, bus = system.t3, Recorder()
    ours = Context(bus, context, ranges=0)  # after a reset
    ours.assign(address_space, ways=ways_of(t3.tracker_ways, context, contexts))
    ours.set_rank(gpu)
    for index, peer in enumerate(launch.peers):
        ours.peer(index, _peer_of(launch, peer, address_space))
    ours.region(OUTPUT, _bytes(kernel.output_atom), _bytes(kernel.output_end + max(places)))
    windows = launch_windows(kernel.chunks, system, tracked, gpu, contexts)
    transfers = _Transfers(transfer_of(kernel, system, op, dtype), launch, places)
    collective = _collective(launch, windows, transfers, tracked.accumulate)
    ours.collective(collective, transfers.first, region=OUTPUT)
    if context == 0:
        arbitrate(T3(bus), kernel.tiling, system, policy)
    return bus.writes


def _peer_of(launch: LaunchMap, gpu: int, space: int) -> Peer:
    """Describe a peer, with which a launch shares its address space."""
    sends, takes = gpu in launch.receivers, gpu in launch.senders
    return Peer(
        gpu,
        gpu,
        space,
        sends_stores=sends,
        sends_updates=sends,
        takes_stores=takes,
        takes_updates=takes,
    )


def _collective(
    launch: LaunchMap, windows: tuple[int, int], transfers: "_Transfers", accumulate: bool
) -> Collective:
    """Describe a launch to the driver."""
    credit_window, command_window = windows
    return Collective(
        parts=tuple(
            Part(
                one.workgroups,
                stores_leave=not one.shares,
                # In an ordered launch, contributions arrive in slots of dispatch indices whose
                # stores leave.
                shares=one.shares or int(launch.ordered),
                peers=tuple(launch.peers.index(to) for to in one.to),
                slot_offset=one.slot_offset,
                transfer=transfers.of(one) if one.to else None,
            )
            for one in launch.ranges
        ),
        tracked_first=launch.first_slot,
        credit_window=credit_window,
        command_window=command_window,
        unused=launch.base,
        arriving=launch.end - launch.dispatch_end,
        accumulate=accumulate,
    )


class _Transfers:
    """Transfers of a launch's ranges: one for each kind of packets, and place at the receivers."""

    def __init__(self, transfer: Transfer, launch: LaunchMap, places: Sequence[int]):
        self._base, self._places = transfer, places
        self._known: dict[tuple[bool, int], Transfer] = {}
        leaving = [one for one in launch.ranges if one.to]
        self.first = self.of(leaving[0]) if leaving else transfer

    def of(self, one: MappedRange) -> Transfer:
        """Return the transfer of a range; ranges that are alike have the same one."""
        key = one.replaces, one.place
        if key not in self._known:
            self._known[key] = replace(
                self._base,
                kind=PacketKind.STORE if one.replaces else PacketKind.UPDATE,
                offset_bytes=_bytes(self._places[one.place]),
            )
        return self._known[key]


def transfer_of(kernel: Kernel, system: System, op: str, dtype: str) -> Transfer:
    """Describe the transfer of a tile of the kernel's output."""
    layout = kernel.layout
    return Transfer(
        rows=layout.outer_extent,
        rows_edge=layout.outer_extent_edge,
        run_atoms=layout.inner_extent,
        run_edge_atoms=layout.inner_extent_edge,
        stride_atoms=layout.stride,
        op=_code(Operation, op),
        dtype=_code(Datatype, dtype),
        granularity=_code(Granularity, system.t3.granularity),
        group=group_workgroups(kernel.chunks, system),
        wave_rows=layout.wave_outer_extent,
        wave_run_atoms=layout.wave_inner_extent if layout.inner_waves > 1 else None,
        waves_inner=layout.inner_waves,
        waves=_waves(layout),
    )


def ways_of(ways: int, context: int, contexts: int) -> int | None:
    """Mask of a context's part of the tracker's ways; None for the only context, which has all."""
    if contexts == 1:
        return None
    share = ways // contexts
    return ((1 << share) - 1) << context * share


def _waves(layout: OutputLayout) -> tuple[int, int, int, int]:
    inner, rows, runs, both = (
        layout.ending_waves(outer_edge, inner_edge)
        for inner_edge in (False, True)
        for outer_edge in (False, True)
    )
    return inner, rows, runs, both


def arbitrate(gpu: T3, tiling: Tiling, system: System, policy: str) -> None:
    """Program the policy.

    ``mca-paper`` uses the paper's numbers. For the other policies, occupancies are scaled to the
    memory's queue, and the starvation limit is a multiple of the memory's latency.
    """
    t3, depth = system.t3, system.dram.queue_depth
    # The hardware sees at most MOST_OCCUPANCY waiting accesses, which as a threshold is no limit.
    full = min(max(1, int(depth * _FULL)), MOST_OCCUPANCY - 1)
    starvation = t3.starvation_limit_cycles
    levels, cuts = list(t3.mca_levels), list(t3.mca_cuts)
    if policy != "mca-paper":
        starvation = round(t3.starvation_latencies * system.read_latency_cycles)
        levels, cuts = (_share(numbers, depth) for numbers in (levels, cuts))
    if policy == "critical":
        cuts[2] = full
    gpu.set_arbitration(
        _code(Policy, policy),
        automatic=policy in ("mca", "mca-paper"),
        threshold=full,
        starvation_cycles=min(starvation, MOST_STARVATION_CYCLES),
        measure_log2=stage_cycles(tiling, system).bit_length() - 1,
        cuts=cuts,
        levels=levels,
    )


def _share(numbers: Sequence[int], depth: int) -> list[int]:
    """Scale numbers of entries from the paper's queue to a queue of ``depth``."""
    return [min(max(1, round(n * depth / _PAPER_QUEUE_DEPTH)), MOST_OCCUPANCY) for n in numbers]


def epoch_writes(context: int = 0) -> Writes:
    """Report that the memory holds no epochs of the context, as at the start of a simulation."""
    bus = Recorder()
    Context(bus, context).reset_epochs()
    return bus.writes


def launch_writes(context: int = 0) -> Writes:
    bus = Recorder()
    Context(bus, context).launch()
    return bus.writes


def abort_writes(context: int) -> Writes:
    """Abort the context's launch."""
    bus = Recorder()
    Context(bus, context).abort()
    return bus.writes


def measure_writes() -> Writes:
    """Start the measurement from which MCA chooses its threshold."""
    bus = Recorder()
    Context(bus).measure()
    return bus.writes


def copy_writes(kernel: Kernel, chunk: int, peers: Sequence[int] = (DOWNSTREAM,)) -> list[Writes]:
    """Send a whole chunk to these peers as plain stores: copies of its rectangles, in batches that
    the hardware takes at once."""
    rectangles = kernel.chunk_rectangles(chunk)
    batches = []
    for begin in range(0, len(rectangles), _MOST_COPIES):
        bus = Recorder()
        for first, rows, run in rectangles[begin : begin + _MOST_COPIES]:
            transfer = Transfer(rows=rows, run_atoms=run, stride_atoms=kernel.layout.stride)
            Context(bus).copy(_bytes(first), transfer, region=OUTPUT, peers=peers)
        batches.append(bus.writes)
    return batches


def collective_writes(
    kernel: Kernel, address_space: int, *, staged: tuple[int, int] | None, generation: int = 0
) -> Writes:
    """Map the output, and addresses beyond it, for kernels that store to other GPUs.

    A launch follows with this generation; the first one of a machine has generation 0.

    ``staged`` holds the first and the last offset from the output to what is mapped beyond it:
    places of the collective, or other GPUs' memories. Stores of ``address_space`` to these
    addresses leave the GPU; without such addresses, those to the output. The address says to which
    GPU, not the peer.
    """
    bus = Recorder()
    ours = Context(bus, ranges=1)  # that of the launch before
    ours.unmap()
    if generation == 0:
        ours.reset_epochs()
    else:
        ours.remove_region(OUTPUT)
    ours.assign(address_space)
    ours.peer(DOWNSTREAM, Peer(gpu=0, rank=0, space=address_space, sends_stores=True))
    ours.peer(UPSTREAM, Peer(gpu=0, rank=COLLECTIVE_RANK, space=0, takes_stores=True))
    first, end = _bytes(kernel.output_atom), _bytes(kernel.output_end)
    beyond = [] if staged is None else [(first + _bytes(staged[0]), end + _bytes(staged[1]))]
    for region, (low, high) in enumerate([(first, end), *beyond]):
        if region != OUTPUT:
            ours.remove_region(region)
        ours.region(region, low, high)
    ours.command(_TRANSFER, Transfer(kind=PacketKind.STORE), region=OUTPUT)
    leaving = OUTPUT if staged is None else _STAGING
    ours.remote_map(0, 1, region=leaving, command=_TRANSFER)
    ours.window(workgroups=1, tracked=(1, 1), generation=generation)
    ours.launch()
    return bus.writes
