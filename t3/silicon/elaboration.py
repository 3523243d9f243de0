"""Conversion of components to RTLIL, with parts replaced by black boxes."""

from collections.abc import Sequence

from amaranth.back import rtlil
from amaranth.hdl import Instance
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from rtl.export.back_end import ports_of
from rtl.export.parts import elaborate, instance_of

__all__ = ["TOP", "rtlil_text"]

TOP = "top"


def rtlil_text(component: wiring.Component, boxes: Sequence[type] = ()) -> str:
    """Convert a component to RTLIL; its module is `TOP`.

    Parameters
    ----------
    boxes : sequence of type
        Classes of inner components that become black boxes.

    Returns
    -------
    str
        RTLIL, identical in every run and on every machine.
    """
    declared: dict[str, str] = {}

    def box(part: wiring.Component, _name: str | None) -> Instance | None:
        if type(part) not in boxes:
            return None
        name = type(part).__name__
        declared[name] = _declaration(part, name)
        return instance_of(part, name)

    fragment = elaborate(component, None, box)
    text = rtlil.convert(fragment, ports=ports_of(component), name=TOP, emit_src=False)
    return text + "".join(declared.values())


def _declaration(part: wiring.Component, name: str) -> str:
    """Declare a black box: the ports of a module without its content."""
    lines = ["attribute \\blackbox 1", f"module \\{name}"]
    for port, (value, direction) in ports_of(part).items():
        side = "input" if direction is PortDirection.Input else "output"
        lines.append(f"  wire width {len(value)} {side} {len(lines)} \\{port}")
    return "\n".join([*lines, "end\n"])
