"""Proofs as a page."""

from collections.abc import Sequence
from typing import Any

from sysmodel.markdown import table

__all__ = ["as_markdown"]


def as_markdown(records: Sequence[dict[str, Any]]) -> str:
    """Tables of results, as :meth:`~.run.Result.record` gives them."""
    unbounded = sum(record["mode"] == "k-induction" for record in records)
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
        "happens. The seconds are of one of two that run side by side."
    )
    geometry = table(["proof", "geometry:", "why:"], shapes)
    return f"{explained}\n\n{table(headings, rows)}\n## Geometry\n\n{geometry}"
