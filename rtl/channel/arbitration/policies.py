"""Arbitration policies by their number in the register map."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from amaranth.hdl import Value

from rtl.interface.encodings import Policy

from .arbiter_inputs import ArbiterInputs
from .compute_first import compute_first
from .critical import critical
from .mca import mca
from .mca_paper import mca_paper
from .round_robin import round_robin

__all__ = ["POLICIES"]

POLICIES: Mapping[Policy, Callable[[ArbiterInputs], Value]] = MappingProxyType(
    {
        Policy.ROUND_ROBIN: round_robin,
        Policy.COMPUTE_FIRST: compute_first,
        Policy.MCA: mca,
        Policy.CRITICAL: critical,
        Policy.MCA_PAPER: mca_paper,
    }
)
"""Functions that decide whether a communication request has priority over a compute request.

The arbiter evaluates them in every cycle, and uses the result only with a communication request."""
