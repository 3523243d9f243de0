"""Tables that compare the paper's numbers with ours."""

from collections.abc import Sequence

import numpy as np

from t3.experiments.evaluation.claims import Comparison, known_claims
from t3.experiments.evaluation.study import Case, Study
from t3.report.document import MISSING, Table
from t3.report.markdown import signed, with_unit

__all__ = ["claim_table", "full_claim_table"]


def claim_table(comparisons: list[Comparison], cases: Sequence[Case]) -> Table:
    """Claims with the paper's value, our value by case, the difference, and its reason.

    ``cases`` have the same link rate.
    """
    names = [case.name for case in cases]
    headings = (
        "claim",
        "paper",
        *(f"ours, {name}" for name in names),
        f"difference, {' / '.join(names)}",
        "holds in:",
        "reason:",
    )
    return Table(headings, [_claim_row(one, cases) for one in comparisons])


def full_claim_table(comparisons: list[Comparison], study: Study) -> Table:
    """Every claim in every case with its place in the paper, and numbers without their units."""
    cases, main = [*study.cases, *study.cited_cases], study.claim_cases
    headings = ["figure", "about", "id", "claim", "relation", "paper:", "unit:", "confidence:"]
    headings += [f"ours, {case.label}" for case in cases]
    headings += [f"difference, {case.label}:" for case in cases]
    headings += [f"holds in, {main[0].link:g} GB/s:", "reason:", "source:"]
    rows = []
    for one in comparisons:
        claim = one.claim
        about = known_claims().figure[claim.figure]
        row = [claim.figure, about, claim.id, claim.what, claim.relation, f"{claim.value:g}"]
        row += [claim.unit, claim.confidence]
        row += [with_unit(one.ours[case], claim.unit).rstrip("x %") for case in cases]
        row += [_apart(one, case) for case in cases]
        rows.append([*row, one.holds_in(main), claim.reason or MISSING, claim.source])
    return Table(headings, rows, text_columns=5)


def _claim_row(one: Comparison, cases: Sequence[Case]) -> list[str]:
    claim = one.claim
    value = f"{claim.value:.2f}x" if claim.unit == "x" else f"{claim.value:g} %"
    paper = {"is": value, "at most": f"≤ {value}", "at least": f"≥ {value}"}.get(
        claim.relation, claim.relation
    )
    return [
        claim.what,
        f"{paper} ({claim.confidence})",
        *(with_unit(one.ours[case], claim.unit) for case in cases),
        " / ".join(_apart(one, case) for case in cases),
        one.holds_in(cases),
        claim.reason or MISSING,
    ]


def _apart(one: Comparison, case: Case) -> str:
    if np.isnan(one.ours[case]):
        return MISSING
    if one.claim.relation != "is" and one.agrees(case):
        return "holds"
    if one.claim.relation in ("grows", "shrinks"):
        return "does not hold"
    return signed(one.difference(case), "%" if one.claim.unit == "x" else "points")
