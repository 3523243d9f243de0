"""Mutants that renumber the rows of a memory."""

from collections.abc import Mapping
from typing import Any

from .bits import Place
from .netlist import Mutant

__all__ = ["renumbered_rows"]

_ADDRESSES = ("RD_ADDR", "WR_ADDR")


def renumbered_rows(block: Mapping[str, Any], mutant: Mutant) -> dict[Place, set[int]]:
    """Find the address bits that a mutant inverts in every read and write of a memory.

    Such a mutant stores and reads each row at another address. If every address has a row and all
    rows have the same initial value, the memory reads the same values as the block's memory.

    Parameters
    ----------
    block : mapping
        Module without the mutant, in the JSON format of Yosys.

    Returns
    -------
    dict
        Inverted bits of each memory's address port.
    """
    if mutant.mode != "inv":
        return {}
    net = block["cells"][mutant.cell]["connections"][mutant.port][mutant.bit]
    found: dict[Place, set[int]] = {}
    for label, cell in block["cells"].items():
        if cell["type"] != "$mem_v2":
            continue
        parameters = cell["parameters"]
        bits = int(parameters["ABITS"], 2)
        full = int(parameters["SIZE"], 2) == 1 << bits
        if not full or len(set(parameters["INIT"])) > 1:
            continue
        ports = {port: cell["connections"][port] for port in _ADDRESSES}
        for index in range(bits):
            if all({*address[index::bits]} == {net} for address in ports.values()):
                for port, address in ports.items():
                    places = range(index, len(address), bits)
                    found.setdefault((label, port), set()).update(places)
    return found
