"""A block with a mutant as its shadow: both have the block's state, and what they make of it is
compared."""

from collections.abc import Iterator, Mapping
from typing import Any

from .bits import first_free_bit
from .netlist import AWAKE

__all__ = ["DIFFERS", "shadowed"]

DIFFERS = "differs"
"""Output: the mutant gives another output in this cycle, or another state of the next one."""
_REGISTERS = ("$dff", "$sdff", "$adff")
_MEMORY = "$mem_v2"

Bit = int | str
Module = Mapping[str, Any]


def _is_state(cell: Mapping[str, Any]) -> bool:
    return cell["type"].startswith((*_REGISTERS, _MEMORY))


def _ports(module: Module, direction: str) -> Iterator[tuple[str, list[Bit]]]:
    for name, port in module["ports"].items():
        if port["direction"] == direction:
            yield name, port["bits"]


def _state(module: Module, direction: str) -> Iterator[tuple[tuple[str, str], list[Bit]]]:
    for label, cell in module["cells"].items():
        if _is_state(cell):
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == direction:
                    yield (label, port), bits


def _bits(module: Module, ports: str, state: str) -> dict[str | tuple[str, str], list[Bit]]:
    """Of its ports of the one direction, and of its state's of the other."""
    return dict(_ports(module, ports)) | dict(_state(module, state))


def shadowed(block: Module, mutant: Module) -> dict[str, Any]:
    """Join a block and its mutant.

    Registers are the block's; what its memories give are inputs.

    Parameters
    ----------
    block, mutant : mapping
        Modules in Yosys' JSON format, flat, with the same names of ports, registers and memories.

    Returns
    -------
    dict
        A module with the block's inputs and the output ``DIFFERS``.
    """
    offset = first_free_bit(block)
    given = _bits(block, "input", "output")
    known: dict[Bit, Bit] = {}
    for key, bits in _bits(mutant, "input", "output").items():
        known |= dict(zip(bits, given[key], strict=True))

    def ours(bit: Bit) -> Bit:
        return known.get(bit, bit + offset if isinstance(bit, int) else bit)

    cells, ports = {}, {}
    for label, cell in block["cells"].items():
        if not cell["type"].startswith(_MEMORY):
            cells[label] = cell
    for label, cell in mutant["cells"].items():
        if not _is_state(cell):
            moved = {
                port: [ours(bit) for bit in bits] for port, bits in cell["connections"].items()
            }
            cells[f"mutant:{label}"] = {**cell, "connections": moved}
    for name, bits in _ports(block, "input"):
        ports[name] = {"direction": "input", "bits": bits}
    for (label, port), bits in _state(block, "output"):
        if block["cells"][label]["type"].startswith(_MEMORY):
            ports[f"{label}:{port}"] = {"direction": "input", "bits": bits}
    wanted = _bits(block, "output", "input")
    # One that is awake for nothing has clocks that change nothing.
    wanted.pop(AWAKE, None)
    pairs = [
        (bit, ours(other))
        for key, bits in _bits(mutant, "output", "input").items()
        if key in wanted
        for bit, other in zip(wanted[key], bits, strict=True)
    ]
    width = f"{len(pairs):032b}"
    differs = 2 * offset + max((bit for bit in known.values() if isinstance(bit, int)), default=0)
    signs = {"A_SIGNED": "0", "B_SIGNED": "0", "A_WIDTH": width, "B_WIDTH": width}
    cells[f"${DIFFERS}"] = {
        "type": "$ne",
        "parameters": {**signs, "Y_WIDTH": f"{1:032b}"},
        "attributes": {},
        "port_directions": {"A": "input", "B": "input", "Y": "output"},
        "connections": {
            "A": [bit for bit, _ in pairs],
            "B": [bit for _, bit in pairs],
            "Y": [differs],
        },
    }
    ports[DIFFERS] = {"direction": "output", "bits": [differs]}
    return {"attributes": {}, "ports": ports, "cells": cells, "netnames": {}}
