"""Page of a system beside a user's measurements."""

from collections.abc import Sequence
from statistics import mean

from sysmodel.config.system import System
from t3.report.document import Section, Table
from t3.report.markdown import page, signed

from .comparison import Compared
from .nccl_tests import LeftOut
from .tables import compared_table, left_out_table

__all__ = ["own_page", "own_sections"]

_TITLE = "The model beside measurements"
_HEADINGS = ("kind", "rows", "mean", "size", "worst")
_TEXT = (
    "A difference is the model's value over the measured one, less one. Collectives: out-of-place "
    "times of the tests, which include one launch for each collective, against the library's "
    "kernels with one launch. Memory streams: a positive difference means that the model's memory "
    "is faster."
)


def own_sections(
    system: System, compared: Sequence[Compared], left_out: Sequence[LeftOut]
) -> list[Section]:
    """Show the error of each kind, every row, and the rows that are left out."""
    kinds = dict.fromkeys(one.measurement.name for one in compared)
    errors = Section(
        f"{system.name}: error by kind", _TEXT, Table(_HEADINGS, [_row(k, compared) for k in kinds])
    )
    every = Section(f"{system.name}: every row", table=compared_table([("", c) for c in compared]))
    dropped = Section("Rows that are not compared", table=left_out_table(left_out))
    return [errors, every, *([dropped] if left_out else [])]


def _row(kind: str, compared: Sequence[Compared]) -> tuple[str, ...]:
    shares = [100 * one.difference for one in compared if one.measurement.name == kind]
    return (
        kind,
        str(len(shares)),
        signed(mean(shares), "%"),
        f"{mean(map(abs, shares)):.1f} %",
        signed(max(shares, key=abs), "%"),
    )


def own_page(system: System, sections: Sequence[Section]) -> str:
    """Page with these sections."""
    return page(_TITLE, f"System: {system.name}, {system.description}.", sections)
