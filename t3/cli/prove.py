"""``t3 prove``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.lib.progress import shown_progress

from .checkout import require_checkout
from .options import Out, named, several

if TYPE_CHECKING:
    from verification.proofs.run import Result

__all__ = ["NAME", "prove"]

NAME = "proofs"  # of the files


def prove(
    proof: Annotated[list[str] | None, several("proof")] = None,
    out: Out = Path("build/proofs"),
) -> None:
    """Prove the contracts of the hardware's blocks, by k-induction with SymbiYosys.

    Writes proofs.json, proofs.md and, of a proof that fails, NAME/trace.vcd. The exit code is 0
    only if every proof holds.
    """
    require_checkout("prove")
    # They bring Amaranth, for which other commands shall not wait.
    from verification.evidence import Evidence
    from verification.proofs.registry import PROOFS
    from verification.proofs.report import as_markdown
    from verification.proofs.run import prove_all

    proofs = named("proof", proof, PROOFS)
    with Evidence(out, NAME, title="Proofs", command="t3 prove") as evidence:
        with shown_progress() as progress:
            results = prove_all(proofs, out, progress)
        records = [result.record() for result in results]
        evidence.publish({"proofs": records}, as_markdown(records))
    _print(results)
    if not all(result.holds for result in results):
        raise typer.Exit(1)


def _print(results: "list[Result]") -> None:
    from rich.text import Text

    from sysmodel.lib.terminal import terminal, terminal_table

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
