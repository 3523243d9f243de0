"""Rules between the values of a system."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sysmodel.lib.errors import InputError

from .limits import (
    LINE_BYTES,
    MOST_COLLECTIVE_WAVES,
    MOST_LINE_REQUESTS,
    MOST_SLOTS,
    MOST_TILE_ATOMS,
    MOST_WAVEFRONTS,
)
from .workload import ELEMENT_BYTES

if TYPE_CHECKING:
    from .system import System, Tile

__all__ = ["check_rules"]


def check_rules(system: "System") -> None:
    """Check values against each other.

    Raises
    ------
    InputError
        A value does not fit the others; the message names its key and the allowed values.
    """
    for multiple_of in _MULTIPLES.items():
        _check_multiple(system, *multiple_of)
    _check(system, _rules(system))
    for index, tile in enumerate(system.kernel.tiles):
        where = f"kernel.alternatives.{index - 1}" if index else "kernel"
        rules = (*_tile_rules(system, tile, where), *_tracking_rules(system, tile, where))
        for field, sound, value, allowed in rules:
            if not sound:
                raise InputError(field, f"{value} is not allowed; allowed: {allowed}")
    _check(system, _capacities(system))
    _check_memory(system)


# Least workgroups of a chunk of which the hardware must hold as many as the GPUs need.
_LEAST_CHUNK = 2
_MULTIPLES = {
    "l2.line_bytes": ("dram.atom_bytes",),
    "l2.slices": ("dram.channels",),
    "dram.channels": ("dram.pseudo_channels",),
    "dram.row_bytes": ("dram.interleave_bytes",),
    "dram.interleave_bytes": ("l2.line_bytes", "dram.atom_bytes"),
    "dram.banks": ("dram.bank_groups",),
}


def _value(system: "System", field: str) -> Any:
    section, key = field.split(".")
    return getattr(getattr(system, section), key)


def _shown(system: "System", field: str) -> str:
    value = _value(system, field)
    return repr(list(value) if isinstance(value, tuple) else value)


def _check(system: "System", rules: Iterator[tuple[str, bool, str]]) -> None:
    for field, sound, allowed in rules:
        if not sound:
            raise InputError(field, f"{_shown(system, field)} is not allowed; allowed: {allowed}")


def _check_multiple(system: "System", field: str, of: tuple[str, ...]) -> None:
    for other in of:
        if _value(system, field) % _value(system, other):
            raise InputError(
                field,
                f"{_value(system, field)} is not allowed; "
                f"allowed: a multiple of {other}, {_value(system, other)}",
            )


def _check_memory(system: "System") -> None:
    """Check the rules of a memory channel, and those between memory clock and hardware clock."""
    dram, divider = system.dram, system.t3.clock_divider
    if dram.clock_mhz > dram.most_clock_mhz:
        raise InputError(
            "dram.clock_mhz",
            f"{dram.clock_mhz:g} is not allowed; allowed: at most dram.most_clock_mhz, "
            f"{dram.most_clock_mhz:g}{f' of {dram.standard}' if dram.standard else ''}",
        )
    try:
        timing = dram.timing_cycles
    except InputError as error:
        raise InputError(f"dram.{error.field}", error.problem) from error
    if divider > timing.tCCD_S:
        raise InputError(
            "t3.clock_divider",
            f"{divider} is not allowed; allowed: at most {timing.tCCD_S}, the cycles from one "
            "column command to the next (dram.timing.tCCD_S): the hardware takes one a cycle",
        )


def _rules(system: "System") -> Iterator[tuple[str, bool, str]]:
    """Yield the rules: key, True if its value is sound, allowed values."""
    l2, t3 = system.l2, system.t3
    way_mib = l2.slices * l2.ways * l2.line_bytes / 2**20
    yield (
        "l2.capacity_mib",
        l2.capacity_mib >= way_mib,
        f"at least {way_mib:g}, a line in each way of each slice",
    )
    yield "t3.mca_cuts", list(t3.mca_cuts) == sorted(t3.mca_cuts), "three rising occupancies"
    yield (
        "t3.tracker_banks",
        t3.tracker_banks <= t3.tracker_sets,
        f"at most t3.tracker_sets, {t3.tracker_sets}",
    )
    # A slot of the command table must be free before the next group uses it.
    yield (
        "t3.group_workgroups",
        t3.group_workgroups == 1 or t3.granularity == "workgroup",
        'only 1 with t3.granularity = "wavefront"',
    )
    yield (
        "t3.group_workgroups",
        t3.group_workgroups == 1 or 2 * t3.group_workgroups <= t3.credit_window_workgroups,
        f"at most half of t3.credit_window_workgroups, {t3.credit_window_workgroups // 2}",
    )
    yield (
        "fused.sum_compute_units",
        system.fused.sum_compute_units <= system.gpu.compute_units,
        f"at most gpu.compute_units, {system.gpu.compute_units}; 0 stands for all",
    )


def _capacities(system: "System") -> Iterator[tuple[str, bool, str]]:
    """Yield the rules that keep a system within the capacities of the model."""
    gpu, collective = system.gpu, system.collective
    yield (
        "gpu.compute_units",
        gpu.compute_units * gpu.workgroups_per_cu <= MOST_SLOTS,
        (
            f"at most {MOST_SLOTS // gpu.workgroups_per_cu} with gpu.workgroups_per_cu = "
            f"{gpu.workgroups_per_cu}: the model has {MOST_SLOTS} places for workgroups"
        ),
    )
    yield (
        "collective.waves_per_cu",
        system.collective_cus * collective.waves_per_cu <= MOST_COLLECTIVE_WAVES,
        (
            f"at most {MOST_COLLECTIVE_WAVES // system.collective_cus} on {system.collective_cus} "
            f"CUs: the model has {MOST_COLLECTIVE_WAVES} places for wavefronts"
        ),
    )


def _tracking_rules(
    system: "System", tile: "Tile", where: str
) -> Iterator[tuple[str, bool, object, str]]:
    """Yield the rules that let T3 track two workgroups of a macro-tile for each GPU at a time."""
    t3, waves = system.t3, tile.waves_m * tile.waves_n
    held = t3.tracker_ways // waves
    yield (
        "t3.tracker_ways",
        held > 0,
        t3.tracker_ways,
        f"at least {waves}, the wavefronts of a workgroup ({where}.waves_m, {where}.waves_n)",
    )
    yield (
        "t3.tracker_sets",
        t3.tracker_sets * held >= _LEAST_CHUNK,
        t3.tracker_sets,
        f"at least {_LEAST_CHUNK}: a set of {t3.tracker_ways} ways holds {held} workgroup",
    )
    commands = waves if t3.granularity == "wavefront" else 1
    yield (
        "t3.command_depth",
        t3.command_depth >= 2 * _LEAST_CHUNK * commands,
        t3.command_depth,
        f"at least {2 * _LEAST_CHUNK * commands}, the commands of {2 * _LEAST_CHUNK} workgroups",
    )


def _tile_rules(
    system: "System", tile: "Tile", where: str
) -> Iterator[tuple[str, bool, object, str]]:
    """Yield the rules of a macro-tile: key, True if its value is sound, value, allowed values."""
    gpu, dram = system.gpu, system.dram
    for side in ("m", "n"):
        size, waves = getattr(tile, f"tile_{side}"), getattr(tile, f"waves_{side}")
        allowed = f"a multiple of {where}.waves_{side}, {waves}"
        yield f"{where}.tile_{side}", size % waves == 0, size, allowed
    stage_bytes = (tile.tile_m + tile.tile_n) * tile.depth_u * ELEMENT_BYTES
    fitting = gpu.lds_kib_per_cu * 1024 // stage_bytes
    yield (
        "gpu.workgroups_per_cu",
        gpu.workgroups_per_cu <= fitting,
        gpu.workgroups_per_cu,
        (
            f"at most {fitting}, {stage_bytes} bytes each for the tile of {where}, in "
            f"lds_kib_per_cu = {gpu.lds_kib_per_cu}"
        ),
    )
    lines = (tile.tile_m + tile.tile_n) * (tile.depth_u * ELEMENT_BYTES // LINE_BYTES + 2)
    yield (
        f"{where}.depth_u",
        lines * tile.prefetch_depth <= MOST_LINE_REQUESTS,
        tile.depth_u,
        (
            f"a step of at most {MOST_LINE_REQUESTS // tile.prefetch_depth} lines with "
            f"{where}.prefetch_depth = {tile.prefetch_depth}, not {lines}"
        ),
    )
    waves = tile.waves_m * tile.waves_n
    yield (
        f"{where}.waves_m",
        waves <= MOST_WAVEFRONTS,
        tile.waves_m,
        f"at most {MOST_WAVEFRONTS} wavefronts in a workgroup",
    )
    along = "m" if system.kernel.output_layout == "column-major" else "n"
    size = getattr(tile, f"tile_{along}")
    run = size // getattr(tile, f"waves_{along}")
    per_atom = dram.atom_bytes // ELEMENT_BYTES
    yield (
        f"{where}.tile_{along}",
        run % per_atom == 0 and (run // per_atom & (run // per_atom - 1)) == 0,
        size,
        f"a size that makes a wavefront's run {per_atom} elements times a power of two, not {run}",
    )
    atoms = tile.tile_m * tile.tile_n * ELEMENT_BYTES // (waves * dram.atom_bytes)
    yield (
        f"{where}.tile_m",
        atoms <= MOST_TILE_ATOMS,
        tile.tile_m,
        f"at most {MOST_TILE_ATOMS} memory atoms in a wavefront's tile, not {atoms}",
    )
