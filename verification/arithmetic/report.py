"""Page of the exhaustive arithmetic; short enough to be its own summary."""

from collections.abc import Sequence
from typing import Any

from t3.report.markdown import table

__all__ = ["as_markdown"]


def as_markdown(runs: Sequence[dict[str, Any]], seed: int) -> str:
    """Format the results of the JSON file as a table."""
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
