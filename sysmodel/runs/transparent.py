"""T3: the GEMM's stores drive the reduce-scatter; then the all-gather by the DMA engine."""

from rtl.interface.encodings import Policy
from sysmodel.gpu.producer import MODE_SCATTER
from sysmodel.machine.driver import copy_writes, map_writes
from sysmodel.machine.loop import CONTEXT_GEMM, UNTIL_COPIED, UNTIL_QUIET, UNTIL_REDUCED
from sysmodel.memory.accesses import AG, RS

from .conservation import Reduction
from .phases import Phases, Session, Setting

__all__ = ["scatter", "transparent"]


def transparent(setting: Setting, name: str, policy: Policy) -> Phases:
    """Simulate T3 under an arbitration policy."""
    with Session(setting, name) as session:
        machine = session.machine
        zero = session.zero = _launch(setting, session, policy, updates_per_sector=2)
        session.run("GEMM and RS", UNTIL_REDUCED)
        gpu = machine.state.gpu
        reduced = machine.now
        first_send = int(gpu["first_send"].min())
        session.span("reduce-scatter", "Communication", first_send, reduced)
        _all_gather(setting, session)
        session.span("all-gather", "Communication", reduced, machine.now)
        return session.finish(
            Reduction(tracked=True),
            gemm_cycles=int(gpu["finish_cycle"].max()) - zero,
            rs_cycles=reduced - first_send,
            ag_cycles=machine.now - reduced,
            total_cycles=machine.now - zero,
        )


def scatter(setting: Setting) -> Phases:
    """Simulate the reduce-scatter by the T3 hardware alone, the partial products in memory."""
    with Session(setting, "rs-nmc", mode=MODE_SCATTER) as session:
        session.machine.state.gpu["kernel_phase"] = RS
        zero = session.zero = _launch(setting, session, Policy.ROUND_ROBIN, updates_per_sector=1)
        session.run("RS", UNTIL_REDUCED)
        cycles = session.machine.now - zero
        how = Reduction(gemm=False, tracked=True, gather=False)
        return session.finish(how, rs_cycles=cycles, total_cycles=cycles)


def _launch(setting: Setting, session: Session, policy: Policy, updates_per_sector: int) -> int:
    return session.machine.launch(
        [
            map_writes(
                setting.kernel,
                setting.system,
                g,
                context=CONTEXT_GEMM,
                policy=policy,
                updates_per_sector=updates_per_sector,
            )
            for g in range(session.machine.gpus)
        ]
    )


def _all_gather(setting: Setting, session: Session) -> None:
    machine, n = session.machine, setting.kernel.gpus
    gpus = range(machine.gpus)
    machine.state.fixed["work"] = 0
    machine.state.gpu["phase"] = AG
    for step in range(n - 1):
        session.copy_chunks(step)
        machine.write([copy_writes(setting.kernel, (g + step) % n, CONTEXT_GEMM) for g in gpus])
        machine.expect([(g + 1 + step) % n for g in gpus])
        session.run("AG", UNTIL_COPIED)
    session.run("AG", UNTIL_QUIET)
