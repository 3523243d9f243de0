"""The proof of a tracker bank fails for every way to break one."""

import pytest

from verification.proofs.run import prove
from verification.proofs.tracker_bank import PROOFS
from verification.seeded_bugs.table import MORE_TRACKER_BANKS

PROOF, _ = PROOFS  # proof with one context


@pytest.mark.verify
@pytest.mark.parametrize("bug", MORE_TRACKER_BANKS, ids=lambda bug: bug.fault)
def test_seeded_bug(bug, tmp_path):
    result = prove(PROOF.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
    assert not any("invariant:" in note for note in result.notes), result.notes
