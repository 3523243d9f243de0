"""Configurations by the topology that they need."""

from sysmodel.runs.configurations import registry
from sysmodel.runs.options import CONFIGURATIONS

__all__ = ["ON_A_RING"]

ON_A_RING = tuple(
    name for name in CONFIGURATIONS if not registry.CONFIGURATIONS[name].stores_to_owners
)
"""Configurations that need no direct way between all GPUs."""
