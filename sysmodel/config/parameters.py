"""Parameters of a preset that are not public, with the reason that the preset gives."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .memory import standard_path
from .schema import read_toml
from .system import preset_path

__all__ = ["Parameter", "assumptions", "parameters"]

_SECTION = re.compile(r"(\[\[?)([\w.]+)\]")
_VALUE = re.compile(r"(\w+)\s*=\s*([^#]*?)\s*(?:#\s*(.*))?")
_ASSUMED = re.compile(r"\bassumption\b|\[R\]|\[recalled\]")


@dataclass(frozen=True)
class Parameter:
    """A line of a preset.

    Parameters
    ----------
    key : str
        Its dotted path; entries of an array are numbered.
    value : str
        As the file has it.
    source : str
        Its comment: where the value comes from.
    """

    key: str
    value: str
    source: str

    @property
    def assumed(self) -> bool:
        """Whether the value is chosen or recalled rather than published."""
        return bool(_ASSUMED.search(self.source))


def parameters(path: Path) -> list[Parameter]:
    """Every value of a system's TOML file with its comment, after those of its base and of its
    memory's standard, which it may change."""
    file = read_toml(path)
    base, standard = file.get("base"), file.get("dram", {}).get("standard")
    found = [] if base is None else parameters(preset_path(base))
    found += [] if standard is None else _of_standard(standard)
    return list({one.key: one for one in (*found, *_lines(path))}.values())


def _of_standard(name: str) -> list[Parameter]:
    path = standard_path(name)
    base = read_toml(path).get("base")
    return [*([] if base is None else _of_standard(base)), *_lines(path)]


def _lines(path: Path) -> list[Parameter]:
    found = []
    section = ""
    entries: Counter[str] = Counter()  # of an array of tables
    for line in path.read_text(encoding="utf-8").splitlines():
        if header := _SECTION.match(line):
            section = header[2] + "."
            if header[1] == "[[":
                section += f"{entries[header[2]]}."
                entries[header[2]] += 1
        elif section and (value := _VALUE.fullmatch(line)):
            found.append(Parameter(section + value[1], value[2], value[3] or ""))
    return found


def assumptions(path: Path) -> list[Parameter]:
    """The parameters that are assumed or recalled."""
    return [one for one in parameters(path) if one.assumed]
