"""Results of a fault campaign as JSON, and as a table on the terminal."""

from typing import Any

from .outcome import Verdict
from .run import Campaign, Tally

__all__ = ["HEAD", "as_dict", "bounded", "cells", "print_table"]

HEAD = ("kind", "faults", *(outcome.value for outcome in Verdict))
HEAD += ("errors", "to the report", "later than without")
"""Columns of the table; the last two are cycles."""


def as_dict(tally: Tally) -> dict[str, Any]:
    """Collect the results of one kind of fault for JSON."""
    return {
        "kind": tally.kind.name,
        "injected": tally.kind.injected,
        "required": tally.kind.required,
        "faults": tally.faults,
        "outcomes": {outcome.value: tally.outcomes[outcome] for outcome in Verdict},
        "codes": dict(sorted(tally.codes.items())),
        "report_cycles": tally.report_cycles,
        "report_bound_cycles": tally.report_bound,
        "delay_cycles": tally.delay_cycles,
        "delay_bound_cycles": tally.delay_bound,
        "failures": [
            {
                "fault": number,
                "outcome": result.outcome.value,
                "injected": result.injected,
                "code": result.code,
                "detail": result.detail,
            }
            for number, result in tally.failures
        ],
    }


def cells(tally: Tally) -> list[str]:
    """Format a row of the table, with the longest times and their bounds."""
    return [
        tally.kind.name,
        f"{tally.faults:,}",
        *(f"{tally.outcomes[outcome]:,}" for outcome in Verdict),
        ", ".join(f"{name} {count:,}" for name, count in sorted(tally.codes.items())),
        bounded(tally.report_cycles, tally.report_bound),
        bounded(tally.delay_cycles, tally.delay_bound),
    ]


def bounded(longest: int | None, bound: int | None) -> str:
    """Write the longest time and its bound; empty without a bound."""
    if bound is None:
        return ""
    return f"{'–' if longest is None else f'{longest:,}'} of {bound:,}"


def print_table(campaign: Campaign) -> None:
    """Print the verdicts and the first failures on the terminal."""
    from rich.text import Text

    from t3.report.terminal import terminal, terminal_table

    good = [outcome for outcome in Verdict if not outcome.fails]
    table = terminal_table(
        f"{campaign.faults:,} faults, {campaign.failures:,} failures",
        *("kind", "faults", *(outcome.value for outcome in good), "failures"),
    )
    for tally in campaign.tallies:
        counts = (tally.faults, *(tally.outcomes[outcome] for outcome in good), tally.failed)
        table.add_row(tally.kind.name, *(f"{count:,}" for count in counts))
    console = terminal()
    console.print(table)
    for tally in campaign.tallies:
        for number, result in tally.failures:
            line = f"{tally.kind.name} {number}: {result.outcome.value}: {result.injected}"
            console.print(Text(f"{line}; {result.code or ''} {result.detail}"), soft_wrap=True)
