"""Coverage points in Verilator's format."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LINE", "TOGGLE", "Point", "read_points"]

LINE, TOGGLE = "line", "toggle"
_KINDS = {"v_line": LINE, "v_branch": LINE, "v_toggle": TOGGLE}
_POINT = re.compile(r"^C '(.*)' (\d+)$")
_CODED = re.compile(r"__0([0-9A-Fa-f]{2})")  # a character that is not allowed in C++ names
# This constant only makes simulators evaluate processes at the start.
_FOR_SIMULATORS = "$auto$verilog_backend"
_BIT = re.compile(r"(\[[\d:]+\])*(:[01]->[01])?$")


@dataclass(frozen=True)
class Point:
    """Coverage point: a line, a branch, or one direction of a bit's toggle.

    Attributes
    ----------
    kind : str
        ``LINE`` or ``TOGGLE``.
    module : str
        Path of the instance.
    name : str
        Line number, with the branch if it is one; or the bit with the direction of its change.
    """

    kind: str
    module: str
    name: str

    @property
    def group(self) -> str:
        """Name the module with the signal (toggles) or with the line (lines and branches)."""
        return f"{self.module}.{_BIT.sub('', self.name)}"


def read_points(path: Path, verilog: str) -> Counter[Point]:
    """Read the hits of all points.

    Parameters
    ----------
    path : Path
        Verilator's coverage.dat.
    verilog : str
        The compiled text. Lines that exist only for simulators do not count.
    """
    hits: Counter[Point] = Counter()
    lines = verilog.splitlines()
    for line in path.read_text(encoding="latin-1").splitlines():
        if match := _POINT.match(line):
            fields = dict(part.split("\x02", 1) for part in match[1].split("\x01") if part)
            kind = _KINDS.get(fields["page"].partition("/")[0])
            if kind is None or _FOR_SIMULATORS in lines[int(fields["l"]) - 1]:
                continue
            comment = fields.get("o", "")
            name = comment if kind == TOGGLE else f"{fields['l']} {comment}".strip()
            module, name = (
                _CODED.sub(lambda code: chr(int(code[1], 16)), text)
                for text in (fields.get("h", ""), name)
            )
            hits[Point(kind, module, name)] += int(match[2])
    return hits
