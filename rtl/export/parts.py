"""The components inside of one, and instances in their place."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Elaboratable, Fragment, Instance, Module, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .back_end import ports_of

__all__ = ["elaborate", "instance_of"]

Replace = Callable[[wiring.Component, str | None], Fragment | None]


def instance_of(component: wiring.Component, module: str, **inputs: Value) -> Instance:
    """An instance of a module that has the component's ports, connected to its signals.

    Parameters
    ----------
    component : Component
    module : str
        Its type.
    inputs : Value
        What further inputs of the module are connected to, such as the clock.
    """
    connections = {f"i_{port}": value for port, value in inputs.items()}
    for port, (value, direction) in ports_of(component).items():
        side = "i" if direction is PortDirection.Input else "o"
        connections[f"{side}_{port}"] = value
    return Instance(module, **connections)


def elaborate(component: wiring.Component, platform: Any, replace: Replace) -> Fragment:
    """Elaborate a component, but not the components directly inside that something else replaces.

    Components of Amaranth's library stay: they have no fixed set of ports. So do those that a
    transformer changes, such as ``ResetInserter``: an instance would be without the change.

    Parameters
    ----------
    component : Component
        It can be elaborated only once.
    platform
        As ``elaborate`` has it.
    replace : callable
        Given a component and its name as a submodule, what stands in its place; None if it stays,
        and the components inside are looked at instead.
    """
    module = component.elaborate(platform)
    _replace_inside(module, platform, replace)
    return Fragment.get(module, platform)


def _replace_inside(module: Module, platform: Any, replace: Replace) -> None:
    """A module's submodules have no public names."""
    for name, (part, src_loc) in module._named_submodules.items():
        module._named_submodules[name] = _new(part, name, platform, replace), src_loc
    module._anon_submodules[:] = (
        (_new(part, None, platform, replace), src_loc) for part, src_loc in module._anon_submodules
    )


def _new(part: Elaboratable, name: str | None, platform: Any, replace: Replace) -> Any:
    if isinstance(part, Module):
        _replace_inside(part, platform, replace)
    if not isinstance(part, wiring.Component) or type(part).__module__.startswith("amaranth."):
        return part
    new = replace(part, name)
    return elaborate(part, platform, replace) if new is None else new
