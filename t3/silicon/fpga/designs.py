# amaranth: UnusedElaboratable=no
"""What is put on an FPGA."""

from collections.abc import Iterable

from rtl.parameters import T3Parameters
from rtl.top import T3
from sysmodel.lib.errors import InputError

from .flow import place_and_route
from .harness import ScanHarness
from .report import Fitted

__all__ = ["DESIGNS", "check_names", "fit"]

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
"""One channel with a tracker of 256 tiles."""


def check_names(names: Iterable[str]) -> None:
    """Find out whether designs of these names are known.

    Raises
    ------
    InputError
        One is not.
    """
    for name in names:
        if name not in DESIGNS:
            raise InputError("design", f"{name!r} is not known; allowed: {', '.join(DESIGNS)}")


def fit(name: str) -> Fitted:
    """Place and route one of :data:`DESIGNS`."""
    p = DESIGNS[name]
    harness = ScanHarness(T3(p))
    return Fitted(name, p, harness.inputs, harness.outputs, place_and_route(harness))
