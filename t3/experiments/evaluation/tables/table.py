"""A table that goes into a page or into a file."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sysmodel.lib.markdown import MISSING, table

__all__ = ["Table", "csv_text"]

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Table:
    """Headings and cells, as a page shows them.

    Parameters
    ----------
    headings : sequence of str
        Of texts after the first columns with a colon at the end.
    rows : sequence of sequence of str
        Numbers with commas between thousands.
    text_columns : int
        The first so many columns are texts.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1

    @property
    def markdown(self) -> str:
        return table(self.headings, self.rows, self.text_columns)


def csv_text(tables: Iterable[Table]) -> str:
    """Tables of equal headings as one text of comma-separated values.

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
    writer.writerow(heading.removesuffix(":") for heading in first.headings)
    for one in (first, *others):
        writer.writerows(map(_plain, row) for row in one.rows)
    return text.getvalue()


def _plain(cell: str) -> str:
    """A cell without markup; numbers as a program reads them, and nothing for a missing one."""
    if cell == MISSING:
        return ""
    text = cell.strip("`").replace("\N{MINUS SIGN}", "-")
    number = text.replace(",", "")
    return number if _NUMBER.fullmatch(number) else text
