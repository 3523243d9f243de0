"""Lockstep of the top with bit errors that software injects."""

import numpy as np
import pytest

from rtl.interface.encodings import Granularity, InjectTarget
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.ports import H, K
from tb.top.host import Host, Injections, Kernel
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Storm, Traffic
from tests.support.lockstep_geometries import BANKS, GEOMETRIES
from tests.support.lockstep_recording import Recording, record, replay

MAP = register_map.load()
PARAMETERS = GEOMETRIES[BANKS]
TARGETS = [target for target in InjectTarget if target is not InjectTarget.NONE]
# Groups of two workgroups use the group counters; commands by wavefront are more numerous.
PAIRED = Kernel(group_log2=1, own=17)
BY_WAVEFRONT = Kernel(granularity=Granularity.WAVEFRONT)


def run(extra, *, seed, kernel=PAIRED, traffic=Traffic, cycles=3000, **options) -> Recording:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    host = Host(rng, PARAMETERS, kernel.program(PARAMETERS), extra(rng))
    recording = record(PARAMETERS, traffic(rng, PARAMETERS, kernel, host, **options), cycles)
    replay(recording)
    return recording


def count(recording, name):
    register = MAP[name]
    page = recording.state.registers[GLOBAL if register.page == GLOBAL else CONTEXT]
    return int(page[register.offset // 4]["contents"])


def lost(recording):
    return count(recording, "COUNT_TRACKER_CORRUPT"), count(recording, "COUNT_TRIGGER_CORRUPT")


def injections(**options):
    return lambda rng: Injections(rng, PARAMETERS, chance=0.5, **options)


def load(target):
    """Return the traffic that fills the target, and its kernel."""
    if target is InjectTarget.ISSUE_ACKS:
        return dict(traffic=Storm, pace=1.0)
    return dict(kernel=BY_WAVEFRONT if target is InjectTarget.COMMANDS else PAIRED)


@pytest.mark.parametrize("target", TARGETS)
def test_single_bit_error(target):
    """A single-bit error is corrected and counted, and the launch ends as usual."""
    recording = run(injections(target=target, double=False), seed=1, **load(target))
    assert count(recording, "CORRECTED") >= 3
    if target is not InjectTarget.ISSUE_ACKS:
        assert lost(recording) == (0, 0)
        assert recording.outputs[-1, -len(K) - len(H) + K.done]


@pytest.mark.parametrize("target", TARGETS)
def test_double_bit_error(target):
    """A double-bit error is reported."""
    recording = run(injections(target=target, double=True), seed=2, **load(target))
    of_tracker, of_trigger = lost(recording)
    assert count(recording, "CORRECTED") == 0
    if target in (InjectTarget.TRACKER, InjectTarget.ISSUE_ACKS):
        assert of_tracker and not of_trigger
    else:
        assert of_trigger and not of_tracker


class InjectionsAndReprogramming:
    """RTL and model agree on injections during reprogramming."""

    def __init__(self, rng, kernel):
        self._rng = rng
        injections = Injections(rng, PARAMETERS, chance=0.3)
        self._extras = injections, Reprogramming(rng, PARAMETERS, kernel)

    def __call__(self):
        return self._extras[int(self._rng.integers(0, 2))]()


@pytest.mark.parametrize("traffic", [Traffic, Storm])
def test_injections_under_reprogramming(traffic):
    """RTL and model agree on any bit error in any memory, through several launches."""
    kernel = Kernel(granularity=Granularity.WAVEFRONT)
    recording = run(
        lambda rng: InjectionsAndReprogramming(rng, kernel),
        seed=29,
        kernel=kernel,
        traffic=traffic,
        noise=0.05,
    )
    assert count(recording, "CORRECTED") or any(lost(recording))


class Scrubbed:
    """RTL and model agree on a scrubber that corrects bit errors at a changing pace."""

    def __init__(self, rng, kernel, **options):
        self._rng, self._both = rng, InjectionsAndReprogramming(rng, kernel)
        self._injections = Injections(rng, PARAMETERS, chance=0.2, **options)
        self._alone = bool(options)

    def __call__(self):
        if self._rng.random() < 0.03:
            register = MAP["SCRUB_INTERVAL"]
            cycles = int(self._rng.choice([0, 1, 1, 2, 3, 10, 50]))
            return register.address, register.pack(cycles=cycles)
        return self._injections() if self._alone else self._both()


@pytest.mark.parametrize("target", [InjectTarget.TRACKER, InjectTarget.TILES, InjectTarget.GROUPS])
def test_scrubbing(target):
    """The scrubber corrects bit errors that have not been read yet."""
    recording = run(
        lambda rng: Scrubbed(rng, PAIRED, target=target, double=False), seed=4, pace=0.2
    )
    assert count(recording, "SCRUB_CORRECTED")
    assert lost(recording) == (0, 0)


@pytest.mark.parametrize("traffic", [Traffic, Storm])
def test_scrubbing_under_reprogramming(traffic):
    recording = run(
        lambda rng: Scrubbed(rng, PAIRED), seed=6, traffic=traffic, noise=0.05, cycles=4000
    )
    assert count(recording, "SCRUB_CORRECTED")


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(100, 130))
def test_long(seed):
    kernel = Kernel(granularity=Granularity(seed & 1), group_log2=seed // 2 % 3 if seed & 1 else 0)
    run(
        lambda rng: (Scrubbed if seed % 2 else InjectionsAndReprogramming)(rng, kernel),
        seed=seed,
        kernel=kernel,
        traffic=Storm if seed % 3 == 0 else Traffic,
        noise=(0, 0.02, 0.2)[seed // 3 % 3],
        pace=(0.2, 0.5, 1.0)[seed // 9 % 3],
        cycles=8000,
    )
