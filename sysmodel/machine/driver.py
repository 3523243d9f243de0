"""What software writes into the registers: ``remote_map``, ``dma_map`` and the copies of the
all-gather."""

from functools import cache

from rtl.interface.encodings import Action, Granularity, PacketKind, Policy
from rtl.registers.map import load
from sysmodel.config.system import System
from sysmodel.gpu.kernel import ATOM_BYTES, OUTPUT_ATOM, Kernel
from sysmodel.lib.errors import InputError

__all__ = [
    "STAGING_ATOMS",
    "collective_writes",
    "copy_writes",
    "flow_windows",
    "launch_writes",
    "map_writes",
    "measure_writes",
    "stage_cycles",
    "staging_offset",
]

Writes = list[tuple[int, int]]

# Command templates: what leaves by remote_map and dma_map, and the copies.
_TRANSFER, _COPY = 0, 1
STAGING_ATOMS = (1 << 30) // ATOM_BYTES


@cache
def _registers():
    return load()


def _write(name: str, **values: int) -> tuple[int, int]:
    register = _registers()[name]
    word = 0
    fields = {field.name: field for field in register.fields}
    for field, value in values.items():
        value = int(value)
        if not 0 <= value < 1 << fields[field].width:
            raise ValueError(
                f"{name}.{field} has {fields[field].width} bits, not room for {value!r}"
            )
        word |= value << fields[field].low
    return register.address, word


def _bytes(name: str, atom: int) -> Writes:
    value = (atom * ATOM_BYTES) & ((1 << 64) - 1)
    return [
        _write(f"{name}_LO", bytes=value & 0xFFFF_FFFF),
        _write(f"{name}_HI", bytes=value >> 32),
    ]


def staging_offset(channel_bits: int) -> int:
    """Atoms from the output to its staging copy. Two address bits that the channel hash folds onto
    each other, and that the output's addresses leave clear, keep every atom in its channel."""
    if channel_bits == 0:
        return STAGING_ATOMS
    # The output's own bit is two above that of STAGING_ATOMS.
    above = -(-3 // channel_bits) * channel_bits
    return STAGING_ATOMS + (STAGING_ATOMS << above)


def _window(index: int, first: int, end: int, context: int) -> Writes:
    return [
        *_bytes("WINDOW_BASE", first),
        *_bytes("WINDOW_LIMIT", end),
        _write("WINDOW_CONTEXT", context=context),
        _write("WINDOW_COMMIT", index=index, enable=1),
    ]


def _range(index: int, first: int, last: int, action: Action, command: int) -> Writes:
    return [
        _write("RANGE_PLACES", first=first, last=last),
        _write("RANGE_ACTION", window=0, action=action.value, command=command),
        _write("RANGE_COMMIT", index=index, enable=1),
    ]


def _remove_ranges(count: int) -> Writes:
    return [_write("RANGE_COMMIT", index=index, enable=0) for index in range(count)]


def _output_end(kernel: Kernel) -> int:
    return OUTPUT_ATOM + kernel.rows_total * kernel.pitch


def flow_windows(kernel: Kernel, system: System) -> tuple[int, int]:
    """Workgroups that the window and the command queue admit.

    Raises
    ------
    InputError
        If a chunk is larger than that: the ring could not move.
    """
    t3 = system.t3
    window = min(t3.window_workgroups, t3.tracker_sets * (t3.tracker_ways // kernel.waves))
    if t3.group_workgroups > 1:
        window = min(window, t3.window_workgroups - t3.group_workgroups)
    per_workgroup = kernel.waves if t3.granularity == "wavefront" else 1
    commands = t3.command_depth // per_workgroup
    chunk = max(kernel.chunk_workgroups(i) for i in range(kernel.gpus))
    if window < chunk:
        raise InputError(
            "t3.window_workgroups",
            f"a chunk of {chunk} workgroups exceeds the {window} that the tracker's "
            f"{t3.tracker_sets} sets of {t3.tracker_ways} ways and a window of "
            f"{t3.window_workgroups} hold; allowed: at least the chunk",
        )
    if commands < chunk + window:
        window = commands - chunk
        if window < chunk:
            raise InputError(
                "t3.command_depth",
                f"{t3.command_depth} commands hold {commands} workgroups; allowed: at least twice "
                f"a chunk, {2 * chunk * per_workgroup}",
            )
    return window, commands


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
    op: int = 0,
    dtype: int = 0,
    policy: Policy = Policy.ROUND_ROBIN,
    updates_per_sector: int = 2,
) -> Writes:
    """Map the output for a ring reduce-scatter that the GEMM's stores drive."""
    window, commands = flow_windows(kernel, system)
    t3 = system.t3
    total = kernel.workgroups
    tracked = kernel.chunk_workgroups((gpu + 1) % kernel.gpus)
    own = kernel.chunk_workgroups(gpu)
    waves = {
        f"waves{2 * run_edge + row_edge}": kernel.live_waves(bool(row_edge), bool(run_edge))
        for run_edge in (0, 1)
        for row_edge in (0, 1)
    }
    shared_run = kernel.run_waves > 1
    writes = [
        *_window(0, OUTPUT_ATOM, _output_end(kernel), context),
        _write(
            "COMMAND_TRANSFER",
            kind=PacketKind.UPDATE.value,
            op=op,
            dtype=dtype,
            context=context,
            granularity=(
                Granularity.WAVEFRONT if t3.granularity == "wavefront" else Granularity.WORKGROUP
            ).value,
            group_log2=t3.group_workgroups.bit_length() - 1,
            wave_run_log2=kernel.wave_run.bit_length() - 1 if shared_run else 15,
            waves_minor_log2=kernel.run_waves.bit_length() - 1,
        ),
        _write("COMMAND_ROWS", rows=kernel.rows, rows_edge=kernel.rows_edge),
        _write("COMMAND_RUN", run=kernel.run, run_edge=kernel.run_edge),
        _write("COMMAND_PITCH", pitch=kernel.pitch),
        _write("COMMAND_WAVES", wave_rows=kernel.wave_rows, **waves),
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
        _write("TRACKED_FIRST", place=tracked),
        _write("TRACKED_END", place=total),
        _write("SHIFT", places=own),
        _write("WINDOW", workgroups=window),
        _write("COMMAND_WINDOW", workgroups=commands),
        _write("TRACKING", updates_per_sector=updates_per_sector, epoch=1),
        _write("ARBITER", policy=policy.value, automatic=int(policy is Policy.MCA), threshold=127),
        _write("STARVATION", cycles=t3.starvation_limit_cycles),
        _write("MEASURE", log2=stage_cycles(kernel, system).bit_length() - 1),
        _write("CUTS", **{f"cut{i}": cut for i, cut in enumerate(t3.mca_cuts)}),
        _write("LEVELS", **{f"level{i}": level for i, level in enumerate(t3.mca_levels)}),
    ]
    return writes


def launch_writes() -> Writes:
    return [_write("CONTROL", launch=1)]


def measure_writes() -> Writes:
    """Begin the measurement from which MCA picks its threshold."""
    return [_write("CONTROL", measure=1)]


def copy_writes(kernel: Kernel, chunk: int, context: int) -> Writes:
    """Send a chunk on as plain stores, all of it by one copy."""
    first, rows, run = kernel.chunk_rectangle(chunk)
    return [
        _write("COMMAND_TRANSFER", kind=PacketKind.STORE.value, context=context, wave_run_log2=15),
        _write("COMMAND_ROWS", rows=rows, rows_edge=rows),
        _write("COMMAND_RUN", run=run, run_edge=run),
        _write("COMMAND_PITCH", pitch=kernel.pitch),
        *_bytes("COMMAND_OFFSET", 0),
        _write("COMMAND_COMMIT", index=_COPY),
        *_bytes("COPY_START", first),
        _write("COPY", command=_COPY),
    ]


def collective_writes(kernel: Kernel, context: int, *, offset: int) -> Writes:
    """Map the output for kernels that store remotely, ``offset`` atoms from where they store."""
    end = _output_end(kernel)
    writes = [
        *_remove_ranges(1),
        _write("COMMAND_TRANSFER", kind=PacketKind.STORE.value, context=context),
        *_bytes("COMMAND_OFFSET", offset),
        _write("COMMAND_COMMIT", index=_TRANSFER),
        *_window_once(end, context, offset),
        _write("FIRST_WORKGROUP", workgroup=0),
        _write("WORKGROUPS", count=1),
        *_range(0, 0, 0, Action.REMOTE, _TRANSFER),
    ]
    return writes


def _window_once(end: int, context: int, offset: int) -> Writes:
    writes = [
        _write("WINDOW_COMMIT", index=0, enable=0),
        *_window(0, OUTPUT_ATOM, end, context),
    ]
    if offset:
        writes += [
            _write("WINDOW_COMMIT", index=1, enable=0),
            *_window(1, OUTPUT_ATOM + offset, end + offset, context),
        ]
    return writes
