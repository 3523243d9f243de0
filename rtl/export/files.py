"""Files of an export of the hardware."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rtl.blocks import BLOCKS, TOP
from rtl.link.mesh import MeshLinks
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

from .cells import CELLS, cell_text
from .core_file import core_file
from .guide import guide
from .headers import layout_header, register_header
from .hierarchy import Hierarchies
from .instances import cell_instances
from .manifest import manifest
from .names import KEYWORDS
from .ports import Port, documented_ports, summary
from .register_documents import register_documents
from .reset_style import RESET_STYLES, ResetStyle
from .revision import project_version
from .self_test import self_test, test_command
from .verilog import readable_verilog

__all__ = ["export_files"]

_WAIVERS = Path(__file__).with_name("verilator.vlt")


def export_files(
    p: T3Parameters,
    name: str = "t3",
    report: Callable[[str, float], None] = lambda task, share: None,
    *,
    link: LinkParameters | None = None,
    mesh: Mapping[str, Any] | None = None,
    reset: ResetStyle = "synchronous",
    software: Mapping[str, bytes] = MappingProxyType({}),
) -> dict[str, str]:
    """Export Verilog of the top and of each block, headers, documents, a core file and a manifest.

    Each Verilog file contains the module of the same name, and modules whose names begin with that
    name and two underscores. In addition it needs only the cells, which all files share. Files of
    any number of exports with different names can therefore be compiled together.

    Parameters
    ----------
    name : str
        Name of the top, and prefix of the names of all files and modules.
    report : callable
        Receives the current task and its completed share.
    link : LinkParameters or None
        If given, the top contains its link endpoints.
    mesh : mapping or None
        If given, arguments of :class:`~rtl.link.mesh.MeshLinks`, which is exported beside the top.
    reset : ResetStyle
        Reset style of all registers.
    software : mapping
        Contents of further files by name, such as a driver's sources.

    Returns
    -------
    dict
        Texts by file name; reproducible from the same sources.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`, ``name`` is not a string, or ``link`` is neither a
        :class:`LinkParameters` nor None.
    ValueError
        If ``name`` is not a Verilog identifier or has two underscores in a row, ``reset`` is not a
        reset style, or a block cannot be made with these parameters.
    """
    _check(p, name, reset)
    about = _about(p, link)
    files, modules, cells = {}, {}, []
    hierarchies = Hierarchies(reset)
    chosen = {
        block_name: block
        for block_name, block in BLOCKS.items()
        if block.is_exported and (p.with_data or not block.needs_data)
    }
    for number, (block_name, block) in enumerate(chosen.items()):
        report("Verilog", number / len(chosen))
        component = block.make(p, link)
        module = name if block_name == TOP else f"{name}_{block_name}"
        parts = hierarchies.parts(component, module)
        if block_name == TOP:
            cells = cell_instances(parts)
        files[f"{module}.v"] = readable_verilog(parts, about, reset, holds_inputs=block_name == TOP)
        modules[f"{module}.v"] = (module, summary(component), documented_ports(component))
    if mesh is not None:
        component, module = MeshLinks(p, **mesh), f"{name}_mesh"
        about = f"{about} Ports: {mesh['ports']}, with {_values(mesh['link'])}."
        files[f"{module}.v"] = readable_verilog(hierarchies.parts(component, module), about, reset)
        modules[f"{module}.v"] = (module, summary(component), documented_ports(component))
    verilog = list(files)
    files |= {f"{cell}.v": cell_text(cell) for cell in CELLS}
    top = modules[f"{name}.v"]
    files |= _beside(p, name, about, reset, summary=top[1], ports=top[2], blocks=verilog[1:])
    documents = register_documents() | software
    files |= {file: text.decode() for file, text in documents.items() if "/" not in file}
    files["manifest.json"] = manifest(p, files, modules, cells, link, reset)
    return files


def _beside(
    p: T3Parameters,
    name: str,
    about: str,
    reset: ResetStyle,
    *,
    summary: str,
    ports: list[Port],
    blocks: list[str],
) -> dict[str, str]:
    """Make the files other than Verilog: headers, waivers, core file, bench and guide."""
    cells, capitals = [f"{cell}.v" for cell in CELLS], name.upper()
    headers = {
        f"{name}_registers.vh": register_header(capitals),
        f"{name}_layouts.vh": layout_header(capitals, ports),
    }
    core = core_file(
        name,
        project_version(),
        summary,
        headers=list(headers),
        blocks=blocks,
        cells=cells,
        waivers=f"{name}.vlt",
    )
    bench = self_test(
        name, about, ports, contexts=p.contexts, has_reset=reset != "none", cells=cells
    )
    page = guide(
        name, p, reset, version=project_version(), command=test_command(name, cells), cells=cells
    )
    waivers = _WAIVERS.read_text(encoding="utf-8")
    return headers | {
        f"{name}.vlt": waivers,
        f"{name}.core": core,
        f"{name}_test.sv": bench,
        "README.md": page,
    }


def _check(p: T3Parameters, name: str, reset: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"Name must be a string, not {name!r}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name) or name in KEYWORDS:
        raise ValueError(
            "Name must be a Verilog identifier of letters, digits and single underscores, "
            f"not {name!r}"
        )
    if not isinstance(p, T3Parameters):
        raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
    if reset not in RESET_STYLES:
        raise ValueError(f"Reset must be one of {', '.join(RESET_STYLES)}, not {reset!r}")


def _about(p: T3Parameters, link: LinkParameters | None) -> str:
    values = _values(p) if link is None else f"{_values(p)}; of its links: {_values(link)}"
    return (
        f"Made from Amaranth by t3 export, version {project_version()}: change the source instead. "
        f"SPDX-License-Identifier: Apache-2.0. Parameters: {values}."
    )


def _values(parameters: T3Parameters | LinkParameters) -> str:
    names = (field.name for field in fields(parameters))
    return ", ".join(f"{name} {getattr(parameters, name)}" for name in names)
