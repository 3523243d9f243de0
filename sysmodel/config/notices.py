"""Notices of values of a system that look unphysical, although the system can be simulated."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .limits import LINE_BYTES
from .workload import ELEMENT_BYTES

if TYPE_CHECKING:
    from .system import System

__all__ = ["notices"]

_MUCH = 0.9  # share of the rate at which the matrix pipes issue; a bound above it is no notice


def notices(system: "System") -> list[str]:
    """List the contradictions between values as sentences that name the keys and the amount."""
    return [f"{system.name}: {one}" for one in _notices(system)]


def _notices(system: "System") -> Iterator[str]:
    dram, t3, link = system.dram, system.t3, system.link.t3_gb_per_s
    wanted = _least_bytes_per_flop(system) * system.peak_flops_per_ns
    if wanted > system.dram_bytes_per_ns:
        yield (
            f"gpu: at its peak of {system.peak_flops_per_ns / 1e3:.0f} TFLOP/s the GEMM takes at "
            f"least {wanted:,.0f} GB/s, even if all running workgroups share their reads, but the "
            f"memory provides {system.dram_bytes_per_ns:g} (dram.channels, dram.clock_mhz)"
        )
    yield from _clock_notices(system)
    yield from _l2_notices(system)
    yield from _tile_notices(system)
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
            f"link.bandwidth_gb_per_s: {link:g} of payload is more than the {walked:g} GB/s that "
            f"t3.dma_walkers = {t3.dma_walkers} walk, one run of {row_bytes} bytes each per "
            f"cycle at {system.clock_mhz:g} MHz"
        )
    # The memory adds arriving data; most of the sums are then read to be sent on.
    if 2 * link > system.dram_bytes_per_ns:
        yield (
            f"link.bandwidth_gb_per_s: {link:g} of payload each way is more than the memory "
            f"supplies, {system.dram_bytes_per_ns:g} GB/s for reads and updates together "
            "(dram.channels, dram.clock_mhz)"
        )


def _clock_notices(system: "System") -> Iterator[str]:
    """Notice of a GEMM that may exceed the printed peak."""
    clock, boost = system.gpu.clock_mhz, system.gpu.boost_clock_mhz
    if boost is not None and clock > boost:
        yield (
            f"gpu.clock_mhz: {clock:g} in GEMMs is more than gpu.boost_clock_mhz = {boost:g}, "
            f"whose peak of {system.peak_flops_per_ns / 1e3:.0f} TFLOP/s is printed"
        )


def _l2_notices(system: "System") -> Iterator[str]:
    """Notice of an L2 whose capacity is rounded to whole sets."""
    l2, sets = system.l2, system.l2_sets_per_slice
    set_bytes = l2.slices * l2.ways * l2.line_bytes
    if sets * set_bytes != l2.capacity_mib * 2**20:
        yield (
            f"l2.capacity_mib: {l2.capacity_mib:g} is modelled as {sets * set_bytes / 2**20:g}: "
            f"{sets} sets in each of l2.slices = {l2.slices}, of l2.ways = {l2.ways} lines"
        )


def _tile_notices(system: "System") -> Iterator[str]:
    """Notices of a CU, or an L2, that feeds the matrix pipes too slowly for their peak."""
    gpu, kernel = system.gpu, system.kernel
    step_bytes = (kernel.tile_m + kernel.tile_n) * kernel.depth_u * ELEMENT_BYTES
    flops = 2 * kernel.tile_m * kernel.tile_n * kernel.depth_u
    computes = flops / (gpu.flops_per_cycle_per_cu * gpu.matrix_issue_rate)
    fills = step_bytes / gpu.lds_bandwidth_bytes_per_cycle
    fetches = step_bytes / gpu.cu_bandwidth_bytes_per_cycle
    # A workgroup fills its only LDS buffer and computes in turn, and has the tiles of
    # prefetch_depth steps on the way.
    takes = max(fills + computes, (fetches + fills) / kernel.prefetch_depth)
    share = gpu.workgroups_per_cu * computes / takes
    if share < _MUCH:
        by, key = ("lds", "lds") if fills >= takes - fills - computes else ("l2", "cu")
        yield (
            f"gpu.{key}_bandwidth_bytes_per_cycle: a workgroup's tiles take {fetches:,.0f} cycles "
            f"a k-step through the port of the CU and {fills:,.0f} into the LDS, computing takes "
            f"{computes:,.0f}: gpu.workgroups_per_cu = {gpu.workgroups_per_cu} with "
            f"kernel.prefetch_depth = {kernel.prefetch_depth} give the GEMM at most "
            f"{share * gpu.matrix_issue_rate:.0%} of the peak, bound by {by}"
        )
    lines = (kernel.tile_m + kernel.tile_n) * -(-kernel.depth_u * ELEMENT_BYTES // LINE_BYTES)
    looked_up = lines * gpu.compute_units / computes * gpu.clock_mhz / 1e3
    given = system.l2.slices * system.clock_mhz / 1e3
    if given < _MUCH * looked_up:
        share = given / looked_up * gpu.matrix_issue_rate
        yield (
            f"l2.slices: {system.l2.slices} slices look up {given:,.0f} lines a ns, a line each in "
            f"a cycle at {system.clock_mhz:g} MHz, but the matrix pipes take {looked_up:,.0f}: the "
            f"GEMM gets at most {share:.0%} of the peak, bound by l2"
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
