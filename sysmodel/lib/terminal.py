"""Tables on the terminal, in one style."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["terminal", "terminal_table"]


def terminal() -> Console:
    """Prints text as it is, numbers without colours of their own."""
    return Console(highlight=False)


def terminal_table(title: str, columns: Sequence[str], text_columns: int = 1) -> Table:
    """An empty table, of whose columns the first are text and the others numbers."""
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
        table.add_column(column, justify="left" if index < text_columns else "right")
    return table
