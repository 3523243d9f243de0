"""Comparison of two results from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.config.arguments import checked_path
from sysmodel.lib.errors import InputError, short

from .result import Result

if TYPE_CHECKING:
    import pandas as pd

    from sysmodel.runs.differences import Change, Difference

__all__ = ["Comparison", "compare"]

_Source = Result | Mapping[str, Any] | Path | str


class Comparison:
    """Result of :func:`t3.compare`.

    Attributes
    ----------
    differences : list of Difference
        Values of workload, system and options that differ: ``key``, ``first``, ``second``.
    changes : list of Change
        Measured values of each configuration that both results have: ``configuration``,
        ``column``, ``first``, ``second`` and ``share``, the change relative to the first value.
    notes : list of str
        Reasons why the results are not alike in kind: other workloads, other versions of T3,
        configurations and values that only one of them has.
    """

    def __init__(self, differences: "list[Difference]", changes: "list[Change]", notes: list[str]):
        self.differences, self.changes, self.notes = differences, changes, notes

    @property
    def inputs(self) -> "pd.DataFrame":
        """Row for each value of workload, system and options that differs, by its dotted key."""
        import pandas as pd

        rows = [vars(one) for one in self.differences]
        return pd.DataFrame(rows, columns=["key", "first", "second"]).set_index("key")

    @property
    def table(self) -> "pd.DataFrame":
        """Row for each configuration and measured column: both values, and the relative change.

        Times are in ns, energies in J, powers in W, as in :attr:`t3.Result.table`.
        """
        import pandas as pd

        rows = [
            (one.configuration, one.column.key, one.first, one.second, one.share)
            for one in self.changes
        ]
        columns = ["configuration", "column", "first", "second", "change"]
        return pd.DataFrame(rows, columns=columns).set_index(columns[:2])

    def __repr__(self) -> str:
        parts = [self.inputs.to_string(), self.table.to_string(), *self.notes]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return str(self.inputs.to_html() + self.table.to_html() + notes)


def compare(one: _Source, other: _Source) -> Comparison:
    """Compare two results of a run: their inputs, and their measured values.

    Parameters
    ----------
    one, other : Result, mapping, path or str
        Result of :func:`t3.run` or :func:`t3.gemm`, its ``as_dict()``, or the path of a
        ``result.json`` or of a folder with that file.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        A file cannot be read, or is no result.

    Examples
    --------
    >>> import t3
    >>> options = {"tp": 4, "engine": "golden", "configurations": ["sequential", "t3"]}
    >>> slow = {"base": "asplos24", "link.bandwidth_gb_per_s": 75}
    >>> both = t3.compare(t3.gemm(1024, 768, 64, **options),
    ...                   t3.gemm(1024, 768, 64, system=slow, **options))
    >>> float(both.inputs.loc["system.link.bandwidth_gb_per_s", "second"])
    75.0
    >>> both.table.loc[("sequential", "rs_ns"), "change"] > 0
    np.True_
    """
    from sysmodel.runs.differences import asked_differently, changes, notes

    first, second = _content(one, "one"), _content(other, "other")
    return Comparison(
        asked_differently(first, second), changes(first, second), notes(first, second)
    )


def _content(source: _Source, field: str) -> dict[str, Any]:
    from sysmodel.runs.differences import checked_result, read_result

    if isinstance(source, Result):
        return source.as_dict()
    if isinstance(source, Mapping):
        return checked_result(source, field)
    if isinstance(source, (str, Path)):
        return read_result(checked_path(field, source))
    raise InputError(
        field, f"{short(source)} is not allowed; allowed: a result, or the path of its file"
    )
