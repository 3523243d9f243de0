"""Policies that the register ``ARBITER`` chooses among.

A policy is a function of the :class:`~.inputs.ArbiterInputs`. It returns 0 for compute, 1 for
communication, -1 if neither goes.
"""

from collections.abc import Callable

from rtl.interface.encodings import Policy

from .compute_first import compute_first
from .critical import critical
from .inputs import ArbiterInputs
from .mca import mca
from .mca_paper import mca_paper
from .round_robin import round_robin

__all__ = ["POLICIES"]

POLICIES: dict[Policy, Callable[[ArbiterInputs], int]] = {
    Policy.ROUND_ROBIN: round_robin,
    Policy.COMPUTE_FIRST: compute_first,
    Policy.MCA: mca,
    Policy.CRITICAL: critical,
    Policy.MCA_PAPER: mca_paper,
}
"""Policy of each encoding. The first policy also serves unassigned encodings."""
