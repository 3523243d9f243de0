"""Clock-gated blocks of the elaborated hardware: their kinds and their flip-flops.

The flip-flops of a block are clocked in the cycles in which its clock enable is high
(:mod:`rtl.lib.gating`), so counting these cycles counts clocked flip-flops.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from amaranth.hdl import Fragment, MemoryInstance, Shape
from amaranth.lib import wiring

import rtl
from rtl.lib.gating import gated_block
from rtl.lib.memories import MEMORY_ROWS
from rtl.parameters import T3Parameters
from sysmodel.lib.cache import cache_folder, digest
from sysmodel.lib.progress import Report, no_progress

__all__ = ["GatedBlock", "gated_blocks_of", "gated_blocks_within"]


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
            yield from visit(inner, (*path, re.sub(r"_\d+$", "", name or "")))

    return visit(fragment, ())


def _elaborated(parameters: T3Parameters) -> list[GatedBlock]:
    from rtl.top import T3  # not before it is needed: elaboration brings all of the RTL

    fragment = Fragment.get(T3(parameters), None)
    return [block for _, block in gated_blocks_within(fragment)]


def gated_blocks_of(parameters: T3Parameters, progress: Report = no_progress) -> list[GatedBlock]:
    """List the clock-gated blocks of the T3 hardware; the list is cached."""
    sources = [path for kind in ("*.py", "*.rdl") for path in Path(rtl.__file__).parent.rglob(kind)]
    key = digest([*sources, Path(__file__)], repr(parameters), version("amaranth"))
    folder = cache_folder() / "gated-blocks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.json"
    if not path.exists():
        progress(f"Counting the flip-flops of {parameters.channels} channels, once", 0.0)
        content = json.dumps([asdict(block) for block in _elaborated(parameters)])
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
    return [GatedBlock(**block) for block in json.loads(path.read_text())]
