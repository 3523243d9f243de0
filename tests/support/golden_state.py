"""A golden state for the tests of single blocks."""

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset
from sysmodel.engine.ports import output_words

__all__ = ["fresh_state"]


def fresh_state(**parameters) -> GoldenState:
    """Return the state of a small GPU after reset."""
    defaults = dict(
        contexts=1,
        system_channels=4,
        interleave_atoms=4,
        address_bits=28,
        sets=8,
        ways=2,
        credit_window=16,
    )
    p = T3Parameters(**defaults | parameters)
    state = new_state(p)
    reset(state, np.zeros(output_words(p), np.uint64))
    return state
