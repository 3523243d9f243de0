"""The proofs with two contexts fail for every way in which one gets in the way of the other."""

import pytest

from t3.verification.proofs.registry import PROOFS
from t3.verification.proofs.run import prove
from t3.verification.seeded_bugs.table import BUGS_OF_CONTEXTS

_BY_NAME = {proof.name: proof for proof in PROOFS}


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "bug"), BUGS_OF_CONTEXTS, ids=[bug.fault for _, bug in BUGS_OF_CONTEXTS]
)
def test_seeded_bug(name, bug, tmp_path):
    proof = _BY_NAME[name].with_copy(bug.original, bug.seeded())
    result = prove(proof, tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
    assert not any("invariant:" in note for note in result.notes), result.notes
