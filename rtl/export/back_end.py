"""Verilog of a component, the same in every run and on every machine."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Const, Fragment, Value, ValueCastable

# Converting a component by itself takes its constants for ports, and the directions that a
# conversion with named ports wants have no public name.
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .cells import CLOCK_GATE, cell_text
from .clock_gate import GatedClocks

__all__ = ["allow_deep_expressions", "is_room", "ports_of", "verilog_text", "yosys_verilog"]

_MOST_FRAMES = 10_000


def allow_deep_expressions() -> None:
    """Let Amaranth follow an expression such as a choice among 256 channels, with a few frames for
    each operator in it, from now on."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _MOST_FRAMES))


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Signals of a component by the names of their members, joined by two underscores.

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


def is_room(component: wiring.Component) -> bool:
    """Whether a component, by itself, keeps what :func:`~rtl.lib.sleep.may_sleep` asks for."""
    return "awake" in component.signature.members


@contextmanager
def _builtin_yosys() -> Iterator[None]:
    """Any other Yosys that happens to be installed would write a different text."""
    before = os.environ.get("AMARANTH_USE_YOSYS")
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    try:
        yield
    finally:
        if before is None:
            del os.environ["AMARANTH_USE_YOSYS"]
        else:
            os.environ["AMARANTH_USE_YOSYS"] = before


def yosys_verilog(rtlil: str) -> str:
    """What the back end writes for RTLIL, without attributes that only name the generator."""
    with _builtin_yosys():
        return verilog._convert_rtlil_text(rtlil, strip_internal_attrs=True)


def verilog_text(component: wiring.Component, name: str, *, gated: bool = False) -> str:
    """Convert a component to Verilog.

    Parameters
    ----------
    component : Component
        What to convert.
    name : str
        Name of its module.
    gated : bool
        The clocks of rooms that sleep stop, also that of the component if it is one.

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
    allow_deep_expressions()
    sync = ClockDomain("sync")
    fragment = _gated(component, sync) if gated else Fragment.get(component, None)
    ports = ports_of(component)
    if "sync" in fragment.domains:
        ports |= {n: (getattr(sync, n), PortDirection.Input) for n in ("clk", "rst")}
    with _builtin_yosys():
        text = verilog.convert(
            fragment, name=name, ports=ports, emit_src=False, strip_internal_attrs=True
        )
    if gated:
        text += cell_text(CLOCK_GATE)
    # A field of no bits becomes a wire that nothing uses, and that Verilog takes for two bits wide.
    return re.sub(r"^ *wire \[-1:0\] \S+ ?;\n", "", text, flags=re.MULTILINE)


def _gated(component: wiring.Component, sync: ClockDomain) -> Fragment:
    """Its rooms with gates, if it has any, and then with the clock of the whole."""
    clocks = GatedClocks(sync)
    top = clocks.stop_clock(component) if is_room(component) else component
    fragment = Fragment.get(top, clocks)
    if clocks.count:
        fragment.add_domains(sync)
    return fragment
