"""Exhaustive arithmetic as a page."""

from collections.abc import Sequence
from typing import Any

from sysmodel.lib.markdown import table

__all__ = ["as_markdown"]


def as_markdown(runs: Sequence[dict[str, Any]], seed: int) -> str:
    """A table of results, as they stand in the JSON file."""
    rows = [
        [
            run["dtype"],
            run["operation"],
            f"{run['pairs']:,}",
            f"{run['mismatches']:,}",
            f"{run['seconds']:.0f}",
            f"{run['processor_seconds']:.0f}",
        ]
        for run in runs
    ]
    headings = ["format", "operation:", "pairs", "mismatches", "s", "processor s"]
    return f"Seed of the fp32 pairs: {seed}.\n\n{table(headings, rows)}"
