"""The paper's numbers beside ours."""

from collections.abc import Sequence

import numpy as np

from sysmodel.lib.markdown import MISSING, signed, with_unit
from t3.experiments.evaluation.claims import Comparison, known_claims

from .table import Table

__all__ = ["claim_table", "full_claim_table"]


def claim_table(comparisons: list[Comparison], links: Sequence[float]) -> Table:
    """What the paper says, ours at each link rate, the difference and its reason."""
    rates = " / ".join(f"{link:g}" for link in links)
    headings = (
        "claim",
        "paper",
        *(f"ours, {link:g} GB/s" for link in links),
        f"difference, {rates} GB/s",
        "reason:",
    )
    return Table(headings, [_claim_row(one, links) for one in comparisons])


def full_claim_table(comparisons: list[Comparison], links: Sequence[float]) -> Table:
    """Every claim with where it comes from, and numbers without their units."""
    headings = ["figure", "about", "id", "claim", "relation", "paper:", "unit:", "confidence:"]
    headings += [f"ours, {link:g} GB/s" for link in links]
    headings += [f"difference, {link:g} GB/s:" for link in links]
    headings += ["reason:", "source:"]
    rows = []
    for one in comparisons:
        claim = one.claim
        about = known_claims().figure[claim.figure]
        row = [claim.figure, about, claim.id, claim.what, claim.relation, f"{claim.value:g}"]
        row += [claim.unit, claim.confidence]
        row += [with_unit(one.ours[link], claim.unit).rstrip("x %") for link in links]
        row += [_apart(one, link) for link in links]
        rows.append([*row, claim.reason or MISSING, claim.source])
    return Table(headings, rows, text_columns=5)


def _claim_row(one: Comparison, links: Sequence[float]) -> list[str]:
    claim = one.claim
    value = f"{claim.value:.2f}x" if claim.unit == "x" else f"{claim.value:g} %"
    paper = {"is": value, "at most": f"≤ {value}", "at least": f"≥ {value}"}.get(
        claim.relation, claim.relation
    )
    return [
        claim.what,
        f"{paper} ({claim.confidence})",
        *(with_unit(one.ours[link], claim.unit) for link in links),
        " / ".join(_apart(one, link) for link in links),
        claim.reason or MISSING,
    ]


def _apart(one: Comparison, link: float) -> str:
    if np.isnan(one.ours[link]):
        return MISSING
    if one.claim.relation != "is" and one.agrees(link):
        return "holds"
    if one.claim.relation in ("grows", "shrinks"):
        return "does not hold"
    return signed(one.difference(link), "%" if one.claim.unit == "x" else "points")
