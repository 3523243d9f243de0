"""Miter of a block and its mutant: both start from the block's state, and their steps are
compared."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .bits import Bit, Place, first_free_bit, new_cell
from .netlist import CLOCK_ENABLE

__all__ = ["DIFFERS", "miter"]

DIFFERS = "differs"
"""Output of the miter: the mutant's outputs or next state differ from the block's."""
_REGISTERS = ("$dff", "$sdff", "$adff")
_MEMORY = "$mem_v2"

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


def _bits(module: Module, ports: str, state: str) -> dict[Place, list[Bit]]:
    """Bits of the module's ports of one direction and of its state's ports of the other."""
    return dict(_ports(module, ports)) | dict(_state(module, state))


def miter(
    block: Module, mutant: Module, inverted: Mapping[Place, Collection[int]]
) -> dict[str, Any]:
    """Join a block and its mutant to a miter.

    The registers are the block's; the read data of its memories become inputs.

    Parameters
    ----------
    block, mutant : mapping
        Flat modules in the JSON format of Yosys, with the same ports, registers and memories.
    inverted : mapping
        Bits of ports that the mutant must drive inverted.

    Returns
    -------
    dict
        Module with the block's inputs and the output ``DIFFERS``.
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
    # A clock that is enabled without need changes nothing.
    wanted.pop(CLOCK_ENABLE, None)
    differs = 2 * offset + max((bit for bit in known.values() if isinstance(bit, int)), default=0)
    pairs, turned = [], differs
    for key, bits in _bits(mutant, "output", "input").items():
        if key not in wanted:
            continue
        for index, (bit, other) in enumerate(zip(wanted[key], bits, strict=True)):
            if index in inverted.get(key, ()):
                turned += 1
                cells[f"$turned${turned}"] = new_cell("$not", {"A": [bit]}, turned)
                bit = turned
            pairs.append((bit, ours(other)))
    sides = (list(side) for side in zip(*pairs, strict=True))
    cells[f"${DIFFERS}"] = new_cell("$ne", dict(zip("AB", sides, strict=True)), differs)
    ports[DIFFERS] = {"direction": "output", "bits": [differs]}
    return {"attributes": {}, "ports": ports, "cells": cells, "netnames": {}}
