"""Measurements as a table of comma-separated values."""

import csv
import io

from sysmodel.lib.errors import InputError, short

from .measurement import COLLECTIVES, STREAMS, Kind, Measurement

__all__ = ["COLUMNS", "TABLE_KINDS", "is_table", "read_table"]

TABLE_KINDS: tuple[Kind, ...] = (*COLLECTIVES, "gemm", *STREAMS)
COLUMNS = ("kind", "gpus", "bytes", "m", "n", "k", "time_us", "gb_per_s")
_NEEDED: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys(COLLECTIVES, ("gpus", "bytes", "time_us")),
    "gemm": ("m", "n", "k", "time_us"),
    **dict.fromkeys(STREAMS, ("gb_per_s",)),
}
_SMALLEST, _LARGEST = 1e-6, 1e15


def is_table(text: str) -> bool:
    """Test whether the first line of a text, but for comments, is the head of such a table."""
    head = next((line for line in text.splitlines() if _has_content(line)), "")
    return "kind" in _cells(head)


def read_table(text: str, where: str) -> list[Measurement]:
    """Read a table whose head names columns of ``COLUMNS``, in any order.

    Lines that begin with ``#`` are comments.

    Parameters
    ----------
    where : str
        Name of the file in messages.

    Raises
    ------
    InputError
        A column, a kind or a value is not known; the message has the line's number.
    """
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if _has_content(line)]
    (first, head), *rows = lines
    columns = _cells(head)
    for name in columns:
        if name not in COLUMNS or columns.count(name) > 1:
            raise InputError(
                f"{where}, line {first}",
                f"column {short(name)} is not known or named twice; allowed: {', '.join(COLUMNS)}",
            )
    return [_row(columns, line, f"{where}, line {number}") for number, line in rows]


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader(io.StringIO(line)), [])]


def _row(columns: list[str], line: str, where: str) -> Measurement:
    cells = _cells(line)
    if len(cells) != len(columns):
        raise InputError(
            where, f"the row has {len(cells)} cells; allowed: {len(columns)}, as in the head"
        )
    row = dict(zip(columns, cells, strict=True))
    kind = next((one for one in TABLE_KINDS if one == row["kind"]), None)
    if kind is None:
        allowed = ", ".join(TABLE_KINDS)
        raise InputError(where, f"kind {short(row['kind'])} is not known; allowed: {allowed}")
    values = {name: _number(row.get(name, ""), name, where) for name in _NEEDED[kind]}
    value = values["gb_per_s" if kind in STREAMS else "time_us"]
    return Measurement(
        kind,
        value,
        gpus=_whole(values, "gpus", where) if kind in COLLECTIVES else 1,
        message_bytes=_whole(values, "bytes", where),
        m=_whole(values, "m", where),
        n=_whole(values, "n", where),
        k=_whole(values, "k", where),
        source=where,
    )


def _whole(values: dict[str, float], name: str, where: str) -> int:
    value = values.get(name, 0.0)
    if value != int(value):
        raise InputError(where, f"{name} {value:g} is not allowed; allowed: a whole number")
    return int(value)


def _number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not _SMALLEST <= value <= _LARGEST:
        allowed = f"a number from {_SMALLEST:g} to {_LARGEST:g}"
        raise InputError(where, f"{name} {short(cell)} is not allowed; allowed: {allowed}")
    return value
