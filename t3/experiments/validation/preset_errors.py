"""Errors of the presets beside measured GPUs, and the table in which they are kept.

``t3 validate`` writes the table, and ``make docs`` copies it beside this module, from where ``t3
presets`` prints it. The table names neither a revision nor a date: it has a digest of the values of
each preset, and an error counts only for a preset that still has these values. So a commit that
leaves the presets alone leaves the table valid, and equal results give an equal file. A change of
the model's code alone does not show in the digest; the release's `make docs` measures anew.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sysmodel.config.system import System, load_system
from t3.report.markdown import signed

__all__ = [
    "PRESETS",
    "PresetError",
    "error_lines",
    "errors_text",
    "known_errors",
    "values_digest",
]

PRESETS = {"H100": "h100", "H200": "h200", "B200": "b200", "MI300X": "mi300x"}
"""Preset of each GPU that the rows of measurements name."""

_COMMITTED = Path(__file__).with_name("measured_errors.csv")


@dataclass(frozen=True)
class PresetError:
    """Error of a preset in one kind of measurement.

    Parameters
    ----------
    mean, size, worst : float
        Mean difference, mean of the differences' sizes, and the difference of the largest size, as
        shares of the measured value.
    values : str
        Digest of the values of the preset.
    """

    preset: str
    kind: str
    rows: int
    mean: float
    size: float
    worst: float
    values: str


def values_digest(system: System) -> str:
    """Digest of all values of a system."""
    text = system.model_dump_json(exclude={"name", "description", "source"})
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def errors_text(errors: Iterable[PresetError]) -> str:
    """Write the table of errors; shares have four digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(one.name for one in fields(PresetError))
    for one in errors:
        values = asdict(one).values()
        writer.writerow(f"{v:.4f}" if isinstance(v, float) else v for v in values)
    return text.getvalue()


def known_errors(preset: str, table: Path = _COMMITTED) -> list[PresetError]:
    """Errors of a preset with its present values; none if the table has other values."""
    if not table.exists():
        return []
    digest = values_digest(load_system(preset))
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["preset"] == preset]
    return [_error(row) for row in rows if row["values"] == digest]


def error_lines(preset: str) -> list[str]:
    """Errors of a preset in words; none for a preset that no measured row covers."""
    if preset not in PRESETS.values():
        return []
    known = known_errors(preset)
    if not known:
        return [
            "Measured error: known only for earlier values of this preset; t3 validate measures it."
        ]
    shown = [
        f"{one.kind} {signed(100 * one.mean, '%')}, {signed(100 * one.worst, '%')} ({one.rows})"
        for one in known
    ]
    return [f"Measured error, mean and worst (rows): {'; '.join(shown)}."]


def _error(row: Mapping[str, str]) -> PresetError:
    mean_of, size, worst = (float(row[name]) for name in ("mean", "size", "worst"))
    return PresetError(
        row["preset"], row["kind"], int(row["rows"]), mean_of, size, worst, row["values"]
    )
