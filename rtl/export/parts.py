"""The components inside of an elaborated one, and instances in their place."""

from collections.abc import Callable

from amaranth.hdl import Fragment, Instance, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .back_end import ports_of

__all__ = ["instance_of", "replace_parts"]


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


def replace_parts(
    fragment: Fragment, replace: Callable[[wiring.Component, Fragment, str | None], Fragment | None]
) -> None:
    """Replace what the components directly inside a fragment were elaborated to.

    Components of Amaranth's library stay: they have no fixed set of ports.

    Parameters
    ----------
    fragment : Fragment
        Of an elaborated component; it is changed.
    replace : callable
        Given a component, its fragment and its name as a submodule, what stands in its place; None
        if it stays, and the components inside are looked at instead.
    """
    for index, (part, name, src_loc) in enumerate(fragment.subfragments):
        component = _component(part)
        new = None if component is None else replace(component, part, name)
        if new is None:
            replace_parts(part, replace)
        else:
            fragment.subfragments[index] = (new, name, src_loc)


def _component(fragment: Fragment) -> wiring.Component | None:
    """The component that a fragment was made from, if it is one of ours."""
    source = fragment.origins[0] if fragment.origins else None
    inside = type(source).__module__.startswith("amaranth.")
    return source if isinstance(source, wiring.Component) and not inside else None
