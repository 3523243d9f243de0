"""Pages as data for every renderer: sections, each with a text, a table and a figure."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure as Chart

__all__ = ["MISSING", "Figure", "Section", "Table", "anchor", "csv_text", "table_of"]

MISSING = "–"
"""Cell of a value that was not measured."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Table:
    """Headings and cells.

    Parameters
    ----------
    headings : sequence of str
        Titles of the columns. A colon at the end, which no renderer shows, marks a column of text.
    rows : sequence of sequence of str
        Cells, with commas between the thousands of a number.
    text_columns : int
        Number of columns, from the left, that are text even without a colon.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1

    @property
    def titles(self) -> list[str]:
        """Headings without their colons."""
        return [heading.removesuffix(":") for heading in self.headings]

    @property
    def is_text(self) -> list[bool]:
        """Flag of each column that holds text and is aligned left; numbers are aligned right."""
        return [
            index < self.text_columns or heading.endswith(":")
            for index, heading in enumerate(self.headings)
        ]


@dataclass(frozen=True)
class Figure:
    """Picture of a section.

    Parameters
    ----------
    file : str
        File name.
    title : str
        Caption, which is also the text for readers who cannot see the picture.
    draw : callable
        Draws the picture into a file; the path of the file is the last argument.
    """

    file: str
    title: str
    draw: Callable[..., None]


@dataclass(frozen=True)
class Section:
    """Part of a page.

    Parameters
    ----------
    title : str
        Heading; none if empty.
    text : str
        Markdown before the table.
    figure : Figure or None
        Picture after the table.
    chart : plotly Figure or None
        Chart after the table, which readers can zoom; HTML only.
    broken : tuple of str
        Exceeded bounds, a line for each.
    """

    title: str
    text: str = ""
    table: Table | None = None
    figure: Figure | None = None
    chart: "Chart | None" = None
    broken: tuple[str, ...] = ()


def anchor(heading: str) -> str:
    """Name by which links lead to a heading."""
    return "-".join(re.findall(r"\w+", heading.lower()))


def table_of(frame: "pd.DataFrame") -> Table:
    """Table of a data frame and its index, with the numbers in pandas' format."""
    columns = frame.reset_index()
    levels = frame.index.nlevels
    cells = [
        [
            line.strip()
            for line in columns.iloc[:, i].to_string(index=False, header=False).split("\n")
        ]
        for i in range(columns.shape[1])
    ]
    headings = [str(name) for name in columns.columns]
    return Table(headings, list(zip(*cells, strict=True)), text_columns=levels)


def csv_text(tables: Iterable[Table]) -> str:
    """Write tables with equal headings as one text of comma-separated values.

    Raises
    ------
    ValueError
        The headings differ.
    """
    first, *others = tables
    if any(list(one.headings) != list(first.headings) for one in others):
        raise ValueError("Tables of one file must have equal headings")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(first.titles)
    for one in (first, *others):
        writer.writerows(map(_plain, row) for row in one.rows)
    return text.getvalue()


def _plain(cell: str) -> str:
    """Cell without markup: a number as programs read it, nothing for a missing value."""
    if cell == MISSING:
        return ""
    text = cell.strip("`").replace("\N{MINUS SIGN}", "-")
    number = text.replace(",", "")
    return number if _NUMBER.fullmatch(number) else text
