"""Nets and cells of a module in Yosys' JSON format."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Bit", "Place", "first_free_bit", "new_cell"]

Bit = int | str
"""A net's number, or a constant."""
Place = str | tuple[str, str]
"""A port, or a cell and its port."""


def first_free_bit(module: Mapping[str, Any]) -> int:
    """The first number that no cell's port has; nets from it on are new ones."""
    ports = (bits for cell in module["cells"].values() for bits in cell["connections"].values())
    return 1 + max(bit for bits in ports for bit in bits if isinstance(bit, int))


def new_cell(kind: str, inputs: Mapping[str, Sequence[Bit]], output: Bit) -> dict[str, Any]:
    """A cell of unsigned inputs and the output ``Y`` of one bit."""
    ports = {**inputs, "Y": [output]}
    return {
        "type": kind,
        "parameters": {f"{port}_SIGNED": "0" for port in inputs}
        | {f"{port}_WIDTH": f"{len(bits):032b}" for port, bits in ports.items()},
        "attributes": {},
        "port_directions": dict.fromkeys(inputs, "input") | {"Y": "output"},
        "connections": ports,
    }
