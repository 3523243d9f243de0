"""Choice of the macro-tile for a problem, as a library chooses a kernel."""

from sysmodel.config.system import System
from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.gpu.kernel import ATOM_BYTES, LINE_ATOMS, Kernel

__all__ = ["gemm_estimate_ns"]

_EXPOSED = 1 / 16  # assumption


def gemm_estimate_ns(system: System, kernel: Kernel) -> float:
    """Estimate the time of a GEMM from its tiles, without start-up.

    The CUs work on equally many tiles, up to one. A step takes the longer of its time on the matrix
    pipe and its time at the CU's port, and ``_EXPOSED`` of the shorter, so that of two tiles with
    equal work the one with fewer loads is preferred. The GEMM takes no less time than the L2's
    slices need for the loads of all tiles, or the memory for the operands and the output.
    """
    gpu = system.gpu
    tiles_of_cu = -(-kernel.workgroups // gpu.compute_units)
    step_bytes = (kernel.tile_m + kernel.tile_n) * kernel.depth_u * ELEMENT_BYTES
    matrix_cycles = kernel.step_flops / (gpu.flops_per_cycle_per_cu * gpu.matrix_issue_rate)
    port_cycles = step_bytes / gpu.cu_bandwidth_bytes_per_cycle
    step_cycles = max(matrix_cycles, port_cycles) + _EXPOSED * min(matrix_cycles, port_cycles)
    output_cycles = kernel.tile_m * kernel.tile_n * ELEMENT_BYTES / gpu.cu_bandwidth_bytes_per_cycle
    end_cycles = system.kernel.epilogue_cycles + output_cycles
    ends = 1 if system.kernel.pipe_turns == "main-loops" else tiles_of_cu
    cycles = tiles_of_cu * kernel.steps * step_cycles + ends * end_cycles
    moved = (kernel.m + kernel.n) * kernel.k * ELEMENT_BYTES + kernel.output_bytes
    loaded = kernel.workgroups * kernel.steps * step_bytes
    slices_bytes_per_ns = system.l2.slices * LINE_ATOMS * ATOM_BYTES / system.cycle_ns
    return max(
        cycles / gpu.clock_mhz * 1e3,
        loaded / slices_bytes_per_ns,
        moved / system.dram_bytes_per_ns,
    )
