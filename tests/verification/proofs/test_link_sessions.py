"""The proofs of a link's sessions and control words hold, and fail for seeded bugs."""

import pytest

from verification.proofs import link_control, link_session
from verification.proofs.run import prove
from verification.seeded_bugs.bug import SeededBug
from verification.seeded_bugs.table import bug_of

(CONTROL,) = link_control.PROOFS
(SESSION,) = link_session.PROOFS
TOO_OFTEN = SeededBug(
    module="rtl.link.control",
    block="ControlTeller",
    fault="takes every second place",
    right="goes.eq(news & places.all())",
    wrong="goes.eq(news)",
)


def test_control_words(tmp_path):
    result = prove(CONTROL, tmp_path)
    assert result.status == "proved", result.notes


def test_sessions(tmp_path):
    result = prove(SESSION, tmp_path)
    assert result.status == "proved", result.notes


@pytest.mark.parametrize(
    ("proof", "bug", "message"),
    [
        (CONTROL, bug_of("ControlListener"), "a packet is lost or made"),
        (CONTROL, bug_of("ControlTeller"), "what is told is not what was to be told"),
        (CONTROL, TOO_OFTEN, "words take too many places"),
        (SESSION, bug_of("LinkSession"), "a session exchanges flits with two others"),
    ],
)
def test_seeded_bug(proof, bug, message, tmp_path):
    result = prove(proof.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed"
    assert result.trace is not None and result.trace.stat().st_size > 0
    assert any(message in note for note in result.notes), result.notes
