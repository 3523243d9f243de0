"""Command ``t3 faults``."""

from pathlib import Path
from typing import Annotated

import typer

from t3.report.progress import shown_progress
from verification.evidence import Evidence
from verification.faults.page import as_markdown, as_summary
from verification.faults.registry import KINDS
from verification.faults.report import as_dict, print_table
from verification.faults.run import inject_all

from .options import Out, integer_option, named, several

__all__ = ["NAME", "faults"]

NAME = "faults"
"""Name of the files without their extension."""


def faults(
    faults: Annotated[
        int, integer_option("Total number of faults, at least one of each kind.", least=1)
    ] = 10_000,
    seed: Annotated[int, integer_option("Seed for all random choices.", least=0)] = 0,
    kind: Annotated[list[str] | None, several("kind")] = None,
    out: Out = Path("build/faults"),
) -> None:
    """Inject faults into the running hardware and observe the effect of each fault.

    The faults are bit errors in protected memories, links that lose or corrupt flits, GPUs that
    stop, and thresholds that are never met. Writes faults.json, faults.md and a summary. The exit
    code is 0 only if every fault ends in a correct result, or in a timely report of its cause.
    """
    names = named("kind", kind, (known.name for known in KINDS))
    kinds = [known for known in KINDS if known.name in names]
    command = f"t3 faults --faults {faults} --seed {seed}"
    with Evidence(out, NAME, title="Faults", command=command) as evidence:
        typer.echo(f"seed {seed}")
        with shown_progress() as progress:
            campaign = inject_all(kinds, faults, seed, progress=progress)
        result = {
            "seed": seed,
            "faults": campaign.faults,
            "failures": campaign.failures,
            "kinds": [as_dict(tally) for tally in campaign.tallies],
        }
        evidence.publish(result, as_markdown(campaign), as_summary(result))
    print_table(campaign)
    if campaign.failures:
        raise typer.Exit(1)
