"""The golden model skips work in cycles without change; the results equal those of full steps."""

import numpy as np
import pytest

from rtl.interface.encodings import Granularity, Policy
from sysmodel.engine.golden import new_state, reset, step
from sysmodel.engine.golden.activity.counters import clocked_cycles
from sysmodel.engine.ports import input_words, output_words
from tb.top.host import Host, Kernel
from tb.top.traffic import Traffic
from tests.support.lockstep_geometries import GEOMETRIES

CYCLES = 10_000


@pytest.mark.parametrize("name", ["one channel", "all, payload"])
@pytest.mark.parametrize(
    "seed", [128, *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(100, 120))]
)
def test_skipping_idle_work_changes_nothing(name, seed):
    p = GEOMETRIES[name]
    rng = np.random.default_rng(seed)
    kernel = Kernel(
        granularity=Granularity(seed & 1),
        policy=Policy(seed % len(Policy)),
        wavefronts=1 + seed % 2,
    )
    stimulus = Traffic(rng, p, kernel, Host(rng, p, kernel.program(p)), noise=0, pace=0.2)
    states = [new_state(p), new_state(p)]
    outputs = [np.zeros(output_words(p), np.uint64) for _ in states]
    inputs, rested = np.zeros(input_words(p), np.uint64), 0
    for state, shown in zip(states, outputs, strict=True):
        reset(state, shown)
    for cycle in range(CYCLES):
        stimulus(outputs[0], inputs)
        rested += int(states[0].gpu["quiescent"])
        states[1].gpu["quiescent"] = 0
        for state, shown in zip(states, outputs, strict=True):
            step(state, inputs, shown)
        assert (outputs[0] == outputs[1]).all(), (cycle, np.nonzero(outputs[0] != outputs[1]))
        assert (clocked_cycles(states[0]) == clocked_cycles(states[1])).all(), cycle
    assert rested > CYCLES // 100
