"""Benches whose blocks are mutated and measured for coverage."""

from collections.abc import Mapping
from types import MappingProxyType

from rtl.blocks import TOP
from tb.benches import BENCHES, Bench

__all__ = ["BLOCKS", "TARGETS"]

# This second bench of the tracker bank exercises less than the first.
_LEFT_OUT = "tracker_bank_rate"

TARGETS: Mapping[str, Bench] = MappingProxyType(
    {name: bench for name, bench in BENCHES.items() if name != _LEFT_OUT}
)
"""Benches by name, the longest first."""

BLOCKS: tuple[str, ...] = tuple(name for name in TARGETS if name != TOP)
"""Targets of single blocks: all targets except the top's."""
