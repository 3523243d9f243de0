"""Clock-gated blocks of the elaborated hardware: their kinds and their flip-flops.

The flip-flops of a block are clocked in the cycles in which its clock enable is high
(:mod:`rtl.lib.gating`), so counting these cycles counts clocked flip-flops.
"""

import gc
import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from amaranth.hdl import Fragment, MemoryInstance, Module, Shape, UnusedElaboratable
from amaranth.lib import wiring

import rtl
from rtl.lib.gating import gated_block
from rtl.lib.memories import MEMORY_ROWS
from rtl.parameters import T3Parameters
from sysmodel.lib.cache import cache_folder, digest
from sysmodel.lib.progress import Report, no_progress

__all__ = ["GatedBlock", "flip_flops_of_kinds", "gated_blocks_within"]


@dataclass(frozen=True)
class GatedBlock:
    """Clock-gated block.

    Attributes
    ----------
    kind : str
        Path of modules to the block, without numbers: blocks of the same kind are identical.
    flip_flops : int
        Flip-flops behind its clock gate, without those in SRAM macros.
    """

    kind: str
    flip_flops: int


def _flip_flops_here(fragment: Fragment) -> int:
    if isinstance(fragment, MemoryInstance):
        depth, width = fragment._data.depth, Shape.cast(fragment._data.shape).width
        if depth >= MEMORY_ROWS:
            return 0
        clocked = [port for port in fragment._read_ports if port._domain != "comb"]
        return (depth + len(clocked)) * width
    count = 0
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            count += sum(map(len, statements._lhs_signals()))
    return count


def gated_blocks_within(fragment: Fragment) -> Iterator[tuple[wiring.Component, GatedBlock]]:
    """Find the clock-gated blocks of an elaborated component."""

    def flip_flops(part: Fragment) -> int:
        inside = (one for one, *_ in part.subfragments if gated_block(one) is None)
        return _flip_flops_here(part) + sum(map(flip_flops, inside))

    def visit(part: Fragment, path: tuple[str, ...]):
        component = gated_block(part)
        if component is not None:
            yield component, GatedBlock(".".join(path), flip_flops(part))
        for inner, name, *_ in part.subfragments:
            yield from visit(inner, (*path, _kind(name)))

    return visit(fragment, ())


def _kind(name: str | None) -> str:
    """Name of a submodule without its number."""
    return re.sub(r"_\d+$", "", name or "")


def _with_one_of_a_kind(module: Module) -> Module:
    """Remove all submodules but the first one of each kind."""
    kinds = set[str]()
    for name in list(module._named_submodules):
        if _kind(name) in kinds:
            del module._named_submodules[name]
        kinds.add(_kind(name))
    return module


def _elaborated(parameters: T3Parameters) -> dict[str, int]:
    from rtl.top import T3  # not before it is needed: elaboration brings all of the RTL

    with warnings.catch_warnings():
        # Channels are alike, and each of them takes a second: only the first one is elaborated.
        warnings.simplefilter("ignore", UnusedElaboratable)
        fragment = Fragment.get(_with_one_of_a_kind(T3(parameters).elaborate(None)), None)
        found = {block.kind: block.flip_flops for _, block in gated_blocks_within(fragment)}
        del fragment
        gc.collect()
    return found


def flip_flops_of_kinds(parameters: T3Parameters, progress: Report = no_progress) -> dict[str, int]:
    """Count the flip-flops of a clock-gated block of each kind, in the T3 hardware. The counts are
    cached."""
    sources = [path for kind in ("*.py", "*.rdl") for path in Path(rtl.__file__).parent.rglob(kind)]
    key = digest([*sources, Path(__file__)], repr(parameters), version("amaranth"))
    folder = cache_folder() / "gated-blocks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.json"
    if not path.exists():
        progress(f"Counting the flip-flops of {parameters.channels} channels, once", 0.0)
        content = json.dumps(_elaborated(parameters))
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
    counts: dict[str, int] = json.loads(path.read_text())
    return counts
