"""Choice of the macro-tile for a problem, as a library chooses a tiling."""

from sysmodel.config.system import System
from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.gpu.atoms import ATOM_BYTES, LINE_ATOMS
from sysmodel.gpu.geometry.tiling import Tiling

__all__ = ["gemm_estimate_ns"]

_EXPOSED = 1 / 16  # assumption


def gemm_estimate_ns(system: System, tiling: Tiling) -> float:
    """Estimate the time of a GEMM from its tiles, without start-up.

    The CUs work on equally many tiles, up to one. A step takes the longer of its time on the matrix
    pipe and its time at the CU's port, and ``_EXPOSED`` of the shorter, so that of two tiles with
    equal work the one with fewer loads is preferred. The GEMM takes no less time than the L2's
    slices need for the loads of all tiles, or the memory for the operands and the output.
    """
    gpu = system.gpu
    tiles_of_cu = -(-tiling.workgroups // gpu.compute_units)
    step_bytes = (tiling.tile_m + tiling.tile_n) * tiling.depth_u * ELEMENT_BYTES
    matrix_cycles = tiling.step_flops / (gpu.flops_per_cycle_per_cu * gpu.matrix_issue_rate)
    port_cycles = step_bytes / gpu.cu_bandwidth_bytes_per_cycle
    step_cycles = max(matrix_cycles, port_cycles) + _EXPOSED * min(matrix_cycles, port_cycles)
    output_cycles = tiling.tile_m * tiling.tile_n * ELEMENT_BYTES / gpu.cu_bandwidth_bytes_per_cycle
    end_cycles = system.kernel.epilogue_cycles + output_cycles
    ends = 1 if system.kernel.pipe_turns == "main-loops" else tiles_of_cu
    cycles = tiles_of_cu * tiling.steps * step_cycles + ends * end_cycles
    moved = (tiling.m + tiling.n) * tiling.k * ELEMENT_BYTES + tiling.output_bytes
    loaded = tiling.workgroups * tiling.steps * step_bytes
    slices_bytes_per_ns = system.l2.slices * LINE_ATOMS * ATOM_BYTES / system.cycle_ns
    return max(
        cycles / gpu.clock_mhz * 1e3,
        loaded / slices_bytes_per_ns,
        moved / system.dram_bytes_per_ns,
    )
