"""The proofs of the address map fail for every seeded bug of the slots."""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.of_slots import BUGS_OF_SLOTS

_BY_NAME = {proof.name: proof for proof in PROOFS}


@pytest.mark.verify
@pytest.mark.parametrize(("name", "bug"), BUGS_OF_SLOTS, ids=[b.fault for _, b in BUGS_OF_SLOTS])
def test_seeded_bug(name, bug, tmp_path):
    proof = _BY_NAME[name].with_copy(bug.original, bug.seeded())
    result = prove(proof, tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
