"""The link endpoint's proofs hold, and fail for seeded bugs."""

from dataclasses import replace

import pytest

from verification.proofs.link_endpoint import PROOFS
from verification.proofs.run import prove
from verification.seeded_bugs.bug import SeededBug
from verification.seeded_bugs.table import bug_of

DELIVERY, PROGRESS = PROOFS
NEVER_GOES_BACK = SeededBug(
    module="rtl.link.sender",
    block="LinkSender",
    fault="sends nothing again",
    right="self.replay.eq(self.again | (self.decides & ~self.accept & expired))",
    wrong="self.replay.eq(0)",
)


def test_delivery(tmp_path):
    result = prove(DELIVERY, tmp_path)
    assert result.status == "proved", result.notes


@pytest.mark.verify
def test_progress(tmp_path):
    result = prove(PROGRESS, tmp_path)
    assert result.status == "proved", result.notes


@pytest.mark.parametrize(
    ("proof", "bug", "message"),
    [
        (DELIVERY, bug_of("LinkReceiver"), "a packet is delivered twice"),
        pytest.param(
            DELIVERY, bug_of("LinkSender"), "delivered without room", marks=pytest.mark.verify
        ),
        pytest.param(
            replace(PROGRESS, cover_depth=18),
            NEVER_GOES_BACK,
            "no packet is delivered although the link works",
            marks=pytest.mark.verify,
        ),
    ],
)
def test_seeded_bug(proof, bug, message, tmp_path):
    result = prove(proof.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed"
    assert result.trace is not None and result.trace.stat().st_size > 0
    assert any(message in note for note in result.notes), result.notes
