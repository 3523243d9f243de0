"""Replacement of the components inside a component by instances."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Elaboratable, Fragment, Instance, Module, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .back_end import ports_of

__all__ = ["elaborate", "instance_of"]

Replace = Callable[[wiring.Component, str | None], Fragment | None]


def instance_of(component: wiring.Component, module: str, **inputs: Value) -> Instance:
    """Make an instance of a module with the ports of a component, connected to its signals.

    Parameters
    ----------
    module : str
        Name of the module.
    inputs : Value
        Connections of further inputs of the module, such as the clock.
    """
    connections = {f"i_{port}": value for port, value in inputs.items()}
    for port, (value, direction) in ports_of(component).items():
        side = "i" if direction is PortDirection.Input else "o"
        connections[f"{side}_{port}"] = value
    return Instance(module, **connections)


def elaborate(component: wiring.Component, platform: Any, replace: Replace) -> Fragment:
    """Elaborate a component, with replacements for the components directly inside.

    Components of Amaranth's library are kept, since they have no fixed set of ports. Components
    under a transformer such as ``ResetInserter`` are also kept, since an instance would ignore the
    transformer.

    Parameters
    ----------
    component : Component
        Component that has not been elaborated yet.
    platform
        Platform for ``elaborate``.
    replace : callable
        Returns the replacement of a component, given the component and its submodule name; None to
        keep the component, and to replace components inside it.
    """
    module = component.elaborate(platform)
    _replace_inside(module, platform, replace)
    return Fragment.get(module, platform)


def _replace_inside(module: Module, platform: Any, replace: Replace) -> None:
    """Replace the submodules of a module, which Amaranth keeps in private attributes."""
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
