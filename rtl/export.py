"""Verilog of a component, the same in every run and on every machine."""

import os
import re
import sys
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Const, Value, ValueCastable

# Converting a component by itself takes its constants for ports, and the directions that a
# conversion with named ports wants have no public name.
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .parameters import T3Parameters
from .top import T3

__all__ = ["ports_of", "verilog_text"]


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """The component's signals by the names of their members, joined by two underscores.

    A stream that is always ready has a constant there, which cannot be a port.
    """
    ports = {}
    for path, member, value in component.signature.flatten(component):
        value = value.as_value() if isinstance(value, ValueCastable) else value
        if not isinstance(value, Const) and len(value):
            is_input = member.flow is wiring.In
            direction = PortDirection.Input if is_input else PortDirection.Output
            ports["__".join(map(str, path))] = (value, direction)
    return ports


def verilog_text(component: wiring.Component, name: str) -> str:
    """Convert a component to Verilog.

    Parameters
    ----------
    component : Component
        What to convert.
    name : str
        Name of its module.

    Returns
    -------
    str
        Verilog without paths of the machine. The ports are ``clk``, ``rst`` and the members that
        are signals, with two underscores where a path has a dot or a bracket.

    Raises
    ------
    TypeError
        If ``component`` is not a component, or ``name`` is not a string.
    ValueError
        If ``name`` is not a Verilog identifier.
    """
    if not isinstance(component, wiring.Component):
        raise TypeError(f"Component must be a wiring.Component, not {component!r}")
    if not isinstance(name, str):
        raise TypeError(f"Name must be a string, not {name!r}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"Name must be a Verilog identifier, not {name!r}")
    before = os.environ.get("AMARANTH_USE_YOSYS")
    # Any other Yosys that happens to be installed would write a different text.
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    try:
        text = verilog.convert(
            component,
            name=name,
            ports=ports_of(component),
            emit_src=False,
            strip_internal_attrs=True,
        )
    finally:
        if before is None:
            del os.environ["AMARANTH_USE_YOSYS"]
        else:
            os.environ["AMARANTH_USE_YOSYS"] = before
    # A field of no bits becomes a wire that nothing uses, and that Verilog takes for two bits wide.
    return re.sub(r"^ *wire \[-1:0\] \S+ ?;\n", "", text, flags=re.MULTILINE)


def main() -> None:
    """Write the top with its default parameters to ``t3.v`` in the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / ".t3.v.partial"
    partial.write_text(verilog_text(T3(T3Parameters()), "t3"))
    partial.replace(folder / "t3.v")
    print(folder / "t3.v")


if __name__ == "__main__":
    main()
