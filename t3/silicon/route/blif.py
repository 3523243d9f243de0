"""A mapped netlist as qflow's placement reads it."""

from dataclasses import replace

from ..cells import Library
from ..netlist import Netlist

__all__ = ["blif_text", "without_parts"]


def without_parts(netlist: Netlist) -> Netlist:
    """The cells alone: what a memory or a box has as a pin becomes a port."""
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
        Nets are called ``n`` and their number.
    """
    driven: set[int] = set()
    used: set[int] = set()
    gates = []
    for instance in netlist.instances:
        inputs = library.cells[instance.cell].inputs
        for pin, net in instance.pins.items():
            (used if pin in inputs else driven).add(net)
        pins = " ".join(f"{pin}=n{net}" for pin, net in instance.pins.items())
        gates.append(f".gate {instance.cell} {pins}")
    # A port that no cell is at has nothing to be placed for.
    ports = {
        "inputs": sorted(used & set(netlist.inputs)),
        "outputs": sorted(driven & set(netlist.outputs)),
    }
    lines = [f".model {name}"]
    for side, nets in ports.items():
        lines.append(" ".join([f".{side}", *(f"n{net}" for net in nets)]))
    return "\n".join([*lines, *gates, ".end"]) + "\n"
