"""Lockstep of the top with two and three contexts: RTL and golden model in every cycle."""

from dataclasses import replace

import numpy as np
import pytest

from rtl.interface.encodings import Granularity, Policy
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, K
from tb.top.host import Host
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Storm, Traffic
from tests.support.lockstep_contexts import P, kernels
from tests.support.lockstep_recording import record, replay


class _AnyOf:
    """Return random writes into the pages of all contexts."""

    def __init__(self, rng, sources):
        self._rng, self._sources = rng, sources

    def __call__(self):
        return self._sources[self._rng.integers(0, len(self._sources))]()


def run(p, programs, cycles, *, seed, reprogram=False, traffic=Traffic, **options):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    writes = [word for kernel in programs for word in kernel.program(p)]
    changes = _AnyOf(rng, [Reprogramming(rng, p, kernel) for kernel in programs])
    host = Host(rng, p, writes, changes if reprogram else None)
    recording = record(p, traffic(rng, p, programs[0], host, *programs[1:], **options), cycles)
    replay(recording)
    return recording


def outputs_of(recording, context):
    """Return the outputs of a context in the last cycle."""
    p = recording.parameters
    return recording.outputs[-1, p.channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS :]


def interrupted(recording):
    """Count the cycles in which each context raises its interrupt for an error."""
    first = recording.parameters.channels * CHANNEL_OUTPUTS + K.irq
    return recording.outputs[:, first::CONTEXT_OUTPUTS][:, : P.contexts].sum(0)


@pytest.mark.parametrize(
    "granularity",
    [Granularity.WORKGROUP, pytest.param(Granularity.WAVEFRONT, marks=pytest.mark.verify)],
)
def test_both_launches_end(granularity):
    policy = Policy.CRITICAL if granularity is Granularity.WORKGROUP else Policy.ROUND_ROBIN
    recording = run(P, kernels(P, granularity=granularity, policy=policy), 6000, seed=1, pace=0.5)
    for context in range(P.contexts):
        last = outputs_of(recording, context)
        assert last[K.done] and not last[K.irq], context
        assert last[K.tiles]


def test_a_launch_that_awaits_another():
    """Its workgroups start only after slots of the other launch, and both launches end."""
    recording = run(P, kernels(P, gated=True), 9000, seed=1, pace=0.5)
    first = P.channels * CHANNEL_OUTPUTS
    tiles, limits = (
        recording.outputs[:, first + name :: CONTEXT_OUTPUTS][:, : P.contexts]
        for name in (K.tiles, K.dispatch_limit)
    )
    starts = limits[:, 1].nonzero()[0][0]
    assert 0 < tiles[starts, 0] < tiles[-1, 0]
    assert len(set(limits[:, 1].tolist())) > 4
    for context in range(P.contexts):
        last = outputs_of(recording, context)
        assert last[K.done] and not last[K.irq], context


@pytest.mark.parametrize("seed", range(3))
def test_reprogramming_on_the_run(seed):
    programs = kernels(P, granularity=Granularity(seed & 1), gated=seed > 0)
    recording = run(P, programs, 4000, seed=seed, reprogram=True, noise=0.05)
    assert interrupted(recording).all()


@pytest.mark.parametrize("reprogram", [False, True])
def test_tracker_errors(reprogram):
    recording = run(P, kernels(P), 3000, seed=2, reprogram=reprogram, traffic=Storm)
    errors = interrupted(recording).tolist()
    # A reprogrammed context may be aborted before it has an error.
    assert max(errors) > 10 and (reprogram or min(errors) > 10)


@pytest.mark.verify
@pytest.mark.parametrize("contexts", [2, 3])
@pytest.mark.parametrize("seed", range(200, 220))
def test_long(seed, contexts):
    p = replace(P, contexts=contexts, with_data=seed % 4 == 0)
    programs = kernels(
        p,
        granularity=Granularity(seed & 1),
        policy=Policy(seed % len(Policy)),
        group_log2=seed // 2 % 3 if seed & 1 else 0,
        gated=seed % 3 == 0,
    )
    run(
        p,
        programs,
        10_000,
        seed=seed,
        reprogram=seed % 4 != 0,
        noise=(0, 0.02, 0.2)[seed // 3 % 3],
        pace=(0.2, 0.5, 1.0)[seed // 7 % 3],
        traffic=Storm if seed % 5 == 0 else Traffic,
    )
