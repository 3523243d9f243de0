"""The quick proofs hold (`t3 prove` has all of them), and none of them with a seeded bug."""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.table import SEEDED_BUGS


@pytest.mark.parametrize(
    "proof", [pytest.param(proof, id=proof.name) for proof in PROOFS if not proof.slow]
)
def test_holds(proof, tmp_path):
    result = prove(proof, tmp_path)
    assert (result.status, result.notes) == (result.expected, [])
    assert result.covers > 0 and result.assertions > 0
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(one, id=one.block, marks=() if one.block == "Queue" else pytest.mark.verify)
        for one in SEEDED_BUGS
    ],
)
def test_fails_with_a_seeded_bug(bug, tmp_path):
    """With a waveform, and the line of an assertion of the contract, not of an invariant."""
    # The one that is about what this block does most of all.
    proofs = [proof for proof in PROOFS if bug.original in proof.blocks]
    proof = min(
        proofs,
        key=lambda proof: (proof.name.startswith("sleep-"), len(proof.blocks), proof.slow),
    )
    result = prove(proof.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed" and not result.holds
    assert result.trace.read_text().startswith("$") and result.trace.stat().st_size > 500
    assert result.notes
    for note in result.notes:
        assert note.startswith("failed: ") and "invariant:" not in note
        assert "(verification/proofs/" in note
