"""The proofs with two contexts fail for every way in which one context disturbs the other, and
those of the peers for every way in which packets, limits or aborts of the wrong peers count.
"""

import pytest

from verification.proofs.registry import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.of_contexts import BUGS_OF_CONTEXTS
from verification.seeded_bugs.of_neighbours import BUGS_OF_NEIGHBOURS
from verification.seeded_bugs.of_peers import BUGS_OF_PEERS

BUGS = BUGS_OF_CONTEXTS + BUGS_OF_NEIGHBOURS + BUGS_OF_PEERS
_BY_NAME = {proof.name: proof for proof in PROOFS}
# Parts of a block that is proven, with the module in which each is replaced.
_PARTS = {
    "AccessMerge": "rtl.channel.channel",
    "LinkMerge": "rtl.channel.channel",
    "PacketCheck": "rtl.channel.channel",
    "TableWalk": "rtl.tracker.bank",
}


@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.fault) for _, bug in BUGS])
def test_source_has_the_replaced_text(bug):
    assert bug.seeded() is not bug.original


@pytest.mark.verify
@pytest.mark.parametrize(("name", "bug"), BUGS, ids=[bug.fault for _, bug in BUGS])
def test_seeded_bug(name, bug, monkeypatch, tmp_path):
    proof = _BY_NAME[name]
    if bug.original not in proof.blocks:
        monkeypatch.setattr(f"{_PARTS[bug.block]}.{bug.block}", bug.seeded())
    else:
        proof = proof.with_copy(bug.original, bug.seeded())
    result = prove(proof, tmp_path)
    assert result.status == "failed" and result.trace.stat().st_size > 500
    assert not any("invariant:" in note for note in result.notes), result.notes
