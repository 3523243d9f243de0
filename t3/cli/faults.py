"""``t3 faults``."""

from pathlib import Path
from typing import Annotated

import typer

from sysmodel.lib.progress import shown_progress

from .checkout import require_checkout
from .options import Out, named, option, several

__all__ = ["NAME", "faults"]

NAME = "faults"  # of the files


def faults(
    faults: Annotated[
        int, option("Faults in all, at least one of each kind.", "N", min=1)
    ] = 10_000,
    seed: Annotated[int, option("Seed of all that is random.", "N", min=0)] = 0,
    kind: Annotated[list[str] | None, several("kind")] = None,
    out: Out = Path("build/faults"),
) -> None:
    """Inject faults into the running hardware, and see what becomes of each.

    Wrong bits in protected memories, links that lose or corrupt flits, GPUs that stop, thresholds
    that are never met. Writes faults.json and faults.md. The exit code is 0 only if every fault
    ends in a right result, or in a report of its cause in time.
    """
    require_checkout("faults")
    # They bring Amaranth and Numba, for which other commands shall not wait.
    from verification.evidence import Evidence
    from verification.faults.page import as_markdown
    from verification.faults.registry import KINDS
    from verification.faults.report import as_dict, print_table
    from verification.faults.run import inject_all

    kinds = named("kind", kind, KINDS)
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
        evidence.publish(result, as_markdown(campaign))
    print_table(campaign)
    if campaign.failures:
        raise typer.Exit(1)
