"""The arbitration policies by their number in the register map."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from amaranth.hdl import Value

from rtl.interface.encodings import Policy

from .compute_first import compute_first
from .critical import critical
from .mca import mca
from .mca_paper import mca_paper
from .round_robin import round_robin
from .situation import Situation

__all__ = ["POLICIES"]

POLICIES: Mapping[Policy, Callable[[Situation], Value]] = MappingProxyType(
    {
        Policy.ROUND_ROBIN: round_robin,
        Policy.COMPUTE_FIRST: compute_first,
        Policy.MCA: mca,
        Policy.CRITICAL: critical,
        Policy.MCA_PAPER: mca_paper,
    }
)
"""Whether a communication request goes before a compute request. Asked in every cycle; the answer
counts only while there is a communication request."""
