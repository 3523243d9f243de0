"""Configurations of a run by default: T3's, and the rivals that its machine can run."""

from dataclasses import replace

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.errors import InputError

from .configurations.registry import BASE, CONFIGURATIONS, LIBRARY, evaluation_order
from .options import DEFAULT_CONFIGURATIONS, RunOptions
from .plan import Plan
from .rivals import rivals_among
from .run_network import RunNetwork

__all__ = ["rivals_left_out", "runnable_rivals", "with_rivals"]


def with_rivals(
    workload: Workload,
    system: System,
    options: RunOptions,
    names: tuple[str, ...] = DEFAULT_CONFIGURATIONS,
) -> tuple[str, ...]:
    """Put the rivals that can run behind the base, which is the first one of ``names``."""
    base, *others = names
    return base, *runnable_rivals(workload, system, options), *others


def runnable_rivals(workload: Workload, system: System, options: RunOptions) -> tuple[str, ...]:
    """Select the rivals beside the base that a workload can run on a system, and that differ from
    the base there.
    """
    reasons = _reasons(workload, system, options)
    return tuple(name for name, reason in reasons.items() if reason is None)


def rivals_left_out(workload: Workload, system: System, options: RunOptions) -> dict[str, str]:
    """Find the reason for which each of the other rivals is left out by default."""
    reasons = _reasons(workload, system, options)
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _reasons(workload: Workload, system: System, options: RunOptions) -> dict[str, str | None]:
    rivals = (name for name in rivals_among(CONFIGURATIONS) if name != BASE)
    return {name: _reason_against(name, workload, system, options) for name in rivals}


def _reason_against(
    name: str, workload: Workload, system: System, options: RunOptions
) -> str | None:
    """Find the reason against a rival.

    Kernels that send to all GPUs are left out where these have no direct ways to each other: the
    library's collectives are then the better choice. A GEMM that stores to one owner after the
    other is also left out where each owner has a link of its own, of which it would use one at a
    time.
    """
    whole = [CONFIGURATIONS[one] for one in evaluation_order([name])]
    stores = any(one.stores_to_owners for one in whole)
    try:
        network = RunNetwork(system, workload.tp)
        if stores or any(one.exchanges for one in whole):
            if pair := network.indirect_pair:
                return f"no direct way from GPU {pair[0]} to GPU {pair[1]}"
            if stores and not network.peers_share_links:
                return "it would use one of several links at a time"
        plan = Plan(workload, system, replace(options, configurations=(BASE, name)))
    except InputError as error:
        return error.problem.partition("; ")[0]
    if name == LIBRARY and all(part.choice is None for part in plan.parts):
        return f"it runs what {BASE} runs"
    return None
