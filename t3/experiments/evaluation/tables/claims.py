"""The paper's numbers beside ours."""

import numpy as np

from sysmodel.lib.markdown import MISSING, signed, table, with_unit
from t3.experiments.evaluation.claims import Comparison

__all__ = ["claim_table"]


def claim_table(comparisons: list[Comparison], links: list[float]) -> str:
    """What the paper says, ours at each link rate, the difference and its reason."""
    rates = " / ".join(f"{link:g}" for link in links)
    headings = (
        "claim",
        "paper",
        *(f"ours, {link:g} GB/s" for link in links),
        f"difference, {rates} GB/s",
        "reason:",
    )
    return table(headings, (_claim_row(one, links) for one in comparisons))


def _claim_row(one: Comparison, links: list[float]) -> list[str]:
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
