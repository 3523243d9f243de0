"""Configurations by the topology that they need."""

from sysmodel.runs.configurations import registry
from sysmodel.runs.options import CONFIGURATIONS

__all__ = ["EVALUATED", "ON_A_RING"]


def _needs_direct_ways(name: str) -> bool:
    """Test whether a configuration, or one from which it is derived, needs direct ways."""
    order = registry.evaluation_order([name])
    found = [registry.CONFIGURATIONS[one] for one in order]
    return any(one.stores_to_owners or one.direct for one in found)


ON_A_RING = tuple(name for name in CONFIGURATIONS if not _needs_direct_ways(name))
"""Configurations that need no direct way between all GPUs."""

EVALUATED = (
    *("sequential", "t3", "t3-mca", "t3-critical", "ideal-overlap", "ideal-rs-nmc"),
    *("t3-mca-paper", "t3-compute-first", "cu-split-8", "cu-split-16"),
)
"""Configurations of the evaluation of the paper's sublayers."""
