"""The golden credit window unit against the rules of the page."""

import numpy as np
import pytest

from driver.python import Context, Recorder
from rtl.interface.timebase import TICK_CYCLES
from rtl.registers.map import load
from sysmodel.engine.golden.trigger.credit_window import WindowInputs, step_credit_window
from tests.support.golden_state import fresh_state


def window(state):
    return state.contexts[0]["window"]


def step(
    state,
    *,
    complete=-1,
    own=False,
    issued=False,
    launch=False,
    unfinished=False,
    tick=True,
):
    """Run one cycle; return whether the timeout is reported."""
    context = state.contexts[0]
    inputs = WindowInputs(complete, own, issued, launch, bool(unfinished), False, tick, False)
    return step_credit_window(
        state.config, window(state), state.complete[0], context["launch"], inputs
    ).expired


def launched(**config):
    state = fresh_state()
    defaults = dict(tracked_first=6, tracked_end=24, credit_window=8, command_window=12)
    for name, value in (defaults | config).items():
        state.contexts[0]["launch"][name] = value
    step(state, launch=True)
    step(state)
    return state


def test_region_limit():
    state = launched(command_window=9)
    assert window(state)["credit_limit"] == 14
    step(state, complete=6)
    step(state)  # the bit is consumed
    assert window(state)["oldest"] == 7 and window(state)["credit_limit"] == 14
    step(state, complete=8)
    assert window(state)["credit_limit"] == 15  # the command window bounds it now
    step(state, own=True, issued=True)
    step(state)
    assert window(state)["issued"] == 2 and window(state)["oldest"] == 7
    assert window(state)["credit_limit"] == 15


def test_region_out_of_order():
    state = launched()
    rng = np.random.default_rng(1)
    done = set()
    dispatch_indices = list(range(6, 24))
    while dispatch_indices or window(state)["oldest"] < 24:
        open_dispatch_indices = [p for p in dispatch_indices if p < window(state)["credit_limit"]]
        dispatch_index = (
            int(rng.choice(open_dispatch_indices))
            if open_dispatch_indices and rng.random() < 0.5
            else -1
        )
        if dispatch_index >= 0:
            dispatch_indices.remove(dispatch_index)
            done.add(dispatch_index)
        step(state, complete=dispatch_index, own=dispatch_index >= 0)
        assert all(p in done for p in range(6, window(state)["oldest"]))
        assert not window(state)["done"]
    step(state)
    assert window(state)["done"]


def test_timeout():
    state = launched(timeout=5)
    seen = [step(state) for _ in range(13)]
    # One tick counts already; the sixth cycle after it reports, and so on.
    assert np.nonzero(seen)[0].tolist() == [4, 10]


def test_timeout_of_what_cannot_be_sent():
    """Ticks count at the end only if the link takes no packet."""
    state = launched(timeout=5, tracked_end=6)
    unfinished = [1, 1, 1, 0, *[1] * 12]
    seen = [step(state, unfinished=stall) for stall in unfinished]
    assert np.nonzero(seen)[0].tolist() == [9, 15]


@pytest.mark.parametrize("cycles", [1, 2, 63, 64, 65, 100, 127, 128, 129, 1000])
def test_timeout_of_the_driver(cycles):
    """The timeout comes after so many cycles, and at most two ticks later, at any phase of
    ticks."""
    recorder = Recorder()
    Context(recorder).timeout(cycles)
    ((_, word),) = recorder.writes
    seen = []
    for phase in range(TICK_CYCLES):
        state = launched(timeout=load()["TIMEOUT"].unpack(word)["ticks"])
        step(state, launch=True)
        waits = 1  # the first cycle in which the launch waits
        while not step(state, tick=(waits + phase) % TICK_CYCLES == 0):
            waits += 1
        seen.append(waits)
    assert min(seen) > cycles and max(seen) <= cycles + 2 * TICK_CYCLES


def test_no_timeout():
    recorder = Recorder()
    Context(recorder).timeout(0)
    assert recorder.writes == [(load()["TIMEOUT"].address_in(0), 0)]
