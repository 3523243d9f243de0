"""Readable Verilog of a component: each distinct module once, plain names, documented ports."""

from textwrap import wrap

from amaranth.lib import wiring

from .back_end import yosys_verilog
from .hierarchy import Hierarchies
from .ports import Port, documented_ports, summary
from .tidy import tidy

__all__ = ["readable_verilog"]

_WIDTH = 100
_NOTE = (
    "One clock, clk; rst is synchronous and active high. A payload is one packed vector. The "
    "net evaluate_at_start is for simulators: it makes them evaluate processes at time zero."
)


def readable_verilog(
    component: wiring.Component, name: str, about: str, hierarchies: Hierarchies
) -> str:
    """Convert a component to self-contained Verilog-2001.

    Behaves in every cycle like :func:`~.back_end.verilog_text`, and has the same ports; those
    whose names are keywords have an underscore at their end.

    Parameters
    ----------
    component : Component
    name : str
        Name of its module. All other modules' names begin with it and two underscores.
    about : str
        What else the comment at the beginning says.
    hierarchies : Hierarchies
        Keeps what is converted for the components that come after.
    """
    parts = hierarchies.parts(component, name)
    text = yosys_verilog("\n".join(part.rtlil for part in parts))
    headers = {part.name: _comments(documented_ports(part.component)) for part in parts}
    head = [*_comment(f"{name}: {summary(component)}"), "//", *_comment(about), "//"]
    return "\n".join([*head, *_comment(_NOTE), "", tidy(text, headers)])


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}// {line}" for line in wrap(text, _WIDTH - len(indent) - 3)]


def _comments(ports: list[Port]) -> list[tuple[str, str]]:
    """A comment before each interface's first port: what it is, and where its fields are."""
    commented, before = [], None
    for port in ports:
        interface = port.path[:-1] or port.path
        if any(isinstance(name, int) and name > 0 for name in port.path):
            commented.append((port.name, ""))  # as the first of the array
            continue
        texts = []
        if interface != before and port.description:
            texts.append(port.description)
        if port.fields:
            fields = ", ".join(f"{field.name} [{field.bits}]" for field in port.fields)
            texts.append(f"{port.path[-1]}: {fields}.")
        lines = _comment(" ".join(texts), "  ")
        commented.append((port.name, "".join(f"{line}\n" for line in lines)))
        before = interface
    return commented
