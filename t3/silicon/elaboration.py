"""Components as RTLIL, with parts of them left out as black boxes."""

import importlib
from collections.abc import Sequence
from contextlib import ExitStack
from unittest.mock import patch

from amaranth.back import rtlil
from amaranth.hdl import Instance
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from rtl.export.back_end import ports_of

__all__ = ["TOP", "rtlil_text"]

TOP = "top"


def rtlil_text(component: wiring.Component, boxes: Sequence[str] = ()) -> str:
    """Convert a component to RTLIL; its module is `TOP`.

    Parameters
    ----------
    component : Component
    boxes : sequence of str
        Classes of submodules that become black boxes, by the names that they have in the module
        of the component's class.

    Returns
    -------
    str
        The same in every run and on every machine.
    """
    module = importlib.import_module(type(component).__module__)
    declared: dict[str, str] = {}
    with ExitStack() as stack:
        for name in boxes:
            box = _black_box(getattr(module, name), name, declared)
            stack.enter_context(patch.object(module, name, box))
        text = rtlil.convert(component, ports=ports_of(component), name=TOP, emit_src=False)
    return text + "".join(declared.values())


def _black_box(kind: type, name: str, declared: dict[str, str]) -> type:
    """The class with an inside that only Yosys' declaration of a black box knows."""

    class Box(kind):
        def elaborate(self, platform):
            lines = ["attribute \\blackbox 1", f"module \\{name}"]
            connections = {}
            for port, (value, direction) in ports_of(self).items():
                side = "input" if direction is PortDirection.Input else "output"
                lines.append(f"  wire width {len(value)} {side} {len(lines)} \\{port}")
                connections[f"{side[0]}_{port}"] = value
            declared[name] = "\n".join([*lines, "end\n"])
            return Instance(name, **connections)

    return Box
