"""T3's all-reduce in one launch: the hardware sends each tile on to all GPUs once its sum is
complete. The parts of an output can have a launch each, in contexts of their own: the GEMM of a
part then runs beside the all-gather of the part before."""

from collections.abc import Sequence

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes, map_writes
from sysmodel.machine.queue import Queued
from sysmodel.machine.tiling import equal_slices
from sysmodel.machine.until import UNTIL_REDUCED
from sysmodel.runs.conservation import Moves
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.equal_shares import equal_share
from sysmodel.runs.run_context import RunContext
from sysmodel.runs.simulation import Simulation
from sysmodel.runs.waiting import with_waits

from .transparent import transparent

__all__ = ["all_reduce"]


def all_reduce(context: RunContext, name: str, policy: str, launches: int) -> CycleResult:
    """Simulate T3 with one launch for both collectives of each of the equal parts of an output.

    Both collectives overlap, so their times are not known apart: both share the time from the first
    packet to the end equally. A chain without an all-gather runs as with ``t3``.

    Raises
    ------
    ValueError
        The output has no such parts.
    """
    chain = context.chain
    if chain.gather is None or chain.reduction is None:
        return transparent(context, name, policy)
    kernels = equal_slices(context.kernel, launches)
    tracked = tracked_schedule("ring", context.kernel.gpus, "all-reduce")
    number = context.number
    gemm, rs, gather = number(chain.gemm), number(chain.reduction), number(chain.gather)
    first, *others = kernels
    behind = [Queued(one, place) for place, one in enumerate(others, 1)]
    with Simulation(context, name, kernel=first, behind=behind, tracked=tracked) as simulation:
        machine = simulation.machine
        simulation.trace_tiles()
        zero = simulation.zero = machine.launch(_maps(machine, kernels, policy))
        simulation.run((gemm, rs), UNTIL_REDUCED)
        first_send, end = int(machine.state.gpu["first_send"].min()), machine.now
        simulation.span("all-reduce", "Communication", first_send, end)
        cycles = {chain.gemm.name: int(machine.state.kernel["finish_cycle"].max()) - zero}
        for place, one in enumerate(chain.collectives):
            cycles[one.name] = equal_share(end - first_send, place, len(chain.collectives))
        how = Moves(gemm, rs, gather, tracked=True, together=True)
        result = simulation.finish(how, cycles, end - zero)
    return result if others else with_waits(context, name, result)


def _maps(machine: Machine, kernels: Sequence[Kernel], policy: str) -> list[Writes]:
    """Register writes of every GPU that map the kernels' outputs, each in a context."""
    return [
        [
            write
            for context, kernel in enumerate(kernels)
            for write in map_writes(
                kernel,
                machine.system,
                gpu,
                machine.tracked,
                address_space=gemm_space(context),
                policy=policy,
                context=context,
                contexts=len(kernels),
            )
        ]
        for gpu in range(machine.gpus)
    ]
