"""Summaries of the evidence, from made-up results."""

from verification.coverage.report import as_summary as coverage_summary
from verification.evidence import Evidence
from verification.faults.page import as_summary as faults_summary
from verification.proofs.report import as_summary as proofs_summary


def proof(name, *blocks, mode="k-induction", status="proved"):
    return {
        "proof": name,
        "blocks": list(blocks),
        "mode": mode,
        "status": status,
        "assertions": 3,
        "covers": 2,
    }


def test_proofs_count_for_each_of_their_blocks():
    found = [proof("a", "Queue"), proof("b", "Queue", "Merge"), proof("c", "Ring", mode="bounded")]
    found[2]["status"] = "bounded"
    text = proofs_summary(found)
    assert "3 of 3 proofs hold. 2 are by k-induction" in text
    assert "| Merge | 1 | 1 | 3 | 2 |\n| Queue | 2 | 2 | 6 | 4 |\n| Ring | 1 | 0 | 3 | 2 |" in text
    assert "do not hold" not in text


def test_a_proof_that_fails_is_shown():
    text = proofs_summary([proof("a", "Queue"), proof("b", "Queue", status="failed")])
    assert "1 of 2 proofs hold." in text
    assert (
        "## Proofs that do not hold\n\n| proof | status |\n| :-- | :-- |\n| `b` | failed |" in text
    )


def test_coverage_adds_up_waivers_and_shows_points_without_one():
    holes = [
        {"kind": "toggle", "where": f"x[{n}]", "points": n, "reason": "a waiver"} for n in (1, 2)
    ]
    holes += [{"kind": "line", "where": "y.py:3", "points": 4, "reason": None}]
    counts = {kind: {"hit": 9, "points": 10} for kind in ("line", "toggle", "functional")}
    text = coverage_summary({"scale": 5, "blocks": [{"block": "queue", "holes": holes} | counts]})
    assert "| queue | 90.0% of 10 | 90.0% of 10 | 9 of 10 | 4 |" in text
    assert "| a waiver | 3 |" in text
    assert "## Not waived" in text and "| queue | line | `y.py:3` | 4 |" in text


def test_faults_add_up_the_outcomes_that_must_not_happen():
    outcomes = {"corrected": 5, "reported": 0, "harmless": 2}
    outcomes |= {"misreported": 1, "silent corruption": 2, "hang": 3}
    kind = {
        "kind": "flit-lost",
        "faults": 13,
        "outcomes": outcomes,
        "report_cycles": None,
        "report_bound_cycles": None,
        "delay_cycles": 1234,
        "delay_bound_cycles": 2000,
    }
    text = faults_summary({"faults": 13, "failures": 6, "kinds": [kind]})
    assert text.startswith("**13 faults, 6 failures.**")
    assert "| flit-lost | 13 | 5 | 0 | 2 | 6 |  | 1,234 of 2,000 |" in text


def test_both_pages_name_the_command_and_the_program(tmp_path):
    with Evidence(tmp_path, "proofs", title="Proofs", command="t3 prove") as evidence:
        evidence.publish({"proofs": []}, "All of it.", "In short.")
    for name, body in (("proofs.md", "All of it."), ("proofs-summary.md", "In short.")):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith("# Proofs\n\nMade by `t3 prove` (t3 ")
        assert text.endswith(f").\n\n{body}\n")
