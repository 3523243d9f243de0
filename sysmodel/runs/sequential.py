"""The baseline: GEMM, then ring reduce-scatter, then ring all-gather, all on the CUs."""

from sysmodel.machine.loop import UNTIL_GEMM
from sysmodel.memory.accesses import GEMM, RS

from .conservation import Reduction
from .phases import Phases, Session, Setting
from .ring_kernels import all_gather, reduce_scatter

__all__ = ["sequential"]


def sequential(setting: Setting) -> Phases:
    """Simulate the sequential baseline. Mapping the buffers takes no time."""
    with Session(setting, "sequential") as session:
        session.run("GEMM", UNTIL_GEMM)
        gemm = session.machine.now
        session.count_activates(GEMM)
        session.machine.state.fixed["work"] = 0
        rs = reduce_scatter(setting, session)
        session.count_activates(RS)
        ag = all_gather(setting, session)
        return session.finish(
            Reduction(), gemm_cycles=gemm, rs_cycles=rs, ag_cycles=ag, total_cycles=gemm + rs + ag
        )
