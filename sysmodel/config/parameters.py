"""Origin of each value of a system: its file, its source, and whether it is an assumption."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import Item

from sysmodel.lib.text import read_text

from .bundled import MEMORIES, PRESETS
from .schema import read_toml
from .system import is_delay

__all__ = ["Parameter", "assumptions", "files_of", "parameters"]

_ENTRY = re.compile(r"(.+?)\.\d+\.")
_ASSUMED = re.compile(r"\bassumption\b|\[R\]|\[recalled\]")


@dataclass(frozen=True)
class Parameter:
    """A value of a system.

    Parameters
    ----------
    key : str
        Dotted path of the value; entries of an array are numbered.
    value : str
        The value in TOML.
    file : str
        Preset, memory standard or file that gives the value.
    source : str
        Comment behind the value: the source of the value.
    """

    key: str
    value: str
    file: str
    source: str

    @property
    def assumed(self) -> bool:
        """True if the value is chosen or recalled rather than published."""
        return bool(_ASSUMED.search(self.source))


def parameters(source: str) -> list[Parameter]:
    """Every value of a system with its comment, in the order in which the files first give them.

    Parameters
    ----------
    source : str
        Name of a preset, or a file, as for :func:`~sysmodel.config.system.load_system`. The system
        must be sound. A value of a file replaces the values of its base and of its memory standard.
    """
    found: dict[str, Parameter] = {}
    for own in _layers(source, Path()):
        arrays = {match[1] for one in own if (match := _ENTRY.match(one.key))}
        for key in list(found):
            if (entry := _ENTRY.match(key)) and entry[1] in arrays:
                del found[key]  # a file replaces an array as a whole
        found.update({one.key: one for one in own})
    return list(found.values())


def files_of(source: str, beside: Path = Path()) -> list[Path]:
    """List the file of a system, its base, the base's base, and so on. The system must be sound."""
    path = PRESETS.locate(source, "system", beside).path
    base = read_toml(path).get("base")
    return [path, *(files_of(base, path.parent) if base else ())]


def _layers(source: str, beside: Path) -> Iterator[list[Parameter]]:
    path, where, _ = PRESETS.locate(source, "system", beside)
    file = read_toml(path)
    if "base" in file:
        yield from _layers(file["base"], path.parent)
    if standard := file.get("dram", {}).get("standard"):
        yield from _standard_layers(standard)
    yield _own(path, where)


def _standard_layers(name: str) -> Iterator[list[Parameter]]:
    path = MEMORIES.path(name, "dram.standard")
    if base := read_toml(path).get("base"):
        yield from _standard_layers(base)
    yield _own(path, path.name)


def _own(path: Path, where: str) -> list[Parameter]:
    """List the values that one file gives."""
    document = tomlkit.parse(read_text(path))
    return [
        Parameter(key, _toml(item.unwrap()), where, item.trivia.comment.lstrip("# "))
        for key, item in _items(document, "", Counter())
        if "." in key or key == "topology"
    ]


def _items(table: Container, prefix: str, entries: Counter[str]) -> Iterator[tuple[str, Item]]:
    """Yield the values of a table by dotted path. A delay is one value.

    ``entries`` counts the entries of each array of tables, which other tables may interrupt.
    """
    for key, item in table.body:
        path = f"{prefix}{key.key}" if key else ""
        if isinstance(item, dict) and not is_delay(item):
            yield from _items(item.value, f"{path}.", entries)
        elif isinstance(item, list) and item and all(isinstance(one, dict) for one in item):
            for entry in item:
                yield from _items(entry.value, f"{path}.{entries[path]}.", entries)
                entries[path] += 1
        else:
            yield path, item


def _toml(value: Any) -> str:
    """Write a value in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def assumptions(source: str) -> list[Parameter]:
    """List the parameters that are assumed or recalled."""
    return [one for one in parameters(source) if one.assumed]
