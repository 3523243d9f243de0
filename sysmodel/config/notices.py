"""Notices of values of a system that look unphysical, although the system can be simulated."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .workload import ELEMENT_BYTES

if TYPE_CHECKING:
    from .system import System

__all__ = ["notices"]


def notices(system: "System") -> list[str]:
    """List the contradictions between values as sentences that name the keys and the amount."""
    return [f"{system.name}: {one}" for one in _notices(system)]


def _notices(system: "System") -> Iterator[str]:
    dram, t3, link = system.dram, system.t3, system.link.bandwidth_gb_per_s
    wanted = _least_bytes_per_flop(system) * system.peak_flops_per_ns
    if wanted > system.dram_bytes_per_ns:
        yield (
            f"gpu: at its peak of {system.peak_flops_per_ns / 1e3:.0f} TFLOP/s the GEMM takes at "
            f"least {wanted:,.0f} GB/s, even if all running workgroups share their reads, but the "
            f"memory provides {system.dram_bytes_per_ns:g} (dram.channels, dram.clock_mhz)"
        )
    between = dram.timing_cycles.tCCD_S
    if between > dram.burst_clocks:
        yield (
            f"dram.timing.tCCD_S: column commands every {between} clocks, each of which fills the "
            f"bus for dram.burst_clocks = {dram.burst_clocks}, give at most "
            f"{dram.burst_clocks / between:.0%} of the memory's {system.dram_bytes_per_ns:g} GB/s"
        )
    row_bytes = min(_tile_row_bytes(system), dram.interleave_bytes)
    walked = t3.dma_walkers * row_bytes * system.clock_mhz / 1e3
    if walked < link:
        yield (
            f"link.bandwidth_gb_per_s: {link:g} is more than the {walked:g} GB/s that "
            f"t3.dma_walkers = {t3.dma_walkers} walk, one run of {row_bytes} bytes each per "
            f"cycle at {system.clock_mhz:g} MHz"
        )
    # The memory adds arriving data; most of the sums are then read to be sent on.
    if 2 * link > system.dram_bytes_per_ns:
        yield (
            f"link.bandwidth_gb_per_s: {link:g} each way is more than the memory supplies, "
            f"{system.dram_bytes_per_ns:g} GB/s for reads and updates together "
            "(dram.channels, dram.clock_mhz)"
        )


def _least_bytes_per_flop(system: "System") -> float:
    """Bytes that the memory reads for each operation, at best.

    At best, the workgroups that run at the same time form a square of macro-tiles and read their
    operands once.
    """
    gpu, kernel = system.gpu, system.kernel
    side = math.sqrt(gpu.compute_units * gpu.workgroups_per_cu)
    return ELEMENT_BYTES * (1 / kernel.tile_m + 1 / kernel.tile_n) / (2 * side)


def _tile_row_bytes(system: "System") -> int:
    """Contiguous bytes that a DMA command has in a row."""
    kernel = system.kernel
    column_major = kernel.output_layout == "column-major"
    elements = kernel.tile_m if column_major else kernel.tile_n
    waves = kernel.waves_m if column_major else kernel.waves_n
    parts = waves if system.t3.granularity == "wavefront" else 1
    return elements // parts * ELEMENT_BYTES
