"""A page of sections: text, a table, a figure; as Markdown and on the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sysmodel.lib.markdown import filled, table
from sysmodel.lib.terminal import terminal, terminal_table

__all__ = ["Picture", "Section", "page", "print_section"]


@dataclass(frozen=True)
class Picture:
    """A figure of a section.

    Parameters
    ----------
    file : str
        Its file name.
    title : str
        What it shows; also its text for those who cannot see it.
    draw : callable
        Draws it, given where the file goes.
    """

    file: str
    title: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Section:
    """What one comparison gave.

    Parameters
    ----------
    title : str
        Heading.
    text : str
        Markdown before the table: what is compared, how, and which bound holds.
    headings : tuple of str
        Of the table's columns.
    rows : tuple of tuples of str
        The table; empty for none.
    text_columns : int
        How many columns, from the left, are text.
    broken : tuple of str
        The bounds that do not hold, a line each.
    picture : Picture or None
        Shown after the table.
    """

    title: str
    text: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text_columns: int = 1
    broken: tuple[str, ...] = ()
    picture: Picture | None = None


def page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """The sections in Markdown; figures are looked for beside the page."""
    parts = [f"# {title}\n\n{introduction}\n"]
    for one in sections:
        parts.append(f"\n## {one.title}\n\n{one.text}\n")
        if one.broken:
            parts.append("\n" + "".join(f"- **Bound broken**: {line}\n" for line in one.broken))
        if one.rows:
            parts.append("\n" + table(one.headings, one.rows, one.text_columns))
        if one.picture:
            parts.append(f"\n![{one.picture.title}]({one.picture.file})\n")
    return filled("".join(parts))


def print_section(section: Section) -> None:
    """Print a section's table and the bounds that it breaks."""
    console = terminal()
    shown = terminal_table(section.title, *section.headings, text_columns=section.text_columns)
    for row in section.rows:
        shown.add_row(*row)
    if section.rows:
        console.print(shown)
    for line in section.broken:
        console.print(f"bound broken: {line}", style="bold red", soft_wrap=True, markup=False)
