"""Proofs as a page."""

from collections.abc import Sequence
from typing import Any

from sysmodel.lib.markdown import table
from verification.seeded_bugs.table import SEEDED_BUGS

__all__ = ["as_markdown"]


def as_markdown(records: Sequence[dict[str, Any]]) -> str:
    """Tables of results, as :meth:`~.run.Result.record` gives them, and of the seeded bugs."""
    unbounded = sum(record["mode"] == "k-induction" for record in records)
    seconds = sum(record["seconds"] for record in records)
    headings = (
        ["proof", "what holds:", "blocks:", "mode:"]
        + ["depth (cycles)", "asserts", "covers"]
        + ["engine:", "s", "status:"]
    )
    rows = [
        [
            f"`{record['proof']}`",
            record["statement"],
            ", ".join(record["blocks"]),
            record["mode"],
            *(str(record[name]) for name in ("depth", "assertions", "covers")),
            record["engine"],
            f"{record['seconds']:.0f}",
            record["status"],
        ]
        for record in records
    ]
    shapes = [[f"`{r['proof']}`", r["geometry"], r["reason"] or "the reference's"] for r in records]
    explained = (
        f"{len(records)} proofs, {unbounded} of them by k-induction, for any number of cycles; the "
        "depth is then that of the induction. The covers show that what the asserts speak of "
        f"happens. The seconds are of one of two that run side by side, {seconds:.0f} in all."
    )
    parts = [explained, table(headings, rows)]
    parts += ["## Geometry", table(["proof", "geometry:", "why:"], shapes)]
    faults = [[bug.block, bug.fault] for bug in SEEDED_BUGS]
    shown = (
        "Tests show that each fails its proof, by an assertion and with a waveform, and its bench, "
        "which all have but RingNode, a part of the proofs."
    )
    parts += ["## Seeded bugs", shown, table(["block:", "fault:"], faults)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
