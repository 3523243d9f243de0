"""Markdown of the pages that are made: tables, numbers in them, and the length of lines."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

__all__ = ["MISSING", "filled", "signed", "table", "with_unit"]

MISSING = "–"
_LINE = 120  # characters
_VERBATIM = ("|", "#", "<", "!", "    ")  # tables, headings, HTML, pictures, code
_STARTS = re.compile(r" (?=(?:[-+*>#=]+|\d+[.)]) )")  # what would begin a list or a heading


def filled(page: str) -> str:
    """``page`` with its paragraphs and list items in lines of 120 characters at most."""
    lines: list[str] = []
    fenced = False
    for line in page.split("\n"):
        fence = line.startswith("```")
        if fenced or fence or len(line) <= _LINE or line.startswith(_VERBATIM):
            lines.append(line)
        else:
            lines += _filled(line)
        fenced ^= fence
    return "\n".join(lines)


def _filled(line: str) -> list[str]:
    indent = "  " if line.startswith("- ") else ""
    broken = textwrap.wrap(
        line[: len(indent)] + _STARTS.sub("\0", line[len(indent) :]),
        _LINE,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [one.replace("\0", " ") for one in broken]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """A table whose first ``text_columns`` columns, and those whose heading ends in a colon (it is
    not shown), are set left and the others right."""
    left = [i < text_columns or name.endswith(":") for i, name in enumerate(headings)]
    lines = [
        _line(name.removesuffix(":") for name in headings),
        _line(":--" if one else "--:" for one in left),
        *map(_line, rows),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_unit(value: float, unit: str) -> str:
    """A measured number with its unit: ratios to three digits, percent to one."""
    if math.isnan(value):
        return MISSING
    return f"{value:.3f}x" if unit == "x" else _minus(f"{value:.1f} %")


def signed(value: float, unit: str = "") -> str:
    """A difference with its sign, to one digit."""
    if math.isnan(value):
        return MISSING
    text = f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"
    return _minus(f"{text} {unit}".rstrip())


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
