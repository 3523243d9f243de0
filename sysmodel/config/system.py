"""The system that is simulated: one GPU, its memory, its links and its T3 hardware.

A system is one TOML file. The presets are such files; a user's file may be complete, or begin with
``base = "asplos24"`` and give only what differs. Keys carry their units.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, create_model, model_validator

from sysmodel.lib.errors import InputError

from .dram_timing import MAX_BANKS, MAX_GROUPS, MAX_QUEUE, BankInterleave, DramTiming, Refresh
from .limits import (
    MOST_GROUP_WORKGROUPS,
    MOST_OCCUPANCY,
    MOST_STARVATION_CYCLES,
    MOST_WORKGROUPS,
)
from .rules import check_rules
from .schema import PowerOfTwo, Strict, integer, number, power_of_two, read_toml, text, validate

__all__ = [
    "GRANULARITIES",
    "GranularityName",
    "System",
    "Tile",
    "load_system",
    "preset_names",
    "preset_path",
]

GranularityName = Literal["workgroup", "wavefront"]
GRANULARITIES: tuple[GranularityName, ...] = get_args(GranularityName)
_PRESETS = Path(__file__).parent / "presets"


class Gpu(Strict):
    """Compute units (CUs) and what feeds them."""

    compute_units: int = integer(1, 1024)
    clock_mhz: float = number(100, 10_000)
    flops_per_cycle_per_cu: int = integer(1, 1 << 20)
    matrix_issue_rate: float = number(0.01, 1)
    workgroups_per_cu: int = integer(1, 32)
    lds_kib_per_cu: int = integer(1, 4096)
    lds_bandwidth_bytes_per_cycle: int = integer(1, 4096)
    cu_bandwidth_bytes_per_cycle: int = integer(1, 4096)
    kernel_launch_ns: float = number(0, 1e6)
    workgroup_launch_ns: float = number(0, 1e5)
    dispatch_interval_ns: float = number(0, 1e5)
    dispatch: Literal["free", "stages"]


class Tile(Strict):
    """Macro-tile of the GEMM kernel, and how the wavefronts share it."""

    tile_m: int = integer(16, 1024)
    tile_n: int = integer(16, 1024)
    depth_u: int = integer(8, 1024)
    waves_m: int = integer(1, 8)
    waves_n: int = integer(1, 8)


class Kernel(Tile):
    """The GEMM kernel; its cycles are those of the CU.

    ``alternatives`` are tried in their order where the macro-tile does not cut the output into
    equal chunks for the ring.
    """

    alternatives: Annotated[tuple[Tile, ...], Field(strict=False)] = ()
    workgroup_mapping: int = integer(1, 1024)
    prefetch_depth: int = integer(1, 4)
    prologue_cycles: int = integer(0, 100_000)
    epilogue_cycles: int = integer(0, 100_000)
    output_layout: Literal["column-major", "row-major"]

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The macro-tile and its alternatives."""
        own = Tile(**{name: getattr(self, name) for name in Tile.model_fields})
        return own, *self.alternatives


class L2(Strict):
    """Last-level cache, in slices in front of the memory channels."""

    capacity_mib: float = number(0.0625, 1024)
    slices: int = integer(1, 1024)
    line_bytes: Literal[128]
    ways: int = integer(1, 64)
    latency_ns: float = number(0, 1e5)
    mshrs_per_slice: int = integer(1, 1024)
    write_back_atoms: int = integer(4, 1024)
    store_buffer_atoms: int = integer(0, 1024)


_TIMES = tuple(field.name for field in fields(DramTiming) if re.match("t[A-Z]", field.name))

if TYPE_CHECKING:

    class TimingCycles(Strict):
        """A value for each name that ``DramTiming`` has."""

        def __getattr__(self, name: str) -> int: ...

else:
    TimingCycles = create_model(
        "TimingCycles",
        __base__=Strict,
        __doc__="Cycles of the memory clock from command to command; names as in ``DramTiming``.",
        burst=(int, integer(1, 64)),
        **{name: (int, integer(0, 1 << 20)) for name in _TIMES},
    )


class Dram(Strict):
    """Memory channels; the clock here is the clock of the T3 hardware."""

    channels: PowerOfTwo = power_of_two(1, 256)
    clock_mhz: float = number(100, 10_000)
    atom_bytes: Literal[32]
    interleave_bytes: PowerOfTwo = power_of_two(32, 65_536)
    banks: PowerOfTwo = power_of_two(1, MAX_BANKS)
    bank_groups: PowerOfTwo = power_of_two(1, MAX_GROUPS)
    row_bytes: PowerOfTwo = power_of_two(256, 65_536)
    low_column_bits: int = integer(0, 16)
    low_bank_bits: int = integer(0, 8)
    bank_interleave: BankInterleave
    queue_depth: int = integer(1, MAX_QUEUE)
    turnaround_cap_cycles: int = integer(1, 1 << 20)
    age_cap_cycles: int = integer(1, 1 << 20)
    read_latency_ns: float = number(0, 1e5)
    refresh: Refresh
    timing_cycles: TimingCycles

    @property
    def timing(self) -> DramTiming:
        """One channel's geometry and timing."""
        return DramTiming(
            banks=self.banks,
            bank_groups=self.bank_groups,
            columns=self.row_bytes // self.atom_bytes,
            low_column_bits=self.low_column_bits,
            low_bank_bits=self.low_bank_bits,
            bank_interleave=self.bank_interleave,
            queue_depth=self.queue_depth,
            refresh=self.refresh,
            turnaround_cap=self.turnaround_cap_cycles,
            age_cap=self.age_cap_cycles,
            **self.timing_cycles.model_dump(),
        )


class Link(Strict):
    """Link to the next GPU of the ring."""

    bandwidth_gb_per_s: float = number(0.1, 100_000)
    latency_ns: float = number(0, 1e7)


class Collective(Strict):
    """The baselines' kernels for reduce-scatter and all-gather, a workgroup on each CU."""

    waves_per_cu: int = integer(1, 32)
    bytes_in_flight_per_wave: PowerOfTwo = power_of_two(1024, 1 << 20)


class Variation(Strict):
    """How much a repetition of a run may vary: delays from none to these, and where buffers lie."""

    start_skew_ns: float = number(0, 1e6)
    kernel_launch_ns: float = number(0, 1e6)
    workgroup_launch_ns: float = number(0, 1e5)
    page_kib: PowerOfTwo = power_of_two(4, 1 << 20)
    offset_pages: int = integer(0, 1024)


_Level = Annotated[int, integer(1, MOST_OCCUPANCY)]
_Cut = Annotated[int, integer(0, MOST_OCCUPANCY)]


class T3(Strict):
    """The T3 hardware and its policies; cycles are those of the memory clock."""

    granularity: GranularityName
    group_workgroups: PowerOfTwo = power_of_two(1, MOST_GROUP_WORKGROUPS)
    mca_levels: Annotated[tuple[_Level, _Level, _Level], Field(strict=False)]
    mca_cuts: Annotated[tuple[_Cut, _Cut, _Cut], Field(strict=False)]
    starvation_limit_cycles: int = integer(1, MOST_STARVATION_CYCLES)
    starvation_latencies: float = number(0.1, 1000)
    tracker_sets: PowerOfTwo = power_of_two(1, 32_768)
    tracker_ways: int = integer(1, 64)
    tracker_banks: PowerOfTwo = power_of_two(1, 256)
    credit_window_workgroups: PowerOfTwo = power_of_two(2, 32_768)
    command_depth: PowerOfTwo = power_of_two(2, 65_536)
    dma_walkers: PowerOfTwo = power_of_two(1, 16)
    egress_slots: PowerOfTwo = power_of_two(1, 65_536)


class System(Strict):
    """Everything that describes the simulated machine, checked."""

    name: str = text()
    description: str = text()
    source: str = text()
    gpu: Gpu
    kernel: Kernel
    l2: L2
    dram: Dram
    link: Link
    collective: Collective
    variation: Variation
    t3: T3

    @property
    def peak_flops_per_ns(self) -> float:
        gpu = self.gpu
        return gpu.compute_units * gpu.flops_per_cycle_per_cu * gpu.clock_mhz / 1e3

    @property
    def dram_bytes_per_ns(self) -> float:
        return self.dram.channels * self.dram.atom_bytes * self.dram.clock_mhz / 1e3

    @property
    def offset_bits(self) -> int:
        """Address bits of the atoms that lie next to each other in a channel."""
        return (self.dram.interleave_bytes // self.dram.atom_bytes).bit_length() - 1

    @property
    def channel_bits(self) -> int:
        return self.dram.channels.bit_length() - 1

    @property
    def l2_sets_per_slice(self) -> int:
        return int(self.l2.capacity_mib * 2**20) // (
            self.l2.slices * self.l2.ways * self.l2.line_bytes
        )

    @property
    def read_latency_cycles(self) -> int:
        """Of an unloaded memory: from a read's issue to its data."""
        return self.dram.timing.read_latency + self.memory_cycles(self.dram.read_latency_ns)

    def memory_cycles(self, ns: float) -> int:
        """Whole cycles of the memory clock that ``ns`` take, to the nearest."""
        return round(ns * self.dram.clock_mhz / 1e3)

    def matrix_cycles(self, flops: int) -> float:
        """Cycles of the memory clock in which a CU's matrix pipe does that much."""
        gpu = self.gpu
        cycles = flops / (gpu.flops_per_cycle_per_cu * gpu.matrix_issue_rate)
        return cycles * self.dram.clock_mhz / gpu.clock_mhz

    def workgroups(self, m: int, n: int) -> int:
        """Workgroups of the GEMM kernel for an ``m`` by ``n`` output.

        Raises
        ------
        InputError
            There are more than workgroup ids.
        """
        count = max(-(-m // tile.tile_m) * -(-n // tile.tile_n) for tile in self.kernel.tiles)
        if count > MOST_WORKGROUPS:
            raise InputError(
                "kernel.tile_m",
                f"{m} x {n} outputs make {count} workgroups; allowed: {MOST_WORKGROUPS}",
            )
        return count

    @model_validator(mode="after")
    def _consistent(self) -> "System":
        check_rules(self)
        return self


def preset_names() -> list[str]:
    """Names of the presets that come along."""
    return sorted(file.stem for file in _PRESETS.glob("*.toml"))


def load_system(source: str = "asplos24") -> System:
    """Read a system from a file, or by a preset's name.

    Raises
    ------
    InputError
        One line that names the file, the key, its value and what is allowed.
    """
    if source in preset_names() and not Path(source).exists():
        path, where = preset_path(source), f"{source}.toml"
    else:
        path, where = Path(source), source
    data = _with_base(path, where)
    if "name" in data:
        raise InputError(f"{where}: name", "unknown key; a system is named by its file")
    return validate(System, {"name": Path(source).name.removesuffix(".toml"), **data}, where)


def preset_path(name: str) -> Path:
    """File of a preset."""
    return _PRESETS / f"{name}.toml"


def _with_base(path: Path, where: str) -> dict[str, Any]:
    if not path.is_file() and not path.exists():
        names = ", ".join(preset_names())
        raise InputError(where, f"no such file, and no preset; presets: {names}")
    data = read_toml(path)
    if "base" not in data:
        return data
    base = data.pop("base")
    if base not in preset_names():
        names = ", ".join(preset_names())
        raise InputError(f"{where}: base", f"{base!r} is not allowed; allowed: {names}")
    data.setdefault("description", f"{base} with changes")
    data.setdefault("source", f"{base} and {where}")
    return _merge(_with_base(preset_path(base), f"{base}.toml"), data)


def _merge(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in change.items():
        was = base.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            merged[key] = _merge(was, value)
        else:
            merged[key] = value
    return merged
