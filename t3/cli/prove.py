"""Command ``t3 prove``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from t3.report.progress import shown_progress
from t3.report.terminal import terminal, terminal_table
from verification.evidence import Evidence
from verification.proofs.registry import PROOFS
from verification.proofs.report import as_markdown, as_summary
from verification.proofs.run import Result, prove_all

from .options import Out, named, several

__all__ = ["NAME", "prove"]

NAME = "proofs"
"""Name of the files without their extension."""


def prove(
    proof: Annotated[list[str] | None, several("proof")] = None,
    out: Out = Path("build/proofs"),
) -> None:
    """Prove the contracts of the hardware's blocks, by k-induction with SymbiYosys.

    Writes proofs.json, proofs.md, a summary and, for each proof that fails, NAME/trace.vcd. The
    exit code is 0 only if every proof holds.
    """
    names = named("proof", proof, (known.name for known in PROOFS))
    proofs = [known for known in PROOFS if known.name in names]
    with Evidence(out, NAME, title="Proofs", command="t3 prove") as evidence:
        with shown_progress() as progress:
            results = prove_all(proofs, out, progress)
        records = [result.record() for result in results]
        evidence.publish({"proofs": records}, as_markdown(records), as_summary(records))
    _print(results)
    if not all(result.holds for result in results):
        raise typer.Exit(1)


def _print(results: list[Result]) -> None:
    table = terminal_table(
        f"{sum(r.holds for r in results)} of {len(results)} proofs hold",
        *("proof", "depth", "assertions", "covers", "s", "status"),
    )
    table.columns[-1].justify = "left"
    for result in results:
        numbers = (result.proof.depth, result.assertions, result.covers, f"{result.seconds:.1f}")
        table.add_row(result.proof.name, *map(str, numbers), result.status)
    console = terminal()
    console.print(table)
    for result in results:
        lines = [*result.notes, *([] if result.trace is None else [f"waveform: {result.trace}"])]
        for line in lines:
            console.print(Text(f"{result.proof.name}: {line}"), soft_wrap=True)
