"""Where each value of a system comes from, and which are not public."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .memory import standard_path
from .schema import read_toml
from .system import is_delay, located

__all__ = ["Parameter", "assumptions", "parameters"]

_SECTION = re.compile(r"(\[\[?)([\w.]+)\]")
_VALUE = re.compile(r"([\w.]+)\s*=\s*[^#]*?\s*(?:#\s*(.*))?")
_ENTRY = re.compile(r"(.+?)\.\d+\.")
_ASSUMED = re.compile(r"\bassumption\b|\[R\]|\[recalled\]")


@dataclass(frozen=True)
class Parameter:
    """A value of a system.

    Parameters
    ----------
    key : str
        Its dotted path; entries of an array are numbered.
    value : str
        In TOML.
    file : str
        Preset, memory standard or file that gives it.
    source : str
        Its comment: where the value comes from.
    """

    key: str
    value: str
    file: str
    source: str

    @property
    def assumed(self) -> bool:
        """Whether the value is chosen or recalled rather than published."""
        return bool(_ASSUMED.search(self.source))


def parameters(source: str) -> list[Parameter]:
    """Every value of a system with its comment, in the order in which files give them first.

    Parameters
    ----------
    source : str
        A preset's name or a file, as of :func:`~sysmodel.config.system.load_system`, which is taken
        to be sound. What a file gives is in place of its memory's standard, and that of its base.
    """
    found: dict[str, Parameter] = {}
    for own in _layers(source, Path()):
        arrays = {match[1] for one in own if (match := _ENTRY.match(one.key))}
        for key in list(found):
            if (entry := _ENTRY.match(key)) and entry[1] in arrays:
                del found[key]  # an array is given anew as a whole
        found.update({one.key: one for one in own})
    return list(found.values())


def _layers(source: str, beside: Path) -> Iterator[list[Parameter]]:
    path, where = located(source, beside)
    file = read_toml(path)
    if "base" in file:
        yield from _layers(file["base"], path.parent)
    if standard := file.get("dram", {}).get("standard"):
        yield from _of_standard(standard)
    yield _own(path, where)


def _of_standard(name: str) -> Iterator[list[Parameter]]:
    path = standard_path(name)
    if base := read_toml(path).get("base"):
        yield from _of_standard(base)
    yield _own(path, path.name)


def _own(path: Path, where: str) -> list[Parameter]:
    """What a file itself gives."""
    comments = _comments(path)
    return [
        Parameter(key, _toml(value), where, comments.get(key, ""))
        for key, value in _flat(read_toml(path))
        if "." in key
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values by their dotted path; entries of an array of tables are numbered, a delay is one."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and not is_delay(value):
            yield from _flat(value, f"{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            for index, one in enumerate(value):
                yield from _flat(one, f"{key}.{index}.")
        else:
            yield key, value


def _toml(value: Any) -> str:
    """A value as a TOML file has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def _comments(path: Path) -> dict[str, str]:
    """What stands behind values, by their dotted path."""
    found = {}
    section = ""
    entries: Counter[str] = Counter()  # of an array of tables
    for line in path.read_text(encoding="utf-8").splitlines():
        if header := _SECTION.match(line):
            section = header[2] + "."
            if header[1] == "[[":
                section += f"{entries[header[2]]}."
                entries[header[2]] += 1
        elif value := _VALUE.fullmatch(line):
            found[section + value[1]] = value[2] or ""
    return found


def assumptions(source: str) -> list[Parameter]:
    """The parameters that are assumed or recalled."""
    return [one for one in parameters(source) if one.assumed]
