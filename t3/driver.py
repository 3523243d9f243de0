"""Driver, under its public name, and a simulated GPU to try it on; see :mod:`driver.python`."""

from driver.python import *  # noqa: F403
from driver.python import __all__ as _driver
from sysmodel.engine.simulated_bus import SimulatedBus, simulated_bus

__all__ = [*_driver, "SimulatedBus", "simulated_bus"]
