"""A mapped netlist as qflow's placement reads it."""

from dataclasses import replace

from ..cells import Library
from ..netlist import Netlist

__all__ = ["blif_text", "without_parts"]


def without_parts(netlist: Netlist) -> Netlist:
    """The cells alone: what a memory or a box has as a pin becomes an input or output."""
    inputs, outputs = dict(netlist.inputs), dict(netlist.outputs)
    for part in netlist.parts:
        inputs |= part.outputs
        outputs |= part.inputs
    return replace(netlist, macros=[], boxes=[], inputs=inputs, outputs=outputs)


def blif_text(netlist: Netlist, library: Library, name: str) -> str:
    """A netlist of cells as BLIF.

    Parameters
    ----------
    netlist : Netlist
    library : Library
    name : str
        Of the model.

    Returns
    -------
    str
        Nets are called ``n`` and their number. Its ports are the clocks alone: the others are wires
        to neighbours among which a block is placed, and a die for itself would be as large as so
        many pins need.
    """
    clocks: set[int] = set()
    gates = []
    for instance in netlist.instances:
        arcs = library.cells[instance.cell].arcs
        clocks |= {instance.pins[arc.source] for arc in arcs if arc.clocked}
        pins = " ".join(f"{pin}=n{net}" for pin, net in instance.pins.items())
        gates.append(f".gate {instance.cell} {pins}")
    ports = " ".join([".inputs", *(f"n{net}" for net in sorted(clocks))])
    return "\n".join([f".model {name}", ports, ".outputs", *gates, ".end"]) + "\n"
