"""Wrong bits that software asks for, in the whole top against the golden model."""

import numpy as np
import pytest

from rtl.interface.encodings import Granularity, InjectTarget
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.ports import H, K
from tb.top.host import Host, Injections, Kernel, Reprogramming
from tb.top.traffic import Storm, Traffic
from tests.support.lockstep_bench import Recording, record, replay
from tests.support.lockstep_geometries import BANKS, GEOMETRIES

MAP = register_map.load()
PARAMETERS = GEOMETRIES[BANKS]
TARGETS = [target for target in InjectTarget if target is not InjectTarget.NONE]
# Workgroups in pairs, so that they are counted, too; by wavefront there are more commands.
IN_PAIRS = Kernel(group_log2=1, own=17)
OF_TILES = Kernel(granularity=Granularity.WAVEFRONT)


def run(extra, *, seed, kernel=IN_PAIRS, traffic=Traffic, cycles=3000, **options) -> Recording:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    host = Host(rng, PARAMETERS, kernel.program(PARAMETERS), extra(rng))
    recording = record(PARAMETERS, traffic(rng, PARAMETERS, kernel, host, **options), cycles)
    replay(recording)
    return recording


def count(recording, name):
    register = MAP[name]
    page = recording.state.registers[GLOBAL if register.page == GLOBAL else CONTEXT]
    return int(page[register.offset // 4]["value"])


def lost(recording):
    return count(recording, "COUNT_TRACKER_CORRUPT"), count(recording, "COUNT_TRIGGER_CORRUPT")


def injections(**options):
    return lambda rng: Injections(rng, PARAMETERS, chance=0.5, **options)


def load(target):
    """Traffic that fills the target, and its kernel."""
    if target is InjectTarget.ISSUE_ACKS:
        return dict(traffic=Storm, pace=1.0)
    return dict(kernel=OF_TILES if target is InjectTarget.COMMANDS else IN_PAIRS)


@pytest.mark.parametrize("target", TARGETS)
def test_one_wrong_bit(target):
    """It is corrected and counted, and the launch is done as ever."""
    recording = run(injections(target=target, double=False), seed=1, **load(target))
    assert count(recording, "CORRECTED") >= 3
    if target is not InjectTarget.ISSUE_ACKS:
        assert lost(recording) == (0, 0)
        assert recording.outputs[-1, -len(K) - len(H) + K.done]


@pytest.mark.parametrize("target", TARGETS)
def test_two_wrong_bits(target):
    """They are reported."""
    recording = run(injections(target=target, double=True), seed=2, **load(target))
    of_tracker, of_trigger = lost(recording)
    assert count(recording, "CORRECTED") == 0
    if target in (InjectTarget.TRACKER, InjectTarget.ISSUE_ACKS):
        assert of_tracker and not of_trigger
    else:
        assert of_trigger and not of_tracker


class Both:
    """Injections between what else software does."""

    def __init__(self, rng, kernel):
        self._rng = rng
        injections = Injections(rng, PARAMETERS, chance=0.3)
        self._extras = injections, Reprogramming(rng, PARAMETERS, kernel)

    def __call__(self):
        return self._extras[int(self._rng.integers(0, 2))]()


@pytest.mark.parametrize("traffic", [Traffic, Storm])
def test_injections_under_reprogramming(traffic):
    """Any kind, anywhere, while launches come and go."""
    kernel = Kernel(granularity=Granularity.WAVEFRONT)
    recording = run(
        lambda rng: Both(rng, kernel), seed=11, kernel=kernel, traffic=traffic, noise=0.05
    )
    assert count(recording, "CORRECTED") or any(lost(recording))


class Patrolled:
    """Wrong bits, and a walk that corrects them, at any pace."""

    def __init__(self, rng, kernel, **options):
        self._rng, self._both = rng, Both(rng, kernel)
        self._injections = Injections(rng, PARAMETERS, chance=0.2, **options)
        self._alone = bool(options)

    def __call__(self):
        if self._rng.random() < 0.03:
            register = MAP["PATROL_INTERVAL"]
            cycles = int(self._rng.choice([0, 1, 1, 2, 3, 10, 50]))
            return register.address, register.pack(cycles=cycles)
        return self._injections() if self._alone else self._both()


@pytest.mark.parametrize("target", [InjectTarget.TRACKER, InjectTarget.TILES, InjectTarget.GROUPS])
def test_patrol(target):
    """It corrects what nobody has read yet."""
    recording = run(
        lambda rng: Patrolled(rng, IN_PAIRS, target=target, double=False), seed=4, pace=0.2
    )
    assert count(recording, "PATROLLED")
    assert lost(recording) == (0, 0)


@pytest.mark.parametrize("traffic", [Traffic, Storm])
def test_patrol_under_reprogramming(traffic):
    recording = run(
        lambda rng: Patrolled(rng, IN_PAIRS), seed=6, traffic=traffic, noise=0.05, cycles=4000
    )
    assert count(recording, "PATROLLED")


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(100, 130))
def test_long(seed):
    kernel = Kernel(granularity=Granularity(seed & 1), group_log2=seed // 2 % 3 if seed & 1 else 0)
    run(
        lambda rng: (Patrolled if seed % 2 else Both)(rng, kernel),
        seed=seed,
        kernel=kernel,
        traffic=Storm if seed % 3 == 0 else Traffic,
        noise=(0, 0.02, 0.2)[seed // 3 % 3],
        pace=(0.2, 0.5, 1.0)[seed // 9 % 3],
        cycles=8000,
    )
