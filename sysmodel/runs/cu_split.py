"""Two kernels at once: the CUs are split between a GEMM and the collectives of the one before."""

from sysmodel.machine.loop import UNTIL_GEMM

from .conservation import Reduction
from .phases import Phases, Session, Setting
from .ring_kernels import all_gather, reduce_scatter

__all__ = ["cu_split"]


def cu_split(setting: Setting, collective_cus: int) -> Phases:
    """Simulate a GEMM beside the all-reduce of an equal output that an earlier GEMM left.

    The collectives have ``collective_cus`` CUs, the GEMM has the others; neither waits for the
    other, and they share memory and clocks. What a software scheme could overlap at best.

    Raises
    ------
    ValueError
        If no CU is left for the GEMM.
    """
    if collective_cus >= setting.system.gpu.compute_units:
        raise ValueError(
            f"gpu.compute_units: {setting.system.gpu.compute_units} leave no CU to the GEMM beside "
            f"{collective_cus} for the collectives"
        )
    with Session(setting, f"cu-split-{collective_cus}", collective_cus=collective_cus) as session:
        rs = reduce_scatter(setting, session, alone=False)
        ag = all_gather(setting, session, alone=False)
        session.run("GEMM", UNTIL_GEMM)
        return session.finish(
            Reduction(),
            gemm_cycles=int(session.machine.state.gpu["finish_cycle"].max()),
            rs_cycles=rs,
            ag_cycles=ag,
            total_cycles=session.machine.now,
        )
