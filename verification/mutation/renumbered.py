"""Mutants that number a memory's rows anew."""

from collections.abc import Mapping
from typing import Any

from .bits import Place
from .netlist import Mutant

__all__ = ["renumbered_rows"]

_ADDRESSES = ("RD_ADDR", "WR_ADDR")


def renumbered_rows(block: Mapping[str, Any], mutant: Mutant) -> dict[Place, set[int]]:
    """Address bits that a mutant inverts alike wherever a memory is read or written.

    Each row of such a memory is in another place, and found there: as long as each place has a row,
    and all rows are the same at first, the memory gives what the block's gives.

    Parameters
    ----------
    block : mapping
        The module without the mutant, in Yosys' JSON format.
    mutant : Mutant

    Returns
    -------
    dict
        For each memory and port with addresses, which of its bits are inverted.
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
