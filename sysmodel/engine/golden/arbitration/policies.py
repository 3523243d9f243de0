"""The policies that the register ``ARBITER`` chooses among.

A policy is a function of the state, the channel's record and whether compute and communication have
a candidate. It gives 0 for compute, 1 for communication, -1 for nothing.
"""

from rtl.interface.encodings import Policy

from .compute_first import compute_first
from .critical import critical
from .mca import mca
from .mca_paper import mca_paper
from .round_robin import round_robin

__all__ = ["POLICIES"]

POLICIES = {
    Policy.ROUND_ROBIN: round_robin,
    Policy.COMPUTE_FIRST: compute_first,
    Policy.MCA: mca,
    Policy.CRITICAL: critical,
    Policy.MCA_PAPER: mca_paper,
}
"""The first one also serves encodings that are no policy's."""
