"""Nets and cells of a module in the JSON format of Yosys."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Bit", "Place", "first_free_bit", "new_cell"]

Bit = int | str
"""Number of a net, or a constant."""
Place = str | tuple[str, str]
"""Port of the module, or a cell with one of its ports."""


def first_free_bit(module: Mapping[str, Any]) -> int:
    """First net number that no cell uses."""
    ports = (bits for cell in module["cells"].values() for bits in cell["connections"].values())
    return 1 + max(bit for bits in ports for bit in bits if isinstance(bit, int))


def new_cell(kind: str, inputs: Mapping[str, Sequence[Bit]], output: Bit) -> dict[str, Any]:
    """Make a cell with unsigned inputs and the one-bit output ``Y``."""
    ports = {**inputs, "Y": [output]}
    return {
        "type": kind,
        "parameters": {f"{port}_SIGNED": "0" for port in inputs}
        | {f"{port}_WIDTH": f"{len(bits):032b}" for port, bits in ports.items()},
        "attributes": {},
        "port_directions": dict.fromkeys(inputs, "input") | {"Y": "output"},
        "connections": ports,
    }
