"""The golden credit window unit against the rules of the page."""

import numpy as np
import pytest
from golden_state import fresh_state

from sysmodel.engine.golden.credit_window import step_credit_window


def launched(**config):
    state = fresh_state()
    defaults = dict(tracked_first=6, tracked_end=24, shift=6, credit_window=8, command_window=12)
    for name, value in (defaults | config).items():
        state.contexts[0]["launch"][name] = value
    step_credit_window(state, 0, 0, -1, False, False, True, False)
    step_credit_window(state, 0, 0, -1, False, False, False, False)
    return state


def test_region_limit():
    state = launched(command_window=9)
    assert state.contexts[0]["credit_limit"] == 14
    step_credit_window(state, 0, 0, 6, False, False, False, False)
    step_credit_window(state, 0, 0, -1, False, False, False, False)  # the bit is consumed
    assert state.contexts[0]["oldest"] == 7 and state.contexts[0]["credit_limit"] == 14
    step_credit_window(state, 0, 0, 8, False, False, False, False)
    assert state.contexts[0]["credit_limit"] == 15  # what may wait for the engine bounds it now
    step_credit_window(state, 0, 0, -1, True, True, False, False)
    step_credit_window(state, 0, 0, -1, False, False, False, False)
    assert state.contexts[0]["issued"] == 2 and state.contexts[0]["oldest"] == 7
    assert state.contexts[0]["credit_limit"] == 15


def test_region_out_of_order():
    state = launched()
    rng = np.random.default_rng(1)
    done = set()
    dispatch_indices = list(range(6, 24))
    while dispatch_indices or state.contexts[0]["oldest"] < 24:
        open_dispatch_indices = [
            p for p in dispatch_indices if p < state.contexts[0]["credit_limit"]
        ]
        dispatch_index = (
            int(rng.choice(open_dispatch_indices))
            if open_dispatch_indices and rng.random() < 0.5
            else -1
        )
        if dispatch_index >= 0:
            dispatch_indices.remove(dispatch_index)
            done.add(dispatch_index)
        step_credit_window(state, 0, 0, dispatch_index, dispatch_index >= 0, False, False, False)
        assert all(p in done for p in range(6, state.contexts[0]["oldest"]))
        assert not state.contexts[0]["done"]
    step_credit_window(state, 0, 0, -1, False, False, False, False)
    assert state.contexts[0]["done"]


@pytest.mark.parametrize(
    ("credit_limit_in", "expected"), [(0, 0), (5, 0), (9, 3), (11, 5), (12, 14), (30, 14)]
)
def test_dispatch_limit(credit_limit_in, expected):
    state = launched()
    step_credit_window(state, 0, credit_limit_in, -1, False, False, False, False)
    assert state.contexts[0]["dispatch_limit"] == expected


def test_timeout():
    state = launched(timeout=5)
    seen = [step_credit_window(state, 0, 0, -1, False, False, False, False) for _ in range(13)]
    # One cycle counts already; the sixth cycle after it reports, and so on.
    assert np.nonzero(seen)[0].tolist() == [4, 10]


def test_timeout_of_what_cannot_be_sent():
    """At the end only cycles in which the link takes nothing count."""
    state = launched(timeout=5, tracked_end=6)
    unfinished = [1, 1, 1, 0, *[1] * 12]
    seen = [step_credit_window(state, 0, 0, -1, False, False, False, stall) for stall in unfinished]
    assert np.nonzero(seen)[0].tolist() == [9, 15]
