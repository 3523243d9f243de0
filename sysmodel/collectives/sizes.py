"""Sizes of an all-to-all-v from a file of comma-separated values."""

from pathlib import Path

from sysmodel.lib.errors import InputError, short
from sysmodel.lib.text import read_text

__all__ = ["read_sizes"]


def read_sizes(file: Path) -> list[list[int]]:
    """Read as many rows as columns: the bytes that each rank sends, one rank a row.

    Lines that begin with ``#`` are comments.

    Raises
    ------
    InputError
        The file cannot be read, or a line is not such a row; the message has the line's number.
    """
    lines = enumerate(read_text(file).splitlines(), 1)
    given = [(n, line) for n, line in lines if line.strip() and not line.lstrip().startswith("#")]
    if len(given) < 2:
        raise InputError(str(file), f"{len(given)} rows are not allowed; allowed: 2 or more")
    return [_row(line, len(given), f"{file}, line {number}") for number, line in given]


def _row(line: str, ranks: int, where: str) -> list[int]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != ranks:
        problem = f"{len(cells)} numbers are not allowed; allowed: {ranks}, as many as rows"
        raise InputError(where, problem)
    for cell in cells:
        if not (cell.isascii() and cell.isdigit()):
            raise InputError(where, f"{short(cell)} is not allowed; allowed: whole bytes")
    return [int(cell) for cell in cells]
