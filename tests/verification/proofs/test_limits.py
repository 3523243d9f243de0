"""The proofs of the range limits fail for every seeded bug of the block."""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.of_limits import BUGS_OF_LIMITS

_BY_NAME = {proof.name: proof for proof in PROOFS}


@pytest.mark.verify
@pytest.mark.parametrize(("name", "bug"), BUGS_OF_LIMITS, ids=[b.fault for _, b in BUGS_OF_LIMITS])
def test_seeded_bug(name, bug, tmp_path):
    proof = _BY_NAME[name].with_copy(bug.original, bug.seeded())
    result = prove(proof, tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
    assert not any("invariant:" in note for note in result.notes), result.notes
