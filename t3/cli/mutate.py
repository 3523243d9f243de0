"""``t3 mutate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.lib.progress import shown_progress

from .checkout import require_checkout
from .options import Out, option, several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verification.mutation.campaign import Outcome

__all__ = ["NAME", "mutate"]

NAME = "mutation"  # of the files
_SEEDS = 3


def mutate(
    block: Annotated[list[str] | None, several("block")] = None,
    mutants: Annotated[int, option("Mutants of each block for each seed.", "N", min=1)] = 20,
    seed: Annotated[
        list[int] | None,
        option(
            "Seed of the mutants and of the benches; may be repeated.",
            "N",
            min=0,
            show_default=f"{_SEEDS} at random",
        ),
    ] = None,
    out: Out = Path("build/mutate"),
) -> None:
    """Make mutants of the blocks, and count those that the blocks' own benches notice.

    The seeds are drawn anew if none is given, so that no bench is tuned to them. Takes about an
    hour on two idle processors; writes mutation.json and mutation.md. The exit code is 0 only if
    97 % of the mutants are noticed, and 95 % of each block's, not counting those that are proved
    equivalent. A block whose bench fails on the block as it is is named, and the others go on;
    then it is 1, too. What has ended is kept in the folder until all has: the same command goes on
    there, with the same seeds.
    """
    require_checkout("mutate")
    # They take their time, for which other commands shall not wait.
    import secrets

    from verification.evidence import Evidence
    from verification.failing_bench import parted
    from verification.mutation.kept import Kept
    from verification.mutation.report import as_dict, as_markdown, holds
    from verification.mutation.run import run
    from verification.targets import BLOCKS, chosen

    names = chosen(block, BLOCKS)
    kept = Kept(out / f"{NAME}.partial")
    drawn = [secrets.randbelow(2**31) for _ in range(_SEEDS)]
    seeds = list(dict.fromkeys(seed or kept.seeds(count=mutants) or drawn))
    command = " ".join([f"t3 mutate --mutants {mutants}", *(f"--seed {one}" for one in seeds)])
    with Evidence(out, NAME, title="Mutation score", command=command) as evidence:
        kept.begin(seeds, count=mutants)
        typer.echo(f"seed {', '.join(map(str, seeds))}")
        with shown_progress() as progress:
            found = run(names, count=mutants, seeds=seeds, kept=kept, progress=progress)
        evidence.publish(as_dict(found, seeds), as_markdown(found))
        kept.remove()
    outcomes, failing = parted(found)
    _print(outcomes)
    for one in failing:
        typer.echo(f"{one.block}: {one.message}", err=True)
    if not holds(found):
        raise typer.Exit(1)


def _print(outcomes: "Sequence[Outcome]") -> None:
    from rich.text import Text

    from sysmodel.lib.terminal import terminal, terminal_table
    from verification.mutation.report import by_block
    from verification.mutation.score import Score

    table = terminal_table(f"{Score.of(outcomes).share:.1%} noticed", "block", *Score.HEADINGS)
    for block, score in by_block(outcomes).items():
        table.add_row(block, *score.cells())
    console = terminal()
    console.print(table)
    for outcome in outcomes:
        for mutant in outcome.survivors:
            line = f"{outcome.block}: survived: {mutant.mode} of {mutant.place}"
            console.print(Text(f"{line} {' '.join(mutant.sources)}"), soft_wrap=True)
