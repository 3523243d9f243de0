"""Mapped netlist, with the designer's names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .cells import Library

__all__ = ["Box", "Instance", "Macro", "Netlist", "read_netlist"]

_MEMORY_INPUTS = {
    "RD_ADDR": "read address",
    "RD_EN": "read enable",
    "RD_SRST": "read reset",
    "WR_ADDR": "write address",
    "WR_DATA": "write data",
    "WR_EN": "write enable",
}


@dataclass(frozen=True, slots=True)
class Instance:
    """Instance of a library cell, with the net of each connected pin."""

    cell: str
    pins: dict[str, int]


@dataclass(frozen=True, slots=True)
class Macro:
    """SRAM macro.

    Parameters
    ----------
    outputs : dict of int to str
        Nets of the read data, with descriptions.
    inputs : dict of int to str
        Nets of all other pins except clocks, with descriptions. A net counts once: Yosys has an
        enable for each bit, the macro has one.
    through : list of (list of int, list of int)
        Addresses and data of ports that read without a clock.
    is_single_port : bool
        True if the macro is read and written at the same address.
    """

    name: str
    rows: int
    width: int
    outputs: dict[int, str]
    inputs: dict[int, str]
    through: list[tuple[list[int], ...]]
    is_single_port: bool

    @property
    def bits(self) -> int:
        return self.rows * self.width


@dataclass(frozen=True, slots=True)
class Box:
    """Black box: an omitted part, with the names of its pins by their nets."""

    name: str
    kind: str
    outputs: dict[int, str]
    inputs: dict[int, str]


@dataclass
class Netlist:
    """Cells and nets of one module, without constants."""

    instances: list[Instance] = field(default_factory=list)
    macros: list[Macro] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    inputs: dict[int, str] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    @property
    def parts(self) -> list[Macro | Box]:
        """List macros and black boxes."""
        return [*self.macros, *self.boxes]


def read_netlist(module: Mapping[str, Any], library: Library) -> Netlist:
    """Read a module from Yosys' JSON.

    Raises
    ------
    ValueError
        An internal cell of Yosys was not mapped.
    """
    netlist = Netlist()
    for name, port in module["ports"].items():
        side = netlist.inputs if port["direction"] == "input" else netlist.outputs
        side |= _named(port["bits"], name)
    netlist.names = _net_names(module)
    for name, cell in module["cells"].items():
        kind, connections = cell["type"], cell["connections"]
        if kind in library.cells:
            pins = {pin: bits[0] for pin, bits in connections.items() if _is_net(bits)}
            netlist.instances.append(Instance(kind, pins))
        elif kind == "$mem_v2":
            netlist.macros.append(_macro(cell))
        elif kind == "$scopeinfo":  # place of a flattened module
            continue
        elif kind.startswith("$"):
            raise ValueError(f"cell {name} of type {kind} was not mapped")
        else:
            box = Box(_plain(name), kind, {}, {})
            for pin, bits in connections.items():
                side = box.outputs if cell["port_directions"][pin] == "output" else box.inputs
                side |= _named(bits, f"{box.name}.{pin}")
            netlist.boxes.append(box)
    return netlist


def _is_net(bits: list) -> bool:
    return bool(bits) and isinstance(bits[0], int)


def _plain(name: str) -> str:
    return name.lstrip("\\")


def _named(bits: list, name: str) -> dict[int, str]:
    single = len(bits) == 1
    return {
        bit: name if single else f"{name}[{index}]"
        for index, bit in enumerate(bits)
        if isinstance(bit, int)
    }


def _net_names(module: Mapping[str, Any]) -> dict[int, str]:
    """Choose the designer's name of each net.

    A net that several modules share has many names. The choice prefers a name without the ``$`` by
    which tools make names unique, then the fewest levels, then the shortest name.
    """
    names: dict[int, str] = {}
    best_first = sorted(
        module["netnames"].items(),
        key=lambda item: ("$" in item[0], item[0].count("."), len(item[0]), item[0]),
    )
    for name, net in best_first:
        if not net["hide_name"]:
            for bit, text in _named(net["bits"], _plain(name)).items():
                names.setdefault(bit, text)
    return names


def _macro(cell: Mapping[str, Any]) -> Macro:
    parameters, connections = cell["parameters"], cell["connections"]
    name = _plain(parameters["MEMID"])
    width, address = int(parameters["WIDTH"], 2), int(parameters["ABITS"], 2)
    inputs: dict[int, str] = {}
    for pin, role in _MEMORY_INPUTS.items():
        inputs |= {bit: f"{name} {role}" for bit in connections[pin] if isinstance(bit, int)}
    through = []
    # The string begins with the highest port.
    for port, clocked in enumerate(reversed(parameters["RD_CLK_ENABLE"])):
        if clocked == "0":
            addresses = connections["RD_ADDR"][port * address : (port + 1) * address]
            data = connections["RD_DATA"][port * width : (port + 1) * width]
            through.append(
                tuple([bit for bit in bits if isinstance(bit, int)] for bits in (addresses, data))
            )
    return Macro(
        name=name,
        rows=int(parameters["SIZE"], 2),
        width=width,
        outputs=dict.fromkeys(_named(connections["RD_DATA"], name), f"{name} read data"),
        inputs=inputs,
        through=through,
        is_single_port=connections["RD_ADDR"] == connections["WR_ADDR"],
    )
