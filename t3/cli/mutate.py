"""Command ``t3 mutate``."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from t3.report.progress import shown_progress
from t3.report.terminal import terminal, terminal_table
from verification.evidence import Evidence
from verification.failing_bench import parted
from verification.mutation.campaign import CampaignResult
from verification.mutation.checkpoint import CampaignCheckpoint
from verification.mutation.report import as_dict, as_markdown, as_summary, by_block, holds
from verification.mutation.run import run
from verification.mutation.score import Score
from verification.targets import BLOCKS

from .options import Out, integer_option, named, several

__all__ = ["NAME", "mutate"]

NAME = "mutation"
"""Name of the files without their extension."""

_SEEDS = 3


def mutate(
    block: Annotated[list[str] | None, several("block")] = None,
    mutants: Annotated[
        int, integer_option("Number of mutants for each block and seed.", least=1)
    ] = 20,
    seed: Annotated[
        list[int] | None,
        integer_option(
            "Seed for the mutants and the benches; may be repeated.",
            least=0,
            show_default=f"{_SEEDS} at random",
        ),
    ] = None,
    out: Out = Path("build/mutate"),
) -> None:
    """Make mutants of the blocks, and count the mutants that the blocks' own benches kill.

    Without a seed the command draws new ones, so that no bench is tuned to them. It takes about an
    hour on two idle processors, and writes mutation.json, mutation.md and a summary. The exit code
    is 0 only if every bench passes on its unchanged block and kills 97 % of all mutants and 95 % of
    the mutants of each block, not counting mutants that are proved equivalent. If a bench fails on
    its unchanged block, the command names the block and continues with the others. Finished mutants
    are stored in the folder until all are finished: after an interrupt the same command continues
    with the same seeds.
    """
    names = named("block", block, BLOCKS)
    checkpoint = CampaignCheckpoint(out / f"{NAME}.partial.jsonl", count=mutants)
    drawn = [secrets.randbelow(2**31) for _ in range(_SEEDS)]
    seeds = list(dict.fromkeys(seed or checkpoint.seeds or drawn))
    command = " ".join([f"t3 mutate --mutants {mutants}", *(f"--seed {one}" for one in seeds)])
    with Evidence(out, NAME, title="Mutation score", command=command) as evidence:
        checkpoint.begin(seeds)
        typer.echo(f"seed {', '.join(map(str, seeds))}")
        with shown_progress() as progress:
            results = run(
                names, count=mutants, seeds=seeds, checkpoint=checkpoint, progress=progress
            )
        evidence.publish(as_dict(results, seeds), as_markdown(results), as_summary(results))
        checkpoint.remove()
    outcomes, failing = parted(results)
    _print(outcomes)
    for one in failing:
        typer.echo(f"{one.block}: {one.message}", err=True)
    if not holds(results):
        raise typer.Exit(1)


def _print(outcomes: Sequence[CampaignResult]) -> None:
    table = terminal_table(f"{Score.of(outcomes).share:.1%} killed", "block", *Score.HEADINGS)
    for block, score in by_block(outcomes).items():
        table.add_row(block, *score.cells())
    console = terminal()
    console.print(table)
    for outcome in outcomes:
        for mutant in outcome.survivors:
            line = f"{outcome.block}: survived: {mutant.mode} of {mutant.place}"
            console.print(Text(f"{line} {' '.join(mutant.sources)}"), soft_wrap=True)
