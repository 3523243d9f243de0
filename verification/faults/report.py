"""The outcome of a campaign as JSON, and as a table on the terminal."""

from typing import Any

from .outcome import Outcome
from .run import Campaign, Tally

__all__ = ["HEAD", "as_dict", "cells", "print_table"]

HEAD = ("kind", "faults", *(outcome.value for outcome in Outcome))
HEAD += ("errors", "to the report", "later than without")
"""Columns of the table, in cycles the last two."""


def as_dict(tally: Tally) -> dict[str, Any]:
    """A kind of fault, for JSON."""
    return {
        "kind": tally.kind.name,
        "injected": tally.kind.injected,
        "required": tally.kind.required,
        "faults": tally.faults,
        "outcomes": {outcome.value: tally.outcomes[outcome] for outcome in Outcome},
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
    """A row of the table: the longest times with their bounds."""
    return [
        tally.kind.name,
        f"{tally.faults:,}",
        *(f"{tally.outcomes[outcome]:,}" for outcome in Outcome),
        ", ".join(f"{name} {count:,}" for name, count in sorted(tally.codes.items())),
        _cycles(tally.report_cycles, tally.report_bound),
        _cycles(tally.delay_cycles, tally.delay_bound),
    ]


def _cycles(longest: int | None, bound: int | None) -> str:
    if bound is None:
        return ""
    return f"{'–' if longest is None else f'{longest:,}'} of {bound:,}"


def print_table(campaign: Campaign) -> None:
    """Show the outcomes on the terminal, and the first failures."""
    from rich.text import Text

    from sysmodel.lib.terminal import terminal, terminal_table

    good = [outcome for outcome in Outcome if not outcome.fails]
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
