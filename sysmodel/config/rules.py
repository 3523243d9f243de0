"""Rules between the values of a system."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sysmodel.lib.errors import InputError

from .limits import MOST_TILE_ATOMS, MOST_WAVEFRONTS
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
    for field, sound, allowed in _rules(system):
        if not sound:
            raise InputError(field, f"{_shown(system, field)} is not allowed; allowed: {allowed}")
    for index, tile in enumerate(system.kernel.tiles):
        where = f"kernel.alternatives.{index - 1}" if index else "kernel"
        for field, sound, value, allowed in _tile_rules(system, tile, where):
            if not sound:
                raise InputError(field, f"{value} is not allowed; allowed: {allowed}")
    _check_memory(system)


_MULTIPLES = {
    "l2.line_bytes": ("dram.atom_bytes",),
    "l2.slices": ("dram.channels",),
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
        (l2.capacity_mib / way_mib).is_integer(),
        f"a multiple of {way_mib:g}, a line in each way of each slice",
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
        f"at most {fitting}, {stage_bytes} bytes each in lds_kib_per_cu = {gpu.lds_kib_per_cu}",
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
