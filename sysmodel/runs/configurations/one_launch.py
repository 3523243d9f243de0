"""T3's all-reduce in one launch: the hardware sends each tile on to all GPUs once its sum is
complete, while the GEMM and the reduce-scatter still run."""

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.gpu.address_spaces import CONTEXT_GEMM
from sysmodel.machine.until import UNTIL_REDUCED
from sysmodel.runs.conservation import Moves
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.equal_shares import equal_share
from sysmodel.runs.simulation import RunContext, Simulation
from sysmodel.runs.waiting import with_waits

from .transparent import transparent

__all__ = ["one_launch"]


def one_launch(context: RunContext, name: str, policy: str) -> CycleResult:
    """Simulate T3 with one launch for reduce-scatter and all-gather under an arbitration policy.

    Both collectives overlap, so their times are not known apart: both share the time from the first
    packet to the end equally. A chain without an all-gather runs as with two launches.
    """
    chain = context.chain
    if chain.gather is None or chain.reduction is None:
        return transparent(context, name, policy)
    tracked = tracked_schedule("ring", context.kernel.gpus, "all-reduce")
    number = context.number
    gemm, rs, gather = number(chain.gemm), number(chain.reduction), number(chain.gather)
    with Simulation(context, name, tracked=tracked) as simulation:
        machine = simulation.machine
        simulation.trace_tiles()
        zero = simulation.zero = machine.launch(
            [
                machine.map_writes(g, address_space=CONTEXT_GEMM, policy=policy)
                for g in range(machine.gpus)
            ]
        )
        simulation.run((gemm, rs), UNTIL_REDUCED)
        first_send, end = int(machine.state.gpu["first_send"].min()), machine.now
        simulation.span("all-reduce", "Communication", first_send, end)
        cycles = {chain.gemm.name: int(machine.state.kernel["finish_cycle"].max()) - zero}
        for place, one in enumerate(chain.collectives):
            cycles[one.name] = equal_share(end - first_send, place, len(chain.collectives))
        how = Moves(gemm, rs, gather, tracked=True, together=True)
        result = simulation.finish(how, cycles, end - zero)
    return with_waits(context, name, result)
