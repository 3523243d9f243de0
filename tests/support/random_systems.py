"""Random systems and GEMMs, over which a policy must hold without being tuned to any of them."""

from typing import Any

import numpy as np

import t3
from sysmodel.lib.errors import InputError

__all__ = ["random_case"]

# Command clocks in MHz and clock divider of each memory's standard; the bases have none.
_MEMORIES: dict[str | None, tuple[tuple[int, ...], tuple[int, ...]]] = {
    None: ((500, 800, 1000), ()),
    "hbm2": ((720, 960), (1,)),
    "hbm2e": ((1440, 1800), (1, 2)),
    "hbm3": ((960, 1600), (2,)),
    "hbm3e": ((1380, 2300), (1, 2)),
    "hbm4": ((1200, 1600), (1, 2)),
}
_TILES = ((128, 128), (128, 128), (128, 96), (128, 256), (256, 128), (64, 64))
_BASES = ("asplos24", "asplos24", "asplos24", "asplos24-stages", "mi300x")


def _draw(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, int]]:
    """Draw a system and a GEMM, which may not fit each other."""

    def one(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    base = one(*_BASES)
    # A base with its own standard cannot take the clocks of a memory without one.
    standards = [name for name in _MEMORIES if name or base != "mi300x"]
    standard = one(*standards)
    clocks, dividers = _MEMORIES[standard]
    channels = one(4, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256)
    large = one(True, True, False)
    tile_m, tile_n = one(*_TILES)
    small = tile_m == 64
    dram: dict[str, Any] = {
        "channels": channels,
        "queue_depth": one(16, 32, 64),
        "read_latency_ns": one(50, 71.4, 200),
        "clock_mhz": one(*clocks),
    }
    engine: dict[str, Any] = {
        "tracker_banks": min(channels, 64),
        "tracker_sets": 1024 if large else 256,
        "credit_window_workgroups": 2048 if large else 512,
        "command_depth": 4096 if large else 1024,
        "granularity": one("workgroup", "workgroup", "wavefront"),
        "dma_walkers": one(4, 8, 16),
        "egress_slots": one(64, 128, 256),
    }
    if standard:
        dram |= {"standard": standard, "turnaround_cap_clocks": 80, "age_cap_clocks": 2000}
        engine["clock_divider"] = one(*dividers)
    system = {
        "base": base,
        "gpu": {
            "compute_units": one(16, 32, 60, 80, 104, 132, 160, 228),
            "clock_mhz": one(800, 1200, 1400, 1700, 2100),
            "flops_per_cycle_per_cu": one(256, 512, 1024, 2048, 4096, 8192),
            "dispatch": one("free", "free", "stages"),
            "workgroups_per_cu": one(1, 2, 2, 3),
            "kernel_launch_ns": one(0, 1000, 3000, 5000, 10000),
            "workgroup_launch_ns": one(0, 50, 200, 500),
            "cu_bandwidth_bytes_per_cycle": one(32, 64, 128),
            "lds_kib_per_cu": one(64, 128, 228),
        },
        "kernel": {
            "tile_m": tile_m,
            "tile_n": tile_n,
            "depth_u": one(32, 64, 64),
            "waves_m": 2 if small else 4,
            "waves_n": 2 if small else 1,
            "output_layout": one("row-major", "column-major"),
            "workgroup_mapping": one(1, 2, 4, 8, 16),
            "prefetch_depth": one(1, 2, 3, 4),
            "prologue_cycles": one(0, 300, 1000),
            "epilogue_cycles": one(0, 300, 1000),
        },
        "l2": {
            "capacity_mib": one(0.5, 4.0, 8.0, 16.0, 64.0),
            "slices": channels * one(1, 2),
            "ways": one(8, 16, 32),
            "latency_ns": one(50, 114.3, 150, 250),
            "flush_at_kernel_end": one(True, False),
            "store_buffer_atoms": one(0, 0, 64, 1024),
        },
        "dram": dram,
        "link": {
            "bandwidth_gb_per_s": one(25, 50, 75, 150, 300, 450, 900),
            "latency_ns": one(100, 500, 936, 2000, 5000),
        },
        "t3": engine,
    }
    gemm = {
        "m": one(512, 1024, 2048, 3072, 4096, 8192),
        "n": one(1024, 1536, 2048, 3072, 4256),
        "k": one(64, 192, 266, 512, 768, 1024),
        "tp": one(2, 4, 8, 16, 32),
    }
    return system, gemm


def random_case(seed: int, **options: Any) -> tuple[dict[str, Any], dict[str, int], t3.Result]:
    """Simulate the first GEMM and system of a seed's draws that fit each other.

    Returns
    -------
    system, gemm : dict
    result : t3.Result
    """
    rng = np.random.default_rng(seed)
    for _ in range(100):
        system, gemm = _draw(rng)
        try:
            return system, gemm, t3.gemm(**gemm, system=system, **options)
        except InputError:
            continue  # for example an L2 whose sets are no power of two, or too few workgroups
    raise AssertionError(f"seed {seed}: no draw is a valid system")
