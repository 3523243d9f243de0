"""Bounds of queue levels, which exclude unreachable states in which many mutants differ."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .bits import first_free_bit, new_cell
from .yosys import PROVED, run_yosys

__all__ = ["Bound", "add_bounds", "proved_bounds"]

Bound = tuple[str, int]
"""Name of a register, and its largest value."""
_LEVEL, _STORAGE = "level", "storage"
_RESET = "rst"
_TIMEOUT_S = 30


def _queues(module: Mapping[str, Any]) -> Iterator[Bound]:
    """Yield the level register of each queue, with the number of rows of the queue's memory."""
    for label, cell in module["cells"].items():
        name = label.removesuffix(_STORAGE) + _LEVEL
        if cell["type"] == "$mem_v2" and label.endswith(_STORAGE) and name in module["netnames"]:
            yield name, int(cell["parameters"]["SIZE"], 2)


def add_bounds(module: Mapping[str, Any], bounds: list[Bound], target: dict[str, Any]) -> None:
    """Add the output ``bounded`` to a module: all registers are within their bounds.

    Parameters
    ----------
    module : mapping
        Module with the registers under their names.
    bounds : list
        At least one bound.
    target : dict
        Module that receives the cells and the output; it shares the net numbers of ``module``.
    """
    bit = first_free_bit(target)
    within = []
    for name, most in bounds:
        level = module["netnames"][name]["bits"]
        width = len(level)
        limit = [str(most >> index & 1) for index in range(width)]
        within.append(bit)
        target["cells"][f"$le${name}"] = new_cell("$le", {"A": level, "B": limit}, bit)
        bit += 1
    ones = ["1"] * len(within)
    target["cells"]["$bounded"] = new_cell("$eq", {"A": within, "B": ones}, bit)
    target["ports"]["bounded"] = {"direction": "output", "bits": [bit]}


def proved_bounds(module: Mapping[str, Any], folder: Path) -> list[Bound]:
    """List the bounds that hold from reset on, each proved by induction over one cycle."""
    return [bound for bound in _queues(module) if _holds(module, bound, folder)]


def _holds(module: Mapping[str, Any], bound: Bound, folder: Path) -> bool:
    cells = {label: cell for label, cell in module["cells"].items() if cell["type"] != "$scopeinfo"}
    opened = {"attributes": {}, "ports": dict(module["ports"]), "cells": cells, "netnames": {}}
    for label, cell in module["cells"].items():
        if cell["type"] == "$mem_v2":
            del cells[label]
            bits = cell["connections"]["RD_DATA"]
            opened["ports"][f"{label}:RD_DATA"] = {"direction": "input", "bits": bits}
    add_bounds(module, [bound], opened)
    path = folder / "bounds.json"
    netlist = {"creator": "t3", "modules": {"bounds": opened}}
    path.write_text(json.dumps(netlist), encoding="utf-8")
    prove = f"sat -timeout {_TIMEOUT_S} -seq 2 -prove-skip 1 -prove bounded 1"
    log = run_yosys(
        folder,
        f"""
        read_json {path.name}
        hierarchy -top bounds
        setundef -zero
        opt -noff -full
        opt_clean -purge
        dffunmap
        {prove} -set-at 1 {_RESET} 1 bounds
        {prove} -set-at 1 bounded 1 bounds
        """,
    )
    return log.count(PROVED) == 2
