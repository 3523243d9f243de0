"""Markdown of generated pages: sections, tables, numbers, and the length of lines."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

from .document import MISSING, Section, Table, anchor

__all__ = ["filled", "listed", "page", "sections_text", "signed", "table", "with_unit"]

_LINE = 120  # characters
_VERBATIM = ("|", "#", "<", "!", "    ")  # tables, headings, HTML, pictures, code
# Words that would begin a list, a heading, a comment or another block, in some dialect.
_STARTS = re.compile(
    r" (?=[%#>|<]|:::|\+\+\+|\$\$|```|~~~|\(\S*\)=|\[[^\]]+\]:|(?:[-+*=_]+|\d+[.)])(?: |$))"
)


def page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """Page in Markdown; the files of its figures are in the same folder."""
    return filled(f"# {title}\n\n{introduction}\n\n{sections_text(sections)}")


def sections_text(sections: Sequence[Section]) -> str:
    """Sections in Markdown, without a page around them."""
    return "\n".join(f"{_section(one)}\n" for one in sections)


def _section(section: Section) -> str:
    parts = [f"## {section.title}"] if section.title else []
    parts += [section.text.strip()] if section.text else []
    if section.broken:
        parts.append("\n".join(f"- **Bound broken**: {line}" for line in section.broken))
    if section.table and section.table.rows:
        shown = section.table
        parts.append(table(shown.headings, shown.rows, shown.text_columns).strip())
    if section.figure:
        parts.append(f"![{section.figure.title}]({section.figure.file})")
    if section.chart is not None:
        parts.append(f"![{section.title}]({anchor(section.title)})")
    return "\n\n".join(parts)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Table in Markdown, ending in a newline; its arguments are those of :class:`Table`."""
    one = Table(headings, [*rows], text_columns)
    lines = [
        _line(one.titles),
        _line(":--" if is_text else "--:" for is_text in one.is_text),
        *map(_line, one.rows),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def listed(items: Iterable[str]) -> str:
    """Bulleted list in Markdown."""
    return "\n".join(f"- {item}" for item in items)


def filled(text: str) -> str:
    """Text with its paragraphs and list items in lines of 120 characters at most."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
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


def with_unit(value: float, unit: str) -> str:
    """Measured number with its unit: a ratio to three digits, a percentage to one."""
    if math.isnan(value):
        return MISSING
    return f"{value:.3f}x" if unit == "x" else _minus(f"{value:.1f} %")


def signed(value: float, unit: str = "") -> str:
    """Difference with its sign, to one digit."""
    if math.isnan(value):
        return MISSING
    text = f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"
    return _minus(f"{text} {unit}".rstrip())


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
