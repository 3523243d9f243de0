"""Arbiter between compute and communication: one file for each policy."""

from .arbiter import ARBITER_STATE, arbitrate, reset_waits, waits
from .inputs import ARBITER_INPUTS, NO_LIMIT, ArbiterInputs, combine_contexts
from .measurement import MEASUREMENT, MEASURING, measure

__all__ = [
    "ARBITER_INPUTS",
    "ARBITER_STATE",
    "MEASUREMENT",
    "MEASURING",
    "NO_LIMIT",
    "ArbiterInputs",
    "arbitrate",
    "combine_contexts",
    "measure",
    "reset_waits",
    "waits",
]
