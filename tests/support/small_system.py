"""Systems and workloads small enough to simulate whole in a test."""

from sysmodel.config.system import System, load_system
from sysmodel.config.workload import Workload
from sysmodel.lib.progress import no_progress
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.run_context import RunContext

__all__ = ["context_of", "scaled", "small_system", "workload"]


def scaled(system: System, **sections: dict[str, object]) -> System:
    """Return ``system`` with some values changed: ``scaled(system, link={"latency_ns": 1.0})``."""
    return system.model_copy(
        update={
            name: getattr(system, name).model_copy(update=values)
            for name, values in sections.items()
        }
    )


def small_system(compute_units: int = 8, channels: int = 4) -> System:
    """Return the preset with fewer CUs and channels; link and L2 keep their share per channel."""
    full = load_system()
    share = channels / full.dram.channels
    return scaled(
        full,
        gpu={"compute_units": compute_units},
        dram={"channels": channels},
        l2={"slices": 2 * channels, "capacity_mib": full.l2.capacity_mib * share},
        link={"bandwidth_gb_per_s": full.link.bandwidth_gb_per_s * share},
    )


def workload(m: int, n: int, k: int, tp: int) -> Workload:
    return Workload(model="test", layer="test", tp=tp, m=m, n=n, k=k)


def context_of(work: Workload, system: System, options: RunOptions) -> RunContext:
    """Return the context in which a configuration simulates a whole workload."""
    plan = Plan(work, system, options)
    ((part, _),) = plan.parts[0].whole.items()
    assert not plan.is_extrapolated
    return RunContext(
        system, part.kernel, options, no_progress, channels=plan.channels, mirror=plan.mirror
    )
