"""``t3 faults``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import shown_progress

if TYPE_CHECKING:
    from t3.verification.faults.outcome import Kind

__all__ = ["NAME", "faults"]

NAME = "faults"  # of the files


def faults(
    faults: Annotated[
        int, typer.Option(help="Faults in all, at least one of each kind.", metavar="N", min=1)
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="Of all that is random.", metavar="S", min=0)] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="This one only; may be repeated.", metavar="NAME", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the result.", metavar="DIR")] = Path(
        "build/faults"
    ),
) -> None:
    """Put faults into the running hardware, and see what becomes of each.

    Wrong bits in protected memories, links that lose and spoil, GPUs that stop, thresholds that
    cannot be met. Writes faults.json and faults.md. The exit code is 0 only if every fault ends in
    a right result or in a report of its cause in time.
    """
    # They bring Amaranth and Numba, for which other commands shall not wait.
    from t3.verification.evidence import Evidence
    from t3.verification.faults.page import as_markdown
    from t3.verification.faults.report import as_dict, print_table
    from t3.verification.faults.run import inject_all

    kinds = _chosen(kind)
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


def _chosen(names: list[str] | None) -> "list[Kind]":
    from t3.verification.faults.registry import KINDS

    known = {kind.name: kind for kind in KINDS}
    for name in names or ():
        if name not in known:
            problem = f"{name[:40]!r} is not allowed; allowed: {', '.join(known)}"
            raise InputError("kind", problem)
    return [kind for kind in KINDS if not names or kind.name in names]
