"""Full page of the proofs, and its summary by block."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from t3.report.markdown import table
from verification.seeded_bugs.of_contexts import BUGS_OF_CONTEXTS
from verification.seeded_bugs.table import SEEDED_BUGS

__all__ = ["as_markdown", "as_summary"]


def as_markdown(records: Sequence[dict[str, Any]]) -> str:
    """Format the page from results in the form of :meth:`~.run.Result.record`."""
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
        f"{len(records)} proofs; {unbounded} of them use k-induction and hold for any number of "
        "cycles, with the depth of the induction in the table. The covers show that the asserted "
        "situations occur. The seconds were measured with two proofs running side by side; "
        f"{seconds:.0f} in total."
    )
    parts = [explained, table(headings, rows)]
    parts += ["## Geometry", table(["proof", "geometry:", "why:"], shapes)]
    faults = [[bug.block, bug.fault] for bug in SEEDED_BUGS]
    shown = (
        "Tests show that each seeded bug fails its proof, by an assertion and with a waveform, and "
        "its bench. RingNode, a part of the proofs, has no bench."
    )
    parts += ["## Seeded bugs", shown, table(["block:", "fault:"], faults)]
    between = [[bug.block, bug.fault, name] for name, bug in BUGS_OF_CONTEXTS]
    shown = "Each of these bugs lets one context disturb another, and fails the named proof."
    parts += [
        "## Seeded bugs between contexts",
        shown,
        table(["block:", "fault:", "proof:"], between),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def as_summary(records: Sequence[dict[str, Any]]) -> str:
    """Summarize the proofs by block, with every proof that does not hold."""
    totals: dict[str, Counter[str]] = {}
    for record in records:
        for block in record["blocks"]:
            totals.setdefault(block, Counter()).update(
                proofs=1,
                unbounded=int(record["mode"] == "k-induction"),
                asserts=record["assertions"],
                covers=record["covers"],
            )
    failing = [record for record in records if record["status"] not in ("proved", "bounded")]
    unbounded = sum(record["mode"] == "k-induction" for record in records)
    bugs = len(SEEDED_BUGS) + len(BUGS_OF_CONTEXTS)
    text = (
        f"{len(records) - len(failing)} of {len(records)} proofs hold. {unbounded} are by "
        "k-induction and hold for any number of cycles; the others hold up to a depth. A cover "
        "shows that the asserted case occurs. A proof of several blocks counts for each. "
        f"{bugs} seeded bugs show that the proofs can fail: tests check that each bug "
        "fails a proof of its block. `t3 prove` also writes the full page, `proofs.md`, with the "
        "statement, geometry, engine and time of each proof, and every seeded bug."
    )
    rows = [
        [block, *(str(total[name]) for name in ("proofs", "unbounded", "asserts", "covers"))]
        for block, total in sorted(totals.items())
    ]
    parts = [text, table(["block:", "proofs", "for any cycle", "asserts", "covers"], rows)]
    if failing:
        shown = [[f"`{record['proof']}`", record["status"]] for record in failing]
        parts += ["## Proofs that do not hold", table(["proof", "status:"], shown)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
