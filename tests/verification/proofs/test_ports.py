"""The proofs of ports and of the fabric fail for seeded bugs."""

import pytest

from verification.proofs import fabric, link_port
from verification.proofs.run import prove
from verification.seeded_bugs.of_ports import BUGS_OF_FABRIC, BUGS_OF_PORTS, BUGS_OF_TURNS

NAMED = {proof.name: proof for proof in (*fabric.PROOFS, *link_port.PROOFS)}
CASES = [
    *(("link-port", bug) for bug in BUGS_OF_PORTS),
    *(("fabric-departures-2", bug) for bug in BUGS_OF_FABRIC[:3]),
    ("fabric-arrivals-2", BUGS_OF_FABRIC[3]),
    *(("run-merge-3", bug) for bug in BUGS_OF_TURNS),
]


@pytest.mark.verify
@pytest.mark.parametrize(("name", "bug"), CASES, ids=[bug.fault for _, bug in CASES])
def test_seeded_bug(name, bug, tmp_path):
    result = prove(NAMED[name].with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed", result.notes
