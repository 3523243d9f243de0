"""Results of the trials: a file to which each run adds, and a table."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["TrialResult", "load", "save", "table", "with_table"]

# Heading and first paragraph, and then lines up to the next heading.
_SECTION = re.compile(r"(^## Tried systems\n\n(?:.+\n)+\n)(?:(?!#).*\n)*", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One command on one system.

    Attributes
    ----------
    trial : str
        Name of the trial, which stands for system, user and Python.
    tools : str
        Optional tools of the system.
    detail : str
        Last line that the command printed.
    revision : str
        Revision of the project.
    """

    trial: str
    system: str
    user: str
    python: str
    tools: str
    command: str
    result: str
    seconds: int
    detail: str
    revision: str


def load(path: Path) -> list[TrialResult]:
    if not path.exists():
        return []
    return [TrialResult(**one) for one in json.loads(path.read_text(encoding="utf-8"))]


def save(path: Path, results: list[TrialResult]) -> None:
    """Write the results as JSON, and as a table of the same name in Markdown."""
    _write(path, json.dumps([asdict(one) for one in results], indent=1) + "\n")
    _write(path.with_suffix(".md"), f"# Fresh systems\n\n{table(results)}")


def table(results: list[TrialResult]) -> str:
    """Make a table with a row for each system, user and Python."""
    commands = list(dict.fromkeys(one.command for one in results))
    rows: dict[str, dict[str, TrialResult]] = {}
    for one in results:
        rows.setdefault(one.trial, {})[one.command] = one
    head = ["system", "Python", "user", "optional tools", *(f"`{name}`" for name in commands)]
    lines = [head, ["---"] * len(head)]
    for row in rows.values():
        first = next(iter(row.values()))
        cells = [_cell(row.get(command)) for command in commands]
        lines.append([first.system, first.python, first.user, first.tools, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(result: TrialResult | None) -> str:
    return "" if result is None else f"{result.result}, {result.seconds} s"


def with_table(page: str, results: list[TrialResult]) -> str:
    """Replace the page's table, which ends the section of the tried systems."""
    revisions = ", ".join(dict.fromkeys(f"`{one.revision}`" for one in results))
    new = f"{table(results)}\nRevision {revisions}.\n\n"
    changed, count = _SECTION.subn(lambda section: section[1] + new, page)
    if count != 1:
        raise ValueError("The page has no place for the table")
    return changed


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
