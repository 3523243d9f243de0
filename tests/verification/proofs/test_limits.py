"""The proofs of the range limits and of their gates fail for every seeded bug of the blocks."""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.of_gates import BUGS_OF_GATES
from verification.seeded_bugs.of_limits import BUGS_OF_LIMITS

BUGS = BUGS_OF_LIMITS + BUGS_OF_GATES
_BY_NAME = {proof.name: proof for proof in PROOFS}


@pytest.mark.verify
@pytest.mark.parametrize(("name", "bug"), BUGS, ids=[bug.fault for _, bug in BUGS])
def test_seeded_bug(name, bug, tmp_path):
    proof = _BY_NAME[name].with_copy(bug.original, bug.seeded())
    result = prove(proof, tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
    assert not any("invariant:" in note for note in result.notes), result.notes
