"""Configurations of a run by default: T3's, and the rivals that its machine can run."""

from contextlib import suppress
from dataclasses import replace

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.errors import InputError

from .configurations.registry import BASE, CONFIGURATIONS, LIBRARY, evaluation_order
from .options import DEFAULT_CONFIGURATIONS, RunOptions
from .plan import Plan
from .rivals import rivals_among

__all__ = ["runnable_rivals", "with_rivals"]


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

    Kernels that send to all GPUs are left out where these have no direct ways to each other: the
    library's collectives are then the better choice. A GEMM that stores to one owner after the
    other is also left out where each owner has a link of its own, of which it would use one at a
    time.
    """
    rivals = (name for name in rivals_among(CONFIGURATIONS) if name != BASE)
    return tuple(name for name in rivals if _is_runnable(name, workload, system, options))


def _is_runnable(name: str, workload: Workload, system: System, options: RunOptions) -> bool:
    with suppress(InputError):
        plan = Plan(workload, system, replace(options, configurations=(BASE, name)))
        if name == LIBRARY:
            return any(part.choice is not None for part in plan.parts)
        whole = [CONFIGURATIONS[one] for one in evaluation_order([name])]
        if any(one.exchanges or one.stores_to_owners for one in whole):
            plan.network.require_direct(name)
        stores = any(one.stores_to_owners for one in whole)
        return plan.network.peers_share_links or not stores
    return False
