"""Tables in Markdown, and numbers in them."""

import math
from collections.abc import Iterable, Sequence

__all__ = ["MISSING", "signed", "table", "with_unit"]

MISSING = "–"


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
