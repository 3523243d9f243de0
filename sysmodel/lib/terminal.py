"""Tables on the terminal, in one style."""

from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["terminal", "terminal_table"]


_LEAST_WIDTH = 80


def terminal() -> Console:
    """Prints text as it is, numbers without colours of their own.

    A terminal that is too narrow for tables wraps their lines, so that no number is cut.
    """
    console = Console(highlight=False)
    if console.width < _LEAST_WIDTH:
        console.width = _LEAST_WIDTH
    return console


def terminal_table(title: str, *columns: str, text_columns: int = 1) -> Table:
    """An empty table, of whose columns the first are text and the others numbers.

    The first column is not wrapped, and what is too long for the others is wrapped, not cut.
    """
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for index, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if index < text_columns else "right"
        table.add_column(column, justify=justify, no_wrap=not index, overflow="fold")
    return table
