"""The link's proofs fail for seeded bugs: delivery, progress, sessions and control words."""

from dataclasses import replace

import pytest

from verification.proofs import link_control, link_endpoint, link_session
from verification.proofs.run import prove
from verification.seeded_bugs.bug import SeededBug
from verification.seeded_bugs.table import bug_of

DELIVERY, PROGRESS = link_endpoint.PROOFS
(CONTROL,) = link_control.PROOFS
(SESSION,) = link_session.PROOFS
NEVER_GOES_BACK = SeededBug(
    module="rtl.link.sender",
    block="LinkSender",
    fault="sends nothing again",
    right="self.replay.eq(self.again | (self.decides & ~self.accept & expired))",
    wrong="self.replay.eq(0)",
)
KEEPS_A_DROPPED_FRAME = SeededBug(
    module="rtl.link.receiver",
    block="LinkReceiver",
    fault="counts the packets of a frame that was dropped",
    right="awaited.eq(Mux(self.i.p.first, state.acknowledge, self.upcoming))",
    wrong="awaited.eq(self.upcoming)",
)
ACROSS_A_REPLAY = SeededBug(
    module="rtl.link.sender",
    block="LinkSender",
    fault="continues a frame when it goes back",
    right="            self.straight.eq(0),\n",
    wrong="",
)
NO_CREDIT_IN_A_FRAME = SeededBug(
    module="rtl.link.sender",
    block="LinkSender",
    fault="continues a frame beyond its credits",
    right="& (upcoming != self.limit)",
    wrong="& ((upcoming != self.limit) | (self.o.valid & self.straight))",
)
TOO_OFTEN = SeededBug(
    module="rtl.link.control",
    block="ControlSender",
    fault="takes every second place",
    right="goes.eq(news & places.all())",
    wrong="goes.eq(news)",
)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("proof", "bug", "message"),
    [
        (DELIVERY, bug_of("LinkReceiver"), "a packet is delivered twice"),
        (DELIVERY, bug_of("LinkSender"), "delivered without space"),
        (DELIVERY, KEEPS_A_DROPPED_FRAME, "a packet is delivered twice"),
        (DELIVERY, NO_CREDIT_IN_A_FRAME, "delivered without space"),
        (
            DELIVERY,
            ACROSS_A_REPLAY,
            "a packet without a header has another number than the next one",
        ),
        (
            replace(PROGRESS, cover_depth=18),
            NEVER_GOES_BACK,
            "no packet is delivered although the link works",
        ),
        (CONTROL, bug_of("ControlReceiver"), "a packet is lost or invented"),
        (CONTROL, bug_of("ControlSender"), "the delivered word is not the sent one"),
        (CONTROL, TOO_OFTEN, "words take too many places"),
        (SESSION, bug_of("LinkSession"), "a session exchanges flits with two others"),
    ],
)
def test_seeded_bug(proof, bug, message, tmp_path):
    result = prove(proof.with_copy(bug.original, bug.seeded()), tmp_path)
    assert result.status == "failed"
    assert result.trace is not None and result.trace.stat().st_size > 0
    assert any(message in note for note in result.notes), result.notes
