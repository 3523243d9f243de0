"""Compute units of a system in the cycle loop, and the kernels of a queue on them."""

from collections.abc import Sequence

from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.config.limits import MOST_COLLECTIVE_WAVES
from sysmodel.config.system import System
from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.gpu.address_spaces import CONTEXT_NONE, gemm_space
from sysmodel.gpu.collective_step import set_up_collective
from sysmodel.gpu.geometry.output_atoms import OutputAtoms
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.pipe import MAIN_LOOPS, STEPS, TILES
from sysmodel.gpu.workgroups import (
    ComputeUnits,
    KernelTimes,
    PlacedKernel,
    set_up_kernel,
    set_up_units,
)
from sysmodel.lib.cycles import NEVER

from .queue import Queued, first_of_contexts
from .state import State

__all__ = ["set_up_collective_units", "set_up_queue", "slices_per_channel", "units_of"]

_PIPE_TURNS = {"steps": STEPS, "main-loops": MAIN_LOOPS, "tiles": TILES}


def slices_per_channel(system: System) -> int:
    """L2 slices that serve a channel."""
    return max(1, system.l2.slices // system.dram.channels)


def units_of(system: System, cus: int) -> ComputeUnits:
    """Compute units of a GPU that has ``cus`` of them for its queue.

    Raises
    ------
    ValueError
        If the units exceed the limits of the model.
    """
    gpu = system.gpu
    return ComputeUnits(
        cus=cus,
        workgroups_per_cu=gpu.workgroups_per_cu,
        store_buffer=system.l2.store_buffer_atoms * slices_per_channel(system),
        dispatch_interval_cycles=gpu.dispatch_interval_ns / system.cycle_ns,
        by_stage=gpu.dispatch == "stages",
        pipe_turns=_PIPE_TURNS[system.kernel.pipe_turns],
    )


def set_up_collective_units(
    state: State, system: System, cus: int, most_loaded: float | None = None
) -> None:
    """Let the collectives that begin next run on ``cus`` CUs, which load at most ``most_loaded``
    bytes per cycle of the hardware together."""
    dram, gpu, collective = system.dram, system.gpu, system.collective
    # A batch has whole atoms of each channel; the number of wavefronts makes up for the difference
    # in bytes in flight.
    atoms = collective.bytes_in_flight_per_wave / (dram.atom_bytes * dram.channels)
    batch = max(1, round(atoms))
    waves = round(collective.waves_per_cu * atoms / batch)
    interleave = dram.channels * dram.atom_bytes
    port_cycles = interleave / gpu.cu_bandwidth_bytes_per_cycle * (system.clock_mhz / gpu.clock_mhz)
    if most_loaded is not None:
        port_cycles = max(port_cycles, interleave * cus / most_loaded)
    set_up_collective(
        state,
        cus=cus,
        waves_per_cu=min(max(1, waves), MOST_COLLECTIVE_WAVES // cus),
        batch_atoms=batch,
        port_cycles=port_cycles,
    )


def _times(system: System, tiling: Tiling) -> KernelTimes:
    """Times of a workgroup's phases."""
    gpu = system.gpu

    def cu_cycles(cycles: float) -> int:
        return system.cycles(cycles / gpu.clock_mhz * 1e3)

    tile_bytes = (tiling.tile_m + tiling.tile_n) * tiling.depth_u * ELEMENT_BYTES
    store_bytes = tiling.tile_m * tiling.tile_n * ELEMENT_BYTES
    return KernelTimes(
        step=system.matrix_cycles(tiling.step_flops),
        launch=system.cycles(gpu.workgroup_launch_ns) + cu_cycles(system.kernel.prologue_cycles),
        lds=cu_cycles(tile_bytes / gpu.lds_bandwidth_bytes_per_cycle),
        epilogue=cu_cycles(system.kernel.epilogue_cycles),
        fetch=cu_cycles(tile_bytes / gpu.cu_bandwidth_bytes_per_cycle),
        store=cu_cycles(store_bytes / gpu.cu_bandwidth_bytes_per_cycle),
    )


def set_up_queue(
    state: State,
    system: System,
    queue: Sequence[Queued],
    atoms_of: Sequence[OutputAtoms],
    *,
    units: ComputeUnits,
    mode: int,
    tracked: TrackedSchedule,
) -> None:
    """Set up the compute units and the kernels of all GPUs' queues, which have output ``atoms_of``
    and take part in a ``tracked`` collective.

    The kernel of a context that the hardware tracks makes its part of the output. Kernels behind
    the first one begin when they are started.
    """
    set_up_units(state, units)
    firsts = first_of_contexts(queue)
    state.context["kernel"] = firsts
    state.kernel["start"][:, 1:] = NEVER
    row = stage = 0
    for number, ((kernel, context), atoms) in enumerate(zip(queue, atoms_of, strict=True)):
        is_first = number == firsts[context]
        placed = PlacedKernel(
            tiling=kernel.tiling,
            output_atoms=atoms,
            prefetch=kernel.tiling.prefetch_depth,
            mode=mode,
            number=number,
            first_row=row,
            first_stage=stage,
            context=context,
            space=gemm_space(context) if is_first else CONTEXT_NONE,
        )
        set_up_kernel(state, placed, _times(system, kernel.tiling))
        for g, one in enumerate(state.kernel[:, number]):
            sizes = kernel.chunks.sizes
            one["slot_offset"] = sizes[g]
            if kernel.gpus > 1:
                launch = tracked.map(sizes, g)
                one["first_workgroup"] = kernel.chunks.start[launch.first_chunk]
                one["tracked_first"] = sizes[launch.first_chunk]
                one["index_base"] = launch.base
                if is_first:
                    one["end"] = launch.workgroups
            else:
                one["tracked_first"] = sizes[0]
        row += kernel.workgroups
        stage += units.stages(kernel.workgroups)
