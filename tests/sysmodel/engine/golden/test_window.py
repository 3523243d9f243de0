"""The golden window unit against the rules of the page."""

import numpy as np
import pytest
from golden_state import fresh_state

from sysmodel.engine.golden.state import C, U
from sysmodel.engine.golden.window import step_window


def launched(**config):
    state = fresh_state()
    defaults = dict(tracked_first=6, tracked_end=24, shift=6, window=8, command_window=12)
    for name, value in (defaults | config).items():
        state.config[getattr(C, name)] = value
    step_window(state, 0, -1, False, False, True, False)
    step_window(state, 0, -1, False, False, False, False)
    return state


def test_window_limit():
    state = launched(command_window=9)
    assert state.gpu[U.limit] == 14
    step_window(state, 0, 6, False, False, False, False)
    step_window(state, 0, -1, False, False, False, False)  # the bit is consumed
    assert state.gpu[U.base] == 7 and state.gpu[U.limit] == 14
    step_window(state, 0, 8, False, False, False, False)
    assert state.gpu[U.limit] == 15  # what may wait for the engine bounds it now
    step_window(state, 0, -1, True, True, False, False)
    step_window(state, 0, -1, False, False, False, False)
    assert state.gpu[U.picked] == 2 and state.gpu[U.base] == 7
    assert state.gpu[U.limit] == 15


def test_window_out_of_order():
    state = launched()
    rng = np.random.default_rng(1)
    done = set()
    places = list(range(6, 24))
    while places or state.gpu[U.base] < 24:
        open_places = [p for p in places if p < state.gpu[U.limit]]
        place = int(rng.choice(open_places)) if open_places and rng.random() < 0.5 else -1
        if place >= 0:
            places.remove(place)
            done.add(place)
        step_window(state, 0, place, place >= 0, False, False, False)
        assert all(p in done for p in range(6, state.gpu[U.base]))
        assert not state.gpu[U.done]
    step_window(state, 0, -1, False, False, False, False)
    assert state.gpu[U.done]


@pytest.mark.parametrize(
    ("limit_in", "expected"), [(0, 0), (5, 0), (9, 3), (11, 5), (12, 14), (30, 14)]
)
def test_dispatch_limit(limit_in, expected):
    state = launched()
    step_window(state, limit_in, -1, False, False, False, False)
    assert state.gpu[U.dispatch_limit] == expected


def test_timeout():
    state = launched(timeout=5)
    seen = [step_window(state, 0, -1, False, False, False, False) for _ in range(13)]
    # One cycle counts already; the sixth cycle after it reports, and so on.
    assert np.nonzero(seen)[0].tolist() == [4, 10]


def test_timeout_of_what_cannot_be_sent():
    """At the end only cycles in which the link takes nothing count."""
    state = launched(timeout=5, tracked_end=6)
    unfinished = [1, 1, 1, 0, *[1] * 12]
    seen = [step_window(state, 0, -1, False, False, False, stall) for stall in unfinished]
    assert np.nonzero(seen)[0].tolist() == [9, 15]
