"""File of a fitted system: the base, the fitted values, and the rows as comments."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomlkit

from sysmodel.config.bundled import is_path

from .calibration import Calibration
from .comparison import Compared

__all__ = ["error_line", "system_text"]


def system_text(fit: Calibration, base: str, files: Sequence[Path], folder: Path) -> str:
    """Write a system's TOML file that lies in ``folder``."""
    names = ", ".join(file.name for file in files)
    document = tomlkit.document()
    for line in _head(fit, base, names):
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    # A path in the file is relative to the file's own folder.
    document["base"] = os.path.relpath(base, folder) if is_path(base) else base
    document["description"] = f"{base}, fitted to measurements"
    document["source"] = f"t3 calibrate {names}"
    for key, value in fit.after.items():
        item = tomlkit.item(value)
        item.comment(f"fitted; {base} has {fit.before[key]:g}")
        *sections, name = key.split(".")
        table: Any = document
        for section in sections:
            table = table.setdefault(section, tomlkit.table())
        table[name] = item
    return tomlkit.dumps(document)


def _head(fit: Calibration, base: str, names: str) -> list[str]:
    lines = [
        f"Fitted by t3 calibrate to {len(fit.fitted)} rows of {names}: least squares of",
        "log(ours / measured). Every fourth row by size is held back.",
        error_line("fitted rows", fit.fitted),
        error_line("rows held back", fit.held),
    ]
    lines += [f"not fitted: {one.key}: {one.reason}" for one in fit.refused]
    lines += ["", "measured, ours, difference:"]
    lines += [_line(one, "") for one in fit.fitted]
    lines += [_line(one, ", held back") for one in fit.held]
    return lines


def error_line(name: str, rows: Sequence[Compared]) -> str:
    """Mean size and largest size of the differences of some rows, in words."""
    if not rows:
        return f"{name}: none"
    shares = [one.difference for one in rows]
    size = sum(map(abs, shares)) / len(shares)
    return f"{name}: off by {size:.1%} on average, by {max(shares, key=abs):+.1%} at worst"


def _line(one: Compared, remark: str) -> str:
    row = one.measurement
    return (
        f"{row.name}, {row.what}: {row.value:.4g} {row.unit}, {one.ours:.4g}, "
        f"{one.difference:+.1%}{remark}"
    )
