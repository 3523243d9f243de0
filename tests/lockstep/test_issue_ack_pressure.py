"""Lockstep of many channels that update the same tiles at once, so that acknowledgements merge."""

import numpy as np
import pytest

from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT
from sysmodel.engine.ports import CHANNEL_OUTPUTS, H, K, O
from tb.top.host import Host, Kernel
from tb.top.traffic import Storm, Traffic
from tests.support.lockstep_geometries import SMALL
from tests.support.lockstep_recording import record, replay

pytestmark = pytest.mark.verify  # each geometry is a build


@pytest.fixture(
    params=[(4, 1), (8, 1), (8, 8)],
    ids=["4 channels, 1 bank", "8 channels, 1 bank", "8 channels, 8 banks"],
    scope="module",
)
def parameters(request):
    channels, banks = request.param
    shape = dict(system_channels=8, sets=16, channels=channels, banks=banks)
    return T3Parameters(**SMALL | shape)


def run(p, kernel, cycles, *, seed, traffic, **options):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    host = Host(rng, p, kernel.program(p))
    recording = record(p, traffic(rng, p, kernel, host, **options), cycles)
    replay(recording)
    return recording


def refusals(recording):
    """Count the channel-cycles in which a full queue refused issue acknowledgements."""
    channels = recording.outputs[:, : recording.parameters.channels * CHANNEL_OUTPUTS]
    return int((channels[:, O.issue_acks_ready :: CHANNEL_OUTPUTS] == 0).sum())


def most_together(recording):
    """Return the most updates in one of the last eight events of each channel."""
    return int(recording.state.channels["issue_acks"]["count"].max())


@pytest.mark.parametrize("seed", range(2))
def test_all_channels_update_the_same_tiles(parameters, seed):
    p = parameters
    recording = run(
        p, Kernel(wavefronts=4), 3000, seed=seed, traffic=Traffic, pace=1.0, tile_atoms=15
    )
    last = recording.outputs[-1, -len(K) - len(H) :]
    assert last[K.done] and not last[K.irq]
    if p.banks == 1:
        assert most_together(recording) > 1


def test_storm(parameters):
    recording = run(parameters, Kernel(), 2000, seed=7, traffic=Storm, pace=1.0)
    assert refusals(recording) and most_together(recording) > 1
    assert recording.state.logs[CONTEXT]["log_total"] > 20
