"""What must hold between the values of a system."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import InputError

if TYPE_CHECKING:
    from .config import System

__all__ = ["check_rules"]

_ELEMENT_BYTES = 2  # operands and outputs are 16 bits wide


def check_rules(system: "System") -> None:
    """Check values against each other.

    Raises
    ------
    InputError
        Names the first key that does not fit the others, its value and what is allowed.
    """
    for multiple_of in _MULTIPLES.items():
        _check_multiple(system, *multiple_of)
    for field, sound, allowed in _rules(system):
        if not sound:
            raise InputError(field, f"{_shown(system, field)} is not allowed; allowed: {allowed}")
    _check_timing(system)


_MULTIPLES = {
    "kernel.tile_m": ("kernel.waves_m",),
    "kernel.tile_n": ("kernel.waves_n",),
    "l2.line_bytes": ("dram.atom_bytes",),
    "l2.slices": ("dram.channels",),
    "dram.row_bytes": ("dram.interleave_bytes",),
    "dram.interleave_bytes": ("l2.line_bytes", "dram.atom_bytes"),
    "dram.banks": ("dram.bank_groups",),
}


def _value(system: "System", field: str):
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


def _check_timing(system: "System") -> None:
    """The channel's own rules; its messages begin with the name of the value."""
    try:
        _ = system.dram.timing
    except ValueError as error:
        name, _, problem = str(error).partition(" ")
        within = "timing_cycles." if name in type(system.dram.timing_cycles).model_fields else ""
        raise InputError(f"dram.{within}{name}", problem) from error


def _rules(system: "System") -> Iterator[tuple[str, bool, str]]:
    """Key, whether it is sound, what is allowed."""
    gpu, kernel, l2, dram, t3 = system.gpu, system.kernel, system.l2, system.dram, system.t3
    stage_bytes = (kernel.tile_m + kernel.tile_n) * kernel.depth_u * _ELEMENT_BYTES
    fitting = gpu.lds_kib_per_cu * 1024 // stage_bytes
    yield (
        "gpu.workgroups_per_cu",
        gpu.workgroups_per_cu <= fitting,
        f"at most {fitting}, {stage_bytes} bytes each in lds_kib_per_cu = {gpu.lds_kib_per_cu}",
    )
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
    # A slot of the command table must be free again before the next group that uses it begins.
    yield (
        "t3.group_workgroups",
        t3.group_workgroups == 1 or t3.granularity == "workgroup",
        'only 1 with t3.granularity = "wavefront"',
    )
    yield (
        "t3.group_workgroups",
        t3.group_workgroups == 1 or 2 * t3.group_workgroups <= t3.window_workgroups,
        f"at most half of t3.window_workgroups, {t3.window_workgroups // 2}",
    )
    hardware = system.hardware()
    waves = kernel.waves_m * kernel.waves_n
    yield (
        "kernel.waves_m",
        waves <= hardware.wavefronts,
        f"at most {hardware.wavefronts} wavefronts in a workgroup",
    )
    along = "m" if kernel.output_layout == "column-major" else "n"
    run = getattr(kernel, f"tile_{along}") // getattr(kernel, f"waves_{along}")
    per_atom = dram.atom_bytes // _ELEMENT_BYTES
    yield (
        f"kernel.tile_{along}",
        run % per_atom == 0 and (run // per_atom & (run // per_atom - 1)) == 0,
        f"what makes a wavefront's run of {per_atom} elements times a power of two, not {run}",
    )
    atoms = kernel.tile_m * kernel.tile_n * _ELEMENT_BYTES // (waves * dram.atom_bytes)
    most = (1 << hardware.sector_bits) - 1
    yield (
        "kernel.tile_m",
        atoms <= most,
        f"at most {most} memory atoms in a wavefront's tile, not {atoms}",
    )
