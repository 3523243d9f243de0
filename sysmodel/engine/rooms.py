"""The hardware's rooms as they are elaborated: what kinds there are, and their flip-flops.

A room's clock stops while the room sleeps (:mod:`rtl.lib.sleep`). Its flip-flops are then not
clocked, so the cycles in which rooms are awake tell how often flip-flops are.
"""

import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from amaranth.hdl import Elaboratable, Fragment, MemoryInstance, Shape
from amaranth.lib import wiring

import rtl
from rtl.lib.memories import MEMORY_ROWS
from rtl.parameters import T3Parameters
from sysmodel.lib.cache import cache_folder, digest

__all__ = ["Room", "rooms_of", "rooms_within"]


@dataclass(frozen=True)
class Room:
    """A room.

    Attributes
    ----------
    kind : str
        The path of modules to it, without numbers: rooms of the same kind are alike.
    flip_flops : int
        Those that its clock reaches, but for what is in SRAM macros.
    """

    kind: str
    flip_flops: int


class _Collector:
    """A platform on which rooms keep the clock."""

    def __init__(self) -> None:
        self.components: list[wiring.Component] = []

    def stop_clock(self, component: wiring.Component) -> Elaboratable:
        self.components.append(component)
        return component


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


def rooms_within(
    fragment: Fragment, components: Collection[wiring.Component]
) -> Iterator[tuple[wiring.Component, Room]]:
    """Rooms of an elaborated component, those that are ``components``."""
    known = {id(one): one for one in components}

    def room_at(part: Fragment) -> wiring.Component | None:
        return next((known[id(one)] for one in part.origins or () if id(one) in known), None)

    def flip_flops(part: Fragment) -> int:
        inside = (one for one, *_ in part.subfragments if room_at(one) is None)
        return _flip_flops_here(part) + sum(map(flip_flops, inside))

    def visit(part: Fragment, path: tuple[str, ...]):
        component = room_at(part)
        if component is not None:
            yield component, Room(".".join(path), flip_flops(part))
        for inner, name, *_ in part.subfragments:
            yield from visit(inner, (*path, re.sub(r"_\d+$", "", name or "")))

    return visit(fragment, ())


def _elaborated(parameters: T3Parameters) -> list[Room]:
    from rtl.top import T3  # not before it is needed: elaboration brings all of the RTL

    platform = _Collector()
    fragment = Fragment.get(T3(parameters), platform)
    return [room for _, room in rooms_within(fragment, platform.components)]


def rooms_of(parameters: T3Parameters) -> list[Room]:
    """Rooms of the T3 hardware, found again if it was elaborated before."""
    sources = [path for kind in ("*.py", "*.rdl") for path in Path(rtl.__file__).parent.rglob(kind)]
    key = digest([*sources, Path(__file__)], repr(parameters), version("amaranth"))
    folder = cache_folder() / "rooms"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.json"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            json.dump([asdict(room) for room in _elaborated(parameters)], file)
        os.replace(file.name, path)
    return [Room(**room) for room in json.loads(path.read_text())]
