"""Proofs hold, and fail with a seeded bug. `t3 prove` runs every proof."""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.table import SEEDED_BUGS

# A queue, a memory and arithmetic.
_QUICK = {"queue-4", "memory-queue", "serial-product-4"}


def _run(proof):
    marks = () if proof.name in _QUICK else pytest.mark.verify
    return pytest.param(proof, id=proof.name, marks=marks)


@pytest.mark.parametrize("proof", [_run(proof) for proof in PROOFS if not proof.slow])
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
    """The result has a waveform, and names an assertion of the contract, not an invariant."""
    # The proof most specific to this block.
    proofs = [proof for proof in PROOFS if bug.original in proof.blocks]
    proof = min(
        proofs,
        key=lambda proof: (proof.name.startswith("clock-gating-"), len(proof.blocks), proof.slow),
    )
    result = prove(proof.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed" and not result.holds
    assert result.trace.read_text().startswith("$") and result.trace.stat().st_size > 500
    assert result.notes
    for note in result.notes:
        assert note.startswith("failed: ") and "invariant:" not in note
        assert "(verification/proofs/" in note
