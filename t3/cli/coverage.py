"""Command ``t3 coverage``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from t3.report.progress import shown_progress
from t3.report.terminal import terminal, terminal_table
from verification.coverage.measure import BlockCoverage
from verification.coverage.report import as_dict, as_markdown, as_summary, unexplained
from verification.coverage.run import run
from verification.evidence import Evidence
from verification.failing_bench import parted
from verification.targets import TARGETS

from .options import Out, integer_option, named, several

__all__ = ["NAME", "coverage"]

NAME = "coverage"
"""Name of the files without their extension."""


def coverage(
    block: Annotated[list[str] | None, several("block")] = None,
    seed: Annotated[int, integer_option("Seed for the benches.", least=0)] = 0,
    out: Out = Path("build/coverage"),
) -> None:
    """Run the benches of the blocks and of the top; measure line, toggle and functional coverage.

    Takes about ten minutes on two idle processors; writes coverage.json, coverage.md and a summary.
    If the bench of a block fails, the command names the block and continues with the others. The
    exit code is 0 only if every bench passes and every functional point is hit.
    """
    names = named("block", block, TARGETS)
    with Evidence(out, NAME, title="Coverage", command=f"t3 coverage --seed {seed}") as evidence:
        typer.echo(f"seed {seed}")
        with shown_progress() as progress:
            outcomes = run(names, seed=seed, progress=progress)
        result = as_dict(outcomes, seed)
        evidence.publish(result, as_markdown(outcomes), as_summary(result))
    results, failing = parted(outcomes)
    _print(results)
    for one in failing:
        typer.echo(f"{one.block}: {one.message}", err=True)
    if failing or any(measured.functional_holes() for measured in results):
        raise typer.Exit(1)


def _print(results: Sequence[BlockCoverage]) -> None:
    table = terminal_table(
        f"{unexplained(results)} points are neither hit nor explained",
        *("block", "lines and branches", "toggles", "functional"),
    )
    for measured in results:
        shares = (f"{hit} of {points}" for hit, points in measured.shares().values())
        table.add_row(measured.block, *shares)
    terminal().print(table)
