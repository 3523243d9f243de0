"""What software writes into the registers: ``remote_map``, ``dma_map`` and the copies of the
all-gather."""

from collections.abc import Sequence
from enum import Enum
from itertools import count

from rtl.interface.encodings import (
    Action,
    Datatype,
    Granularity,
    Operation,
    PacketKind,
    Policy,
)
from rtl.registers.map import load
from sysmodel.config.limits import MOST_OCCUPANCY, MOST_STARVATION_CYCLES
from sysmodel.config.system import System
from sysmodel.gpu.kernel import ATOM_BYTES, END_OF_REGIONS_ATOM, OUTPUT_ATOM, Kernel
from sysmodel.lib.errors import InputError
from sysmodel.lib.interleave import channel_of_atom
from sysmodel.lib.ring import scattered

__all__ = [
    "collective_writes",
    "copy_writes",
    "credit_windows",
    "fields_of",
    "launch_writes",
    "map_writes",
    "measure_writes",
    "register_address",
    "register_at",
    "stage_cycles",
    "staging_offset",
]

Writes = list[tuple[int, int]]

# Command templates: what leaves by remote_map and dma_map, and the copies.
_TRANSFER, _COPY = 0, 1
_OUTPUT = 0  # the region of the output, which they all read
_PAPER_QUEUE_DEPTH = 64  # in which t3.mca_levels and t3.mca_cuts are entries
# The DRAM queue counts as full with so much of it taken: while communication has time it leaves the
# rest to compute; and if it is critical and the link idle, the memory is what holds it up.
_FULL = 7 / 8
_STAGING_ATOMS = (1 << 30) // ATOM_BYTES


def register_address(name: str) -> int:
    return load()[name].address


def register_at(address: int) -> str:
    """Name of the register at an address."""
    return next(register.name for register in load().values() if register.address == address)


def fields_of(name: str, word: int) -> dict[str, int]:
    """Field values of a word that was read from a register."""
    return load()[name].unpack(word)


def _code(codes: type[Enum], name: str) -> int:
    """Code of a name as a user writes it: small letters, with hyphens."""
    code: int = codes[name.upper().replace("-", "_")].value
    return code


def _write(name: str, **values: int) -> tuple[int, int]:
    register = load()[name]
    return register.address, register.pack(**{field: int(one) for field, one in values.items()})


def _bytes(name: str, atom: int) -> Writes:
    value = (atom * ATOM_BYTES) & ((1 << 64) - 1)
    return [
        _write(f"{name}_LO", bytes=value & 0xFFFF_FFFF),
        _write(f"{name}_HI", bytes=value >> 32),
    ]


def staging_offset(channel_bits: int) -> int:
    """Atoms from the output to its staging copy. It lies beyond all buffers, and every atom keeps
    its channel: the offset's bits have no remainder, and the output's addresses leave them clear.
    """
    return _STAGING_ATOMS * next(
        multiple
        for multiple in count(END_OF_REGIONS_ATOM // _STAGING_ATOMS)
        if channel_of_atom(multiple, 0, channel_bits) == 0
        and not multiple & (OUTPUT_ATOM // _STAGING_ATOMS)
    )


def _region(index: int, first: int, end: int) -> Writes:
    return [
        *_bytes("REGION_BASE", first),
        *_bytes("REGION_LIMIT", end),
        _write("REGION_COMMIT", index=index, enable=1),
    ]


def _address_space(context: int) -> tuple[int, int]:
    """All GPUs' buffers are in the same address space."""
    return _write("ADDRESS_SPACE", local=context, remote=context, enable=1)


def _range(index: int, first: int, last: int, action: Action, command: int) -> Writes:
    return [
        _write("RANGE_DISPATCH_INDICES", first=first, last=last),
        _write("RANGE_ACTION", region=_OUTPUT, action=action.value, command=command),
        _write("RANGE_COMMIT", index=index, enable=1),
    ]


def _remove_ranges(count: int) -> Writes:
    return [_write("RANGE_COMMIT", index=index, enable=0) for index in range(count)]


def credit_windows(kernel: Kernel, system: System) -> tuple[int, int]:
    """Workgroups that the credit window and the command queue admit.

    Raises
    ------
    InputError
        If a chunk is larger than that: the ring could not move.
    """
    t3 = system.t3
    credit_window = min(
        t3.credit_window_workgroups, t3.tracker_sets * (t3.tracker_ways // kernel.waves)
    )
    if t3.group_workgroups > 1:
        credit_window = min(credit_window, t3.credit_window_workgroups - t3.group_workgroups)
    per_workgroup = kernel.waves if t3.granularity == "wavefront" else 1
    commands = t3.command_depth // per_workgroup
    chunk = max(kernel.chunk_workgroups(i) for i in range(kernel.gpus))
    if credit_window < chunk:
        raise InputError(
            "t3.credit_window_workgroups",
            f"a chunk of {chunk} workgroups exceeds the {credit_window} that the tracker's "
            f"{t3.tracker_sets} sets of {t3.tracker_ways} ways and a credit window of "
            f"{t3.credit_window_workgroups} hold; allowed: at least the chunk",
        )
    if commands < chunk + credit_window:
        credit_window = commands - chunk
        if credit_window < chunk:
            raise InputError(
                "t3.command_depth",
                f"{t3.command_depth} commands hold {commands} workgroups; allowed: at least twice "
                f"a chunk, {2 * chunk * per_workgroup}",
            )
    return credit_window, commands


def stage_cycles(kernel: Kernel, system: System) -> int:
    """Length of a stage of the GEMM at the matrix pipes' rate. Software knows it, and has MCA
    measure over as much of the first stage, which has no communication, as a power of two covers.
    """
    steps = kernel.steps * system.gpu.workgroups_per_cu
    return max(1, int(steps * system.matrix_cycles(kernel.step_flops)))


def map_writes(
    kernel: Kernel,
    system: System,
    gpu: int,
    *,
    context: int,
    op: str = "sum",
    dtype: str = "fp16",
    policy: str = "round-robin",
    updates_per_atom: int = 2,
) -> Writes:
    """Map the output for a ring reduce-scatter that the GEMM's stores drive.

    Operation, data type and policy have the names of their codes in small letters, as ``"mca"``.
    """
    credit_window, commands = credit_windows(kernel, system)
    t3 = system.t3
    total = kernel.workgroups
    tracked = kernel.chunk_workgroups(scattered(gpu, 0, kernel.gpus))
    own = kernel.chunk_workgroups(gpu)
    waves = {
        f"waves{2 * inner_edge + outer_edge}": kernel.live_waves(bool(outer_edge), bool(inner_edge))
        for inner_edge in (0, 1)
        for outer_edge in (0, 1)
    }
    shared_run = kernel.inner_waves > 1
    writes = [
        _address_space(context),
        *_region(_OUTPUT, kernel.output_atom, kernel.output_end),
        _write(
            "COMMAND_TRANSFER",
            kind=PacketKind.UPDATE.value,
            op=_code(Operation, op),
            dtype=_code(Datatype, dtype),
            granularity=_code(Granularity, t3.granularity),
            group_log2=t3.group_workgroups.bit_length() - 1,
            wave_inner_log2=kernel.wave_inner_extent.bit_length() - 1 if shared_run else 15,
            waves_inner_log2=kernel.inner_waves.bit_length() - 1,
        ),
        _write(
            "COMMAND_OUTER",
            outer_extent=kernel.outer_extent,
            outer_extent_edge=kernel.outer_extent_edge,
        ),
        _write(
            "COMMAND_INNER",
            inner_extent=kernel.inner_extent,
            inner_extent_edge=kernel.inner_extent_edge,
        ),
        _write("COMMAND_STRIDE", stride=kernel.stride, region=_OUTPUT),
        _write("COMMAND_WAVES", wave_outer_extent=kernel.wave_outer_extent, **waves),
        *_bytes("COMMAND_OFFSET", 0),
        _write("COMMAND_COMMIT", index=_TRANSFER),
        *_range(0, 0, tracked - 1, Action.REMOTE, _TRANSFER),
        *_range(2, total - own, total - 1, Action.OWN, _TRANSFER),
    ]
    if tracked < total - own:
        writes += _range(1, tracked, total - own - 1, Action.DMA, _TRANSFER)
    writes += [
        _write("FIRST_WORKGROUP", workgroup=kernel.first_workgroup(gpu)),
        _write("WORKGROUPS", count=total),
        _write("TRACKED_FIRST", dispatch_index=tracked),
        _write("TRACKED_END", dispatch_index=total),
        _write("SHIFT", dispatch_indices=own),
        _write("CREDIT_WINDOW", workgroups=credit_window),
        _write("COMMAND_WINDOW", workgroups=commands),
        _write("TRACKING", updates_per_atom=updates_per_atom),
        *_arbiter_writes(kernel, system, policy),
    ]
    return writes


def _arbiter_writes(kernel: Kernel, system: System, policy: str) -> Writes:
    """The policy. ``mca-paper`` has the paper's numbers as they are; for the others occupancies are
    shares of the memory's queue, and the starvation limit is a number of its latencies."""
    t3, depth = system.t3, system.dram.queue_depth
    starvation = t3.starvation_limit_cycles
    levels, cuts = list(t3.mca_levels), list(t3.mca_cuts)
    if policy != "mca-paper":
        starvation = round(t3.starvation_latencies * system.read_latency_cycles)
        levels, cuts = (_share(numbers, depth) for numbers in (levels, cuts))
    if policy == "critical":
        cuts[2] = max(1, int(depth * _FULL))
    return [
        _write(
            "ARBITER",
            policy=_code(Policy, policy),
            automatic=policy in ("mca", "mca-paper"),
            threshold=max(1, int(depth * _FULL)),
        ),
        _write("STARVATION", cycles=min(starvation, MOST_STARVATION_CYCLES)),
        _write("MEASURE", log2=stage_cycles(kernel, system).bit_length() - 1),
        _write("CUTS", **{f"cut{i}": cut for i, cut in enumerate(cuts)}),
        _write("LEVELS", **{f"level{i}": level for i, level in enumerate(levels)}),
    ]


def _share(numbers: Sequence[int], depth: int) -> list[int]:
    """Entries of the paper's queue as as many of a queue of ``depth``."""
    return [min(max(1, round(n * depth / _PAPER_QUEUE_DEPTH)), MOST_OCCUPANCY) for n in numbers]


def launch_writes() -> Writes:
    return [_write("CONTROL", launch=1)]


def measure_writes() -> Writes:
    """Begin the measurement from which MCA picks its threshold."""
    return [_write("CONTROL", measure=1)]


def copy_writes(kernel: Kernel, chunk: int) -> Writes:
    """Send a chunk on as plain stores, all of it by one copy."""
    first, rows, run = kernel.chunk_rectangle(chunk)
    return [
        _write("COMMAND_TRANSFER", kind=PacketKind.STORE.value, wave_inner_log2=15),
        _write("COMMAND_OUTER", outer_extent=rows, outer_extent_edge=rows),
        _write("COMMAND_INNER", inner_extent=run, inner_extent_edge=run),
        _write("COMMAND_STRIDE", stride=kernel.stride, region=_OUTPUT),
        *_bytes("COMMAND_OFFSET", 0),
        _write("COMMAND_COMMIT", index=_COPY),
        *_bytes("COPY_START", first),
        _write("COPY", command=_COPY),
    ]


def collective_writes(kernel: Kernel, context: int, *, offset: int) -> Writes:
    """Map the output for kernels that store remotely, ``offset`` atoms from where they store."""
    writes = [
        *_remove_ranges(1),
        _address_space(context),
        _write("COMMAND_TRANSFER", kind=PacketKind.STORE.value),
        *_bytes("COMMAND_OFFSET", offset),
        _write("COMMAND_COMMIT", index=_TRANSFER),
        *_region_once(kernel, offset),
        _write("FIRST_WORKGROUP", workgroup=0),
        _write("WORKGROUPS", count=1),
        *_range(0, 0, 0, Action.REMOTE, _TRANSFER),
        _write("TRACKED_FIRST", dispatch_index=1),
        _write("TRACKED_END", dispatch_index=1),
        _write("CREDIT_WINDOW", workgroups=1),
        _write("COMMAND_WINDOW", workgroups=1),
        *launch_writes(),
    ]
    return writes


def _region_once(kernel: Kernel, offset: int) -> Writes:
    first, end = kernel.output_atom, kernel.output_end
    writes = [
        _write("REGION_COMMIT", index=_OUTPUT, enable=0),
        *_region(_OUTPUT, first, end),
    ]
    if offset:
        writes += [
            _write("REGION_COMMIT", index=1, enable=0),
            *_region(1, first + offset, end + offset),
        ]
    return writes
