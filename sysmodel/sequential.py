"""The baseline: GEMM, then ring reduce-scatter, then ring all-gather, all on the CUs."""

from .conservation import Reduction
from .loop import UNTIL_GEMM
from .memory import GEMM, RS
from .phases import Phases, Session, Setting
from .ring import all_gather, reduce_scatter

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
