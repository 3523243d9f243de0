"""Tables of measurements beside the model."""

from collections.abc import Iterable, Sequence

from t3.report.document import MISSING, Table
from t3.report.markdown import signed

from .comparison import Compared
from .nccl_tests import LeftOut

__all__ = ["compared_table", "left_out_table"]

_HEADINGS = ("kind", "size", "source", "measured", "ours", "unit:", "difference")


def compared_table(compared: Sequence[tuple[str, Compared]], first: str = "") -> Table:
    """Every measurement with the model's value; ``first`` is the heading of a column in front."""
    rows = tuple((*((name,) if first else ()), *_row(one)) for name, one in compared)
    headings = (first, *_HEADINGS) if first else _HEADINGS
    return Table(headings, rows, text_columns=4 if first else 3)


def _row(one: Compared) -> tuple[str, ...]:
    measured = one.measurement
    source = f"{measured.source} ({measured.note})" if measured.note else measured.source
    return (
        measured.name,
        measured.what or MISSING,
        source,
        _number(measured.value),
        _number(one.ours),
        measured.unit,
        signed(100 * one.difference, "%"),
    )


def left_out_table(left_out: Iterable[LeftOut]) -> Table:
    """Number of rows that are left out, by reason."""
    rows = tuple((one.reason, str(one.rows)) for one in left_out if one.rows)
    return Table(("reason", "rows left out"), rows)


def _number(value: float) -> str:
    if value < 1:  # a measurement in another unit is a small number, and not zero
        return f"{value:.2g}"
    return f"{value:,.1f}" if value < 1e3 else f"{value:,.0f}"
