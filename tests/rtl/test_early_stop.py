"""The tests of small blocks notice each clock enable that misses one of its terms.

``tests/tb/test_early_stop.py`` shows the same for the benches.
"""

from functools import partial

import pytest

from rtl.channel.outstanding_counter import OutstandingCounter
from rtl.context.external_status import ExternalStatus
from rtl.context.peer_status import PeerStatus
from rtl.lib.pipeline_register import PipelineRegister
from rtl.lib.wide_counter import WideCounter
from rtl.link.errors import LinkErrors
from rtl.parameters import T3Parameters
from rtl.registers.error_priority_encoder import ErrorPriorityEncoder
from rtl.trigger.range_limits import RangeLimits
from tests.rtl.channel.test_outstanding_counter import check_counts
from tests.rtl.context.test_external_status import check as check_external_status
from tests.rtl.context.test_peer_status import check as check_peer_status
from tests.rtl.lib.test_pipeline_register import check as check_pipeline_register
from tests.rtl.lib.test_wide_counter import check_random as check_wide_counter
from tests.rtl.link.test_link_errors import CHANNELS
from tests.rtl.link.test_link_errors import check as check_link_errors
from tests.rtl.registers.test_error_priority_encoder import CODES, CONTEXTS
from tests.rtl.registers.test_error_priority_encoder import check as check_encoder
from tests.rtl.trigger.test_range_limits import P as LIMITS
from tests.rtl.trigger.test_range_limits import check as check_range_limits
from verification.mutation.early_stop import early_stops, stops_early

P = T3Parameters(contexts=1, channels=CHANNELS)
# Each block as its own test makes it, and the test.
TESTS = {
    ErrorPriorityEncoder: (
        partial(ErrorPriorityEncoder, T3Parameters(contexts=CONTEXTS), **CODES),
        check_encoder,
    ),
    ExternalStatus: (partial(ExternalStatus, P), check_external_status),
    LinkErrors: (partial(LinkErrors, P), check_link_errors),
    OutstandingCounter: (
        partial(OutstandingCounter, begins=2, ends=4),
        lambda kind: check_counts(0, kind),
    ),
    PeerStatus: (partial(PeerStatus, P), check_peer_status),
    PipelineRegister: (partial(PipelineRegister, 2), check_pipeline_register),
    RangeLimits: (partial(RangeLimits, LIMITS), check_range_limits),
    WideCounter: (partial(WideCounter, 20), check_wide_counter),
}
# Beginnings of terms whose removal changes no output, each with the reason.
EQUIVALENT = {
    "OutstandingCounter: begun": "a begun request also counts until the next event adds it",
    "RangeLimits: chosen": "with several ranges, the range before is merged in the same cycle",
    "WideCounter: full_0": "the counter is not 0 while a block is full",
    "WideCounter: full_8": "the counter is not 0 while a block is full",
}
ALL = [(block, one) for block, (make, _) in TESTS.items() for one in early_stops(make())]
DEFECTS = [(block, one) for block, one in ALL if not one.place.startswith(tuple(EQUIVALENT))]


@pytest.mark.parametrize("beginning", EQUIVALENT)
def test_every_listed_term_exists(beginning):
    assert any(one.place.startswith(beginning) for _, one in ALL)


@pytest.mark.parametrize(
    ("block", "defect"), DEFECTS, ids=[f"{one.kind} without {one.term}" for _, one in DEFECTS]
)
def test_a_block_that_stops_early_fails(block, defect):
    _, check = TESTS[block]
    with pytest.raises(AssertionError):
        check(stops_early(block, defect.number))
