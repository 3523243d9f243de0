"""Reproducible Verilog of a component."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.back import rtlil, verilog
from amaranth.hdl import ClockDomain, Const, Fragment, Value, ValueCastable

# Amaranth's conversion of a component would treat constants as ports, and the port directions for a
# conversion with named ports have no public name.
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from rtl.lib.gating import clock_gated, has_clock_enable

from .cells import CLOCK_GATE, cell_text
from .clock_gate import with_clock_gates

__all__ = ["allow_deep_expressions", "ports_of", "verilog_text", "yosys_verilog"]

_MOST_FRAMES = 10_000
# Amaranth leaves the output of a synchronous read port undefined until the first read.
_UNREAD = re.compile(r"^( *parameter \\INIT_VALUE \d+')(x+)$", re.MULTILINE)


def allow_deep_expressions() -> None:
    """Raise the recursion limit for deep expressions, such as a selection among 256 channels;
    Amaranth uses a few frames for each operator.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _MOST_FRAMES))


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Collect the port signals of a component by name, with two underscores between path elements.

    The ``ready`` of a stream that is always ready is a constant, which cannot be a port.
    """
    ports = {}
    for path, member, value in component.signature.flatten(component):
        value = value.as_value() if isinstance(value, ValueCastable) else value
        if not isinstance(value, Const) and len(value):
            is_input = member.flow is wiring.In
            direction = PortDirection.Input if is_input else PortDirection.Output
            ports["__".join(map(str, path))] = (value, direction)
    return ports


@contextmanager
def _builtin_yosys() -> Iterator[None]:
    """Select the built-in Yosys, since another installed Yosys would write a different text."""
    before = os.environ.get("AMARANTH_USE_YOSYS")
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    try:
        yield
    finally:
        if before is None:
            del os.environ["AMARANTH_USE_YOSYS"]
        else:
            os.environ["AMARANTH_USE_YOSYS"] = before


def yosys_verilog(text: str) -> str:
    """Convert RTLIL to Verilog, without attributes that only name the generator.

    A memory's output is 0 until the first read, as it is in the models of the memory cells.
    """
    defined = _UNREAD.sub(lambda unread: unread[1] + "0" * len(unread[2]), text)
    with _builtin_yosys():
        return verilog._convert_rtlil_text(defined, strip_internal_attrs=True)


def verilog_text(component: wiring.Component, name: str, *, gated: bool = False) -> str:
    """Convert a component to Verilog.

    Parameters
    ----------
    component : Component
        Component to convert.
    name : str
        Name of the module.
    gated : bool
        Insert clock gates, also for the component itself if it has a clock enable.

    Returns
    -------
    str
        Verilog without file paths. The ports are ``clk``, ``rst`` and the members that are signals,
        with two underscores in place of the dots and brackets of a path.

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
    allow_deep_expressions()
    sync = ClockDomain("sync")
    if gated and has_clock_enable(component):
        clock_gated(component)
    fragment = Fragment.get(component, None)
    if gated:
        fragment = with_clock_gates(fragment, sync)
    ports = ports_of(component)
    if "sync" in fragment.domains:
        ports |= {n: (getattr(sync, n), PortDirection.Input) for n in ("clk", "rst")}
    text = yosys_verilog(rtlil.convert(fragment, name=name, ports=ports, emit_src=False))
    if gated:
        text += cell_text(CLOCK_GATE)
    # A field without bits becomes an unused wire, which Verilog would take for two bits wide.
    return re.sub(r"^ *wire \[-1:0\] \S+ ?;\n", "", text, flags=re.MULTILINE)
