"""Designs for an FPGA."""

from rtl.parameters import T3Parameters
from rtl.top import T3

from .flow import place_and_route
from .harness import ScanHarness
from .report import Fitted

__all__ = ["DESIGNS", "fit"]

_SMALL = {
    "channels": 1,
    "contexts": 1,
    "address_bits": 32,
    "sets": 64,
    "ways": 4,
    "banks": 1,
    "wavefronts": 4,
    "credit_window": 64,
    "command_depth": 256,
    "dma_walkers": 1,
    "egress_slots": 16,
}

DESIGNS = {
    "without_data": T3Parameters(**_SMALL, with_data=False),
    "with_data": T3Parameters(**_SMALL, with_data=True),
}
"""Parameters by name of the design: one channel with a tracker of 256 tiles."""


def fit(name: str) -> Fitted:
    """Place and route one of the :data:`DESIGNS`."""
    p = DESIGNS[name]
    harness = ScanHarness(T3(p))
    return Fitted(name, p, harness.inputs, harness.outputs, place_and_route(harness))
