"""The whole top against the golden model, on the same inputs cycle by cycle."""

import numpy as np
import pytest

from rtl.interface.encodings import Granularity, PacketKind, Policy
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H, I, J, K, O
from tb.top.host import Host, Kernel
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Storm, Traffic
from tests.support.lockstep_geometries import GEOMETRIES
from tests.support.lockstep_recording import record, replay


@pytest.fixture(
    params=[
        # Builds take long; tests/sysmodel/runs/test_check.py covers values.
        pytest.param(
            p, id=name, marks=() if p.banks > 1 and not p.with_data else pytest.mark.verify
        )
        for name, p in GEOMETRIES.items()
    ],
    scope="module",
)
def parameters(request):
    return request.param


def run(p, kernel, cycles, *, seed, reprogram=False, traffic=Traffic, **options):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    host = Host(rng, p, kernel.program(p), Reprogramming(rng, p, kernel) if reprogram else None)
    recording = record(p, traffic(rng, p, kernel, host, **options), cycles)
    replay(recording)
    return recording


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("policy", Policy)
def test_launch_configuration(parameters, policy, granularity):
    kernel = Kernel(policy=policy, granularity=granularity, wavefronts=2)
    recording = run(parameters, kernel, 4000, seed=1 + policy.value, pace=0.3)
    last = recording.outputs[-1, -len(K) - len(H) :]
    assert last[K.done] and not last[K.irq]
    # Stores keep arriving over the link, but not in every cycle.
    assert recording.outputs[-400:, -len(K) - len(H) + K.idle].any()


@pytest.mark.parametrize("group_log2", [1, 2])
def test_groups(parameters, group_log2):
    kernel = Kernel(group_log2=group_log2, own=17)
    recording = run(parameters, kernel, 3000, seed=group_log2)
    assert recording.outputs[-1, -len(K) - len(H) + K.done]


@pytest.mark.parametrize("granularity", Granularity)
def test_tiles_that_only_arrive(parameters, granularity):
    """Stores leave as tracked stores, and others arrive in slots behind the last workgroup; they
    complete their tiles, which are sent on in the same way."""
    kernel = Kernel(placed=9, granularity=granularity, policy=Policy.CRITICAL)
    recording = run(parameters, kernel, 5000, seed=9 + granularity.value, pace=0.3)
    last = recording.outputs[-1, -len(K) - len(H) :]
    assert last[K.done] and not last[K.irq]
    channels, kinds = parameters.channels, set()
    for outputs in recording.outputs[:, : channels * CHANNEL_OUTPUTS].T.reshape(
        channels, CHANNEL_OUTPUTS, -1
    ):
        sent = outputs[O.link_out_kind][outputs[O.link_out_valid] == 1]
        kinds |= {PacketKind(int(kind)) for kind in np.unique(sent)}
    assert kinds >= {PacketKind.PLACE, PacketKind.UPDATE, PacketKind.END}


@pytest.mark.parametrize("pace", [0.15, 1.0])
def test_pace(parameters, pace):
    kernel = Kernel(policy=Policy.MCA, timeout=40)
    run(parameters, kernel, 2500, seed=2, pace=pace, noise=0.02)


def test_criticality(parameters):
    """A kernel long enough that its link time is measured, and the kernel after it."""
    kernel = Kernel(policy=Policy.CRITICAL, workgroups=100, tracked_end=100, own=95)
    recording = run(parameters, kernel, 12_000, seed=3, pace=0.6)
    criticality = recording.state.contexts[0]["criticality"]
    assert criticality["link_time"] and criticality["elapsed"]
    assert recording.outputs[-1, -len(K) - len(H) + K.done]


class Full(Traffic):
    """Full DRAM queues, a kernel that waits for communication, and a tick in every cycle."""

    def __init__(self, *arguments, taken: float, **options):
        super().__init__(*arguments, **options)
        self._taken = taken

    def __call__(self, outputs, inputs):
        super().__call__(outputs, inputs)
        of_channels = inputs[: self._p.channels * CHANNEL_INPUTS].reshape(self._p.channels, -1)
        of_channels[:, I.occupancy] = 127
        of_channels[:, I.link_out_ready] = self._links.random(self._p.channels) < self._taken
        own = inputs[self._p.channels * CHANNEL_INPUTS :]
        own[[G.tick, J.dispatched, J.finished]] = 1, self._kernels[0].workgroups - 1, 0


@pytest.mark.parametrize(
    ("taken", "congested"),
    [(1.0, True), pytest.param(0.3, None, id="some"), pytest.param(0.0, False, id="none")],
)
def test_full_queues_count_while_the_link_takes_packets(parameters, taken, congested):
    """Congestion counts full DRAM queues only while the link takes packets."""
    kernel = Kernel(policy=Policy.CRITICAL, workgroups=100, tracked_end=100, own=95)
    recording = run(parameters, kernel, 2000, seed=4, pace=0.6, traffic=Full, taken=taken)
    level = recording.state.contexts[0]["criticality"]["congestion"]
    if congested is not None:
        assert level > 256 if congested else level == 0


@pytest.mark.parametrize("seed", range(4))
def test_reprogramming_on_the_run(parameters, seed):
    kernel = Kernel(granularity=Granularity(seed & 1))
    recording = run(parameters, kernel, 4000, seed=seed, reprogram=True, noise=0.05)
    assert recording.outputs[:, -len(K) - len(H) + K.irq].any()


@pytest.mark.parametrize("seed", range(2))
def test_tracker_errors(parameters, seed):
    recording = run(parameters, Kernel(), 3000, seed=seed, reprogram=seed, traffic=Storm)
    assert recording.outputs[:, -len(K) - len(H) + K.irq].sum() > 20


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(100, 160))
def test_long(parameters, seed):
    kernel = Kernel(
        granularity=Granularity(seed & 1),
        policy=Policy(seed % len(Policy)),
        group_log2=seed // 2 % 3 if seed & 1 else 0,
        wavefronts=1 + seed % 2,
        placed=(0, 7)[seed // 4 % 2],
    )
    noise = (0, 0.02, 0.2)[seed // 3 % 3]
    traffic = Storm if seed % 5 == 0 else Traffic
    run(
        parameters,
        kernel,
        10_000,
        seed=seed,
        reprogram=seed % 4 != 0,
        noise=noise,
        pace=(0.2, 0.5, 1.0)[seed // 7 % 3],
        traffic=traffic,
    )
