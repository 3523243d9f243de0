"""Time of a cycle of the golden model; the test prints the time without judging it."""

import time

import numpy as np
import pytest

from rtl.interface.encodings import Access
from rtl.parameters import T3Parameters
from sysmodel.engine.golden import new_state, reset, step
from sysmodel.engine.ports import I, input_words, output_words
from sysmodel.lib.compiled import cached_njit

CYCLES = 20_000


@cached_njit()
def advance(state, inputs, outputs, cycles):
    for cycle in range(cycles):
        step(state, inputs[cycle % len(inputs)], outputs)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5])
def test_step(density, capsys):
    p = T3Parameters(contexts=1)
    rng = np.random.default_rng(1)
    inputs = np.zeros((4096, input_words(p)), np.uint64)
    for name in I._fields:
        if name.endswith(("_valid", "_ready")) and not name.startswith(("nmc", "returns")):
            inputs[:, getattr(I, name)] = rng.random(len(inputs)) < density
    inputs[:, I.issue_acks_access] = Access.UPDATE.value
    inputs[:, I.issue_acks_dispatch_index] = rng.integers(0, 256, len(inputs))
    inputs[:, I.stores_atom] = rng.integers(0, 1 << 30, len(inputs))
    state, outputs = new_state(p), np.zeros(output_words(p), np.uint64)
    reset(state, outputs)
    best = np.inf
    for _ in range(20):
        begin = time.perf_counter()
        advance(state, inputs, outputs, CYCLES)
        best = min(best, time.perf_counter() - begin)
    with capsys.disabled():
        print(f" {density:.0%} of the streams valid: {best / CYCLES * 1e9:.0f} ns per cycle")
    assert outputs.any()
