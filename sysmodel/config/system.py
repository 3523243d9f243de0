"""Simulated system: one GPU, its memory, its links and its T3 hardware.

A system is one TOML file. The presets are such files; a user's file may be complete, or begin with
``base = "asplos24"`` and give only the values that differ. Keys carry their units.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sysmodel.lib.errors import InputError, short

from .bundled import PRESETS, Located
from .fused import Fused
from .granularity import GranularityName
from .library import Collective
from .limits import (
    MOST_GROUP_WORKGROUPS,
    MOST_OCCUPANCY,
    MOST_STARVATION_CYCLES,
    MOST_WAYS,
)
from .link import Link
from .memory import Delay, Dram, with_standard
from .merging import Content, load_content, merged
from .rules import check_rules
from .schema import PowerOfTwo, Strict, integer, number, power_of_two, text, validate
from .software import Chunked, CopyEngine
from .topology import check_reference, load_topology, restored_topology
from .topology_shapes import Topology

_TOPOLOGY = "ring"
"""Topology of a system that names none."""

__all__ = [
    "System",
    "Tile",
    "is_delay",
    "load_system",
    "preset_names",
    "system_on",
]


class Gpu(Strict):
    """Compute units (CUs) with their bandwidths, and the dispatch of workgroups.

    ``clock_mhz`` is the clock that the GPU holds in GEMMs, under its power limit. The data sheet's
    peak is that of ``boost_clock_mhz``; without it, the two clocks are equal.
    """

    compute_units: int = integer(1, 1024)
    clock_mhz: float = number(100, 10_000)
    boost_clock_mhz: Annotated[float | None, number(100, 10_000)] = None
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
    board_power_w: float = number(1, 10_000)


class Tile(Strict):
    """Macro-tile of the GEMM kernel, its division among the wavefronts, and the depth-U steps that
    it loads ahead."""

    tile_m: int = integer(16, 1024)
    tile_n: int = integer(16, 1024)
    depth_u: int = integer(8, 1024)
    waves_m: PowerOfTwo = power_of_two(1, 4)
    waves_n: PowerOfTwo = power_of_two(1, 4)
    prefetch_depth: int = integer(1, 4)


class Kernel(Tile):
    """GEMM kernel; its cycles are cycles of the CU.

    Among the macro-tile and its ``alternatives``, those that cut the output into equal chunks for
    all GPUs are preferred. Among these, ``tile_choice`` takes the first, or the one with which the
    GEMM takes the shortest time by an estimate. Workgroups of a CU share its matrix pipe by
    ``pipe_turns``: each step in turn, a main loop at a time, or a tile at a time from its first
    step to its last store.
    """

    alternatives: Annotated[tuple[Tile, ...], Field(strict=False)] = ()
    tile_choice: Literal["first", "fastest"]
    pipe_turns: Literal["steps", "main-loops", "tiles"]
    workgroup_mapping: int = integer(1, 1024)
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
    flush_at_kernel_end: bool


class Variation(Strict):
    """Variation between repetitions of a run: largest added delays, and offsets of the buffers."""

    start_skew_ns: float = number(0, 1e6)
    kernel_launch_ns: float = number(0, 1e6)
    workgroup_launch_ns: float = number(0, 1e5)
    page_kib: PowerOfTwo = power_of_two(4, 1 << 20)
    offset_pages: int = integer(0, 1024)


_Level = Annotated[int, integer(1, MOST_OCCUPANCY)]
_Cut = Annotated[int, integer(0, MOST_OCCUPANCY)]


class T3(Strict):
    """T3 hardware and its policies.

    Its cycles are cycles of the hardware's own clock: the memory's command clock divided by
    ``clock_divider``.
    """

    clock_divider: PowerOfTwo = power_of_two(1, 4)
    granularity: GranularityName
    group_workgroups: PowerOfTwo = power_of_two(1, MOST_GROUP_WORKGROUPS)
    mca_levels: Annotated[tuple[_Level, _Level, _Level], Field(strict=False)]
    mca_cuts: Annotated[tuple[_Cut, _Cut, _Cut], Field(strict=False)]
    starvation_limit_cycles: int = integer(1, MOST_STARVATION_CYCLES)
    starvation_latencies: float = number(0.1, 1000)
    tracker_sets: PowerOfTwo = power_of_two(1, 32_768)
    tracker_ways: int = integer(1, MOST_WAYS)
    tracker_banks: PowerOfTwo = power_of_two(1, 256)
    credit_window_workgroups: PowerOfTwo = power_of_two(2, 32_768)
    command_depth: PowerOfTwo = power_of_two(2, 65_536)
    dma_walkers: PowerOfTwo = power_of_two(1, 16)
    egress_slots: PowerOfTwo = power_of_two(1, 65_536)


class System(Strict):
    """Checked description of the simulated machine.

    ``topology`` says which links join the GPUs; ``link`` gives the values that it leaves out.
    """

    name: str = text()
    description: str = text()
    source: str = text()
    gpu: Gpu
    kernel: Kernel
    l2: L2
    dram: Dram
    link: Link
    topology: Topology
    collective: Collective
    copy_engine: CopyEngine
    chunked: Chunked
    fused: Fused
    variation: Variation
    t3: T3

    @property
    def peak_flops_per_ns(self) -> float:
        """Peak of the data sheet, at the boost clock."""
        gpu = self.gpu
        clock_mhz = gpu.boost_clock_mhz or gpu.clock_mhz
        return gpu.compute_units * gpu.flops_per_cycle_per_cu * clock_mhz / 1e3

    @property
    def collective_cus(self) -> int:
        """CUs of the library's collectives where no other kernel runs."""
        return min(self.collective.most_compute_units, self.gpu.compute_units)

    @property
    def sum_cus(self) -> int:
        """CUs of the kernel that adds the contributions of a fused GEMM."""
        return self.fused.sum_compute_units or self.gpu.compute_units

    @property
    def dram_bytes_per_ns(self) -> float:
        dram = self.dram
        return dram.channels * dram.atom_bytes * dram.clock_mhz / (1e3 * dram.burst_clocks)

    @property
    def clock_mhz(self) -> float:
        """Clock of the T3 hardware; the simulation counts its cycles."""
        return self.dram.clock_mhz / self.t3.clock_divider

    @property
    def cycle_ns(self) -> float:
        """Length of a cycle of the T3 hardware."""
        return 1e3 / self.clock_mhz

    @property
    def offset_bits(self) -> int:
        """Address bits within the contiguous atoms of a channel."""
        return (self.dram.interleave_bytes // self.dram.atom_bytes).bit_length() - 1

    @property
    def l2_sets_per_slice(self) -> int:
        """Sets of a slice, rounded to the nearest number."""
        way_bytes = self.l2.slices * self.l2.ways * self.l2.line_bytes
        return round(self.l2.capacity_mib * 2**20 / way_bytes)

    @property
    def read_latency_cycles(self) -> int:
        """Latency of an unloaded memory, from a read's issue to its data."""
        data = -(-self.dram.timing_cycles.read_latency // self.t3.clock_divider)
        return data + self.cycles(self.dram.read_latency_ns)

    def cycles(self, ns: float) -> int:
        """Convert ``ns`` to the nearest number of cycles of the hardware's clock."""
        return round(ns * self.clock_mhz / 1e3)

    def matrix_cycles(self, flops: int) -> float:
        """Cycles of the hardware's clock in which a CU's matrix pipe executes ``flops``."""
        gpu = self.gpu
        cycles = flops / (gpu.flops_per_cycle_per_cu * gpu.matrix_issue_rate)
        return cycles * self.clock_mhz / gpu.clock_mhz

    @field_validator("topology", mode="before")
    @classmethod
    def _restored(cls, value: Any) -> Any:
        """Restore a topology from its dump."""
        return restored_topology(value) if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _consistent(self) -> "System":
        check_rules(self)
        return self


def preset_names() -> list[str]:
    """Names of the presets."""
    return PRESETS.names()


def load_system(
    source: "System | Mapping[str, Any] | Path | str" = "asplos24",
    *,
    field: str = "system",
    beside: Path = Path(),
) -> System:
    """Load a system.

    Parameters
    ----------
    source : str, Path, mapping or System
        Name of a preset, path of a TOML file, the content of such a file, or a system itself. A
        string with a ``/`` or with the suffix ``.toml`` is a path.
    field : str
        Argument or key that gives the source, for messages.
    beside : Path
        Folder to which paths are relative.

    Raises
    ------
    InputError
        The system is not valid; the message names file, key, value and the allowed values.
    """
    if isinstance(source, System):
        return source
    data, where = load_content(
        source, PRESETS, field=field, beside=beside, prepare=_prepared, combine=_over
    )
    return validate(System, {"topology": load_topology(_TOPOLOGY), **data}, where)


def system_on(
    source: "System | Mapping[str, Any] | Path | str",
    topology: Topology | Mapping[str, Any] | Path | str | None,
) -> System:
    """Load a system, with another topology than its own unless that is None.

    Raises
    ------
    InputError
        System or topology are not valid; see :func:`load_system` and
        :func:`~sysmodel.config.topology.load_topology`.
    """
    system = load_system(source)
    if topology is None:
        return system
    return system.model_copy(update={"topology": load_topology(topology)})


def _prepared(data: Content, own: Located) -> Content:
    """Fill in the standard of a file's memory, and load its topology; a file without a base must be
    complete."""
    try:
        data = {**data, "dram": with_standard(data["dram"])} if "dram" in data else data
    except InputError as error:
        raise InputError(f"{own.where}: {error.field}", error.problem) from error
    if "topology" in data:
        field = f"{own.where}: topology"
        check_reference(data["topology"], field, own)
        loaded = load_topology(data["topology"], field=field, beside=own.path.parent)
        data = {**data, "topology": loaded}
    if "base" not in data:
        _require_sections(data, own.where)
    return data


def _over(base: Content, data: Content, where: str) -> Content:
    _require_clock_divider(data, base, where)
    return merged(_with_own_tile(base, data), data, is_delay)


def _with_own_tile(base: Content, data: Content) -> Content:
    """Leave out the alternatives of a base's macro-tile, if a file gives another macro-tile: they
    complement the tile of the base, and need not fit the GPU of the file."""
    given = data.get("kernel")
    if not isinstance(given, Mapping) or not {"tile_m", "tile_n"} & set(given):
        return base
    kernel = {key: value for key, value in base["kernel"].items() if key != "alternatives"}
    return {**base, "kernel": kernel}


def _require_clock_divider(data: Mapping[str, Any], base: Mapping[str, Any], where: str) -> None:
    """Check that a file that changes the clocks of an atom by a memory standard does not leave the
    hardware at the clock for the memory of its base."""
    dram, below, t3 = (
        one if isinstance(one, dict) else {}
        for one in (data.get("dram"), base.get("dram"), data.get("t3"))
    )
    own, was = dram.get("burst_clocks"), below.get("burst_clocks")
    if "standard" in dram and "clock_divider" not in t3 and own != was:
        raise InputError(
            f"{where}: t3.clock_divider",
            f"missing; a channel gives an atom in dram.burst_clocks = {short(own)} with "
            f"{dram['standard']}, and {short(was)} in the base; allowed: {short(own)}, with which "
            "the hardware takes an atom a cycle, or another power of two",
        )


def _require_sections(data: Mapping[str, Any], where: str) -> None:
    """Check that a file without a base is meant to be complete."""
    missing = [name for name in System.model_fields if name not in ("name", "topology", *data)]
    if len(missing) > 1:
        raise InputError(
            f"{where}: base",
            'missing; add base = "asplos24" before the first section, or another of '
            f"{', '.join(preset_names())}; only a file with every section needs no base",
        )


def is_delay(value: dict[str, Any]) -> bool:
    """Test whether a table is a delay, which a file replaces as a whole."""
    return bool(value) and set(value) <= set(Delay.model_fields)
