"""Conversion of a mapped netlist to BLIF, for qflow's placement."""

from dataclasses import replace

from ..cells import Library
from ..netlist import Netlist

__all__ = ["blif_text", "without_parts"]


def without_parts(netlist: Netlist) -> Netlist:
    """Remove macros and black boxes from a netlist; their pins become inputs and outputs."""
    inputs, outputs = dict(netlist.inputs), dict(netlist.outputs)
    for part in netlist.parts:
        inputs |= part.outputs
        outputs |= part.inputs
    return replace(netlist, macros=[], boxes=[], inputs=inputs, outputs=outputs)


def blif_text(netlist: Netlist, library: Library, name: str) -> str:
    """Write a netlist of cells as BLIF.

    The only ports of the model are the clocks. The other ports of a block are wires to adjacent
    blocks; as pins of a die they would determine its size. A net is called ``n`` and its number.

    Parameters
    ----------
    name : str
        Name of the model.
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
