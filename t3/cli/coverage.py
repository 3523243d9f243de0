"""``t3 coverage``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.lib.progress import shown_progress

from .checkout import require_checkout
from .options import Out, option, several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verification.coverage.measure import Measured

__all__ = ["NAME", "coverage"]

NAME = "coverage"  # of the files


def coverage(
    block: Annotated[list[str] | None, several("block")] = None,
    seed: Annotated[int, option("Seed of the benches.", "N", min=0)] = 0,
    out: Out = Path("build/coverage"),
) -> None:
    """Run the benches of the blocks and of the top; measure line, toggle and functional coverage.

    About ten minutes on two idle processors; writes coverage.json and coverage.md. The exit code is
    0 only if every bench passes and every functional point is hit; a block whose bench fails is
    named, and the others go on.
    """
    require_checkout("coverage")
    # They bring Amaranth, for which other commands shall not wait.
    from verification.coverage.report import as_dict, as_markdown
    from verification.coverage.run import run
    from verification.evidence import Evidence
    from verification.failing_bench import parted
    from verification.targets import TARGETS, chosen

    names = chosen(block, tuple(TARGETS))
    with Evidence(out, NAME, title="Coverage", command=f"t3 coverage --seed {seed}") as evidence:
        typer.echo(f"seed {seed}")
        with shown_progress() as progress:
            found = run(names, seed=seed, progress=progress)
        evidence.publish(as_dict(found, seed), as_markdown(found))
    results, failing = parted(found)
    _print(results)
    for one in failing:
        typer.echo(f"{one.block}: {one.message}", err=True)
    if failing or any(measured.functional_holes() for measured in results):
        raise typer.Exit(1)


def _print(results: "Sequence[Measured]") -> None:
    from sysmodel.lib.terminal import terminal, terminal_table
    from verification.coverage.report import unexplained

    table = terminal_table(
        f"{unexplained(results)} points are neither hit nor explained",
        *("block", "lines and branches", "toggles", "functional"),
    )
    for measured in results:
        shares = (f"{hit} of {points}" for hit, points in measured.shares().values())
        table.add_row(measured.block, *shares)
    terminal().print(table)
