"""Text, tables and sections on the terminal, in one style."""

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from .document import Section, Table

__all__ = ["print_section", "shown_table", "terminal", "terminal_table"]


_LEAST_WIDTH = 80


def terminal() -> Console:
    """Console that prints text as it is, without markup and without colours for numbers.

    A terminal that is too narrow for a table wraps the lines of the table and cuts no number.
    """
    console = Console(highlight=False, markup=False)
    if console.width < _LEAST_WIDTH:
        console.width = _LEAST_WIDTH
    return console


def terminal_table(title: str, *columns: str, text_columns: int = 1) -> RichTable:
    """Empty table, to be filled by ``add_row``."""
    return shown_table(title, Table(columns, (), text_columns))


def shown_table(title: str, table: Table, *, gap: int = 2) -> RichTable:
    """Table for the terminal, with ``gap`` spaces between columns, at least 1.

    Only the first column is never wrapped; a cell that is too long for another column is wrapped,
    not cut.
    """
    shown = RichTable(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, gap - 1, 0, 0),
        pad_edge=False,
    )
    for index, (heading, is_text) in enumerate(zip(table.titles, table.is_text, strict=True)):
        shown.add_column(
            heading, justify="left" if is_text else "right", no_wrap=not index, overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*row)
    return shown


def print_section(section: Section) -> None:
    """Print the table of a section, and the exceeded bounds."""
    console = terminal()
    if section.table and section.table.rows:
        console.print(shown_table(section.title, section.table))
    for line in section.broken:
        console.print(f"bound broken: {line}", style="bold red", soft_wrap=True)
