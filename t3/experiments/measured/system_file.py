"""File of a fitted system: the base, the fitted values, and the rows as comments."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomlkit

from sysmodel.config.bundled import is_path

from .calibration import MOST_ITERATIONS, Calibration
from .comparison import Compared
from .nccl_tests import LeftOut

__all__ = ["error_lines", "left_out_lines", "system_text"]


def system_text(
    fit: Calibration,
    base: str,
    files: Sequence[Path],
    folder: Path,
    left_out: Sequence[LeftOut] = (),
) -> str:
    """Write a system's TOML file that lies in ``folder``."""
    names = ", ".join(file.name for file in files)
    document = tomlkit.document()
    for line in _head(fit, names, left_out):
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    # A path in the file is relative to the file's own folder.
    document["base"] = os.path.relpath(base, folder) if is_path(base) else base
    document["description"] = f"{base}, fitted to measurements"
    document["source"] = f"t3 calibrate {names}"
    for key, value in fit.after.items():
        item = tomlkit.item(value)
        remark = f", {fit.remarks[key]}" if key in fit.remarks else ""
        item.comment(f"fitted{remark}; {base} has {fit.before[key]:g}")
        *sections, name = key.split(".")
        table: Any = document
        for section in sections:
            table = table.setdefault(section, tomlkit.table())
        table[name] = item
    return tomlkit.dumps(document)


def _head(fit: Calibration, names: str, left_out: Sequence[LeftOut]) -> list[str]:
    lines = [
        f"Fitted by t3 calibrate to {len(fit.fitted)} rows of {names}: least squares of",
        "log(ours / measured). A quarter of the sizes of a kind are held back.",
        *error_lines(fit),
    ]
    lines += [f"not fitted: {one.key}: {one.reason}" for one in fit.refused]
    lines += left_out_lines(left_out)
    lines += ["", "measured, ours, difference:"]
    lines += [_line(one, "") for one in fit.fitted]
    lines += [_line(one, ", held back") for one in fit.held]
    lines += [_line(one, ", unchanged") for one in fit.unchanged]
    return lines


def left_out_lines(left_out: Sequence[LeftOut]) -> list[str]:
    """Number of rows that are left out, a line for each reason."""
    return [f"left out: {one.rows}: {one.reason}" for one in left_out]


def error_lines(fit: Calibration) -> list[str]:
    """Errors of the rows of a fit in words, a line for each part; first, if it did not converge."""
    lines = [] if fit.converged else [_unfinished(fit)]
    lines += [_error_line("fitted rows", fit.fitted), _error_line("rows held back", fit.held)]
    if fit.unchanged:
        lines.append(_error_line("rows that no fitted value changes", fit.unchanged))
    return lines


def _unfinished(fit: Calibration) -> str:
    """Say how far a fit came that ended at its largest number of iterations, and how to go on."""
    *before, last = fit.residuals
    change = f"went from {before[-1]:.3g} to {last:.3g}" if before else f"stayed at {last:.3g}"
    return (
        f"the fit did not converge in {MOST_ITERATIONS} iterations: the root mean square of "
        f"log(ours / measured) {change} in the last step; to go on, calibrate again with this "
        "system as --base"
    )


def _error_line(name: str, rows: Sequence[Compared]) -> str:
    """Mean size and largest size of the differences of some rows, in words."""
    if not rows:
        return f"{name}: none"
    shares = [one.difference for one in rows]
    size = sum(map(abs, shares)) / len(shares)
    return f"{name}: off by {size:.1%} on average, by {max(shares, key=abs):+.1%} at worst"


def _line(one: Compared, remark: str) -> str:
    row = one.measurement
    name = ", ".join(filter(None, (row.name, row.what)))
    return f"{name}: {row.value:.4g} {row.unit}, {one.ours:.4g}, {one.difference:+.1%}{remark}"
