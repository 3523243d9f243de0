"""Switches that a schedule needs: they copy packets, or add them."""

from sysmodel.collectives.schedule import Expanded
from sysmodel.lib.errors import InputError

from .fabric import Fabric
from .routes import Routes

__all__ = ["require_switches", "switches_merge"]


def require_switches(fabric: Fabric, schedule: Expanded) -> None:
    """Require the switches by which the network copies or adds a schedule's packets.

    Raises
    ------
    InputError
        No switch copies packets to all GPUs, or adds those of all GPUs.
    """
    if schedule.merges and not Routes(fabric, fabric.planes, windows=True).merges:
        raise _refused(fabric, schedule, "adds the packets of all GPUs", "reduces")
    if schedule.multicasts and not Routes(fabric, fabric.planes, windows=True).multicasts:
        raise _refused(fabric, schedule, "copies packets to all GPUs", "multicasts")


def switches_merge(fabric: Fabric) -> bool:
    """Test whether switches add the packets of all GPUs, and copy packets to all of them."""
    routes = Routes(fabric, fabric.planes, windows=True)
    return routes.merges and routes.multicasts


def _refused(fabric: Fabric, schedule: Expanded, does: str, key: str) -> InputError:
    return InputError(
        "topology",
        f"{fabric.name} has no switch that {does}; allowed for {schedule.name}: switches with "
        f"{key} = true",
    )
