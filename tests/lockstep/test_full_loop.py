"""The compiled RTL against the golden model in the full loop, every output in every cycle."""

import ctypes

import numpy as np
import pytest

import sysmodel.runs.data_launch
import sysmodel.runs.simulation
from rtl.interface.encodings import Policy
from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.engine.ports import input_words, output_words
from sysmodel.lib.progress import no_progress
from sysmodel.runs.check import check
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.configurations.sequential import sequential
from sysmodel.runs.configurations.transparent import scatter, transparent
from sysmodel.runs.options import RunOptions
from tests.support.lockstep_geometries import BANKS, GEOMETRIES
from tests.support.lockstep_machine import Lockstep, LockstepMachine
from tests.support.small_system import context_of


def named(policy: Policy) -> str:
    """Return the driver's name of a policy."""
    return policy.name.lower().replace("_", "-")


@pytest.fixture
def machines(monkeypatch):
    """Give every run both engines; return the list of the machines that the runs made."""
    made = []

    class Recorded(LockstepMachine):
        def __init__(self, *arguments, engine, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(sysmodel.runs.simulation, "Machine", Recorded)
    monkeypatch.setattr(sysmodel.runs.data_launch, "Machine", Recorded)
    return made


@pytest.mark.parametrize(
    "simulate",
    [
        sequential,
        scatter,
        *(
            pytest.param(
                lambda context, policy=policy: transparent(context, "t3", named(policy)),
                id=policy.name,
                marks=() if policy is Policy.MCA else pytest.mark.verify,
            )
            for policy in Policy
        ),
    ],
)
def test_full_tnlg_run(machines, simulate):
    work = workload_of("t-nlg", "fc2", 8)
    phases = simulate(context_of(work, load_system(), RunOptions()))
    (machine,) = machines
    assert machine.require_agreement() >= phases.total_cycles > 400_000


def random_cycles(machines, monkeypatch, policy: Policy, *, least: int, channels: int = 2) -> None:
    """Compare random problems, with values, until ``least`` cycles agree.

    The policy replaces the round-robin of the problems' own programs.
    """
    map_writes = sysmodel.runs.data_launch.map_writes
    monkeypatch.setattr(
        sysmodel.runs.data_launch,
        "map_writes",
        lambda *arguments, **options: map_writes(*arguments, **options, policy=named(policy)),
    )
    seed, compared = 1000 * policy.value, 0
    while compared < least:
        random = np.random.default_rng(seed)
        options = CheckOptions(
            gpus=int(random.integers(2, 6)),
            m=int(random.integers(300, 700)),
            n=int(random.integers(200, 500)),
            k=int(random.integers(1, 130)),
            dtype=str(random.choice(["fp16", "bf16"])),
            channels=channels,
            skew=int(random.choice([0, 500, 20_000])),
            back_pressure=int(random.choice([0, 50, 90])),
            seed=seed,
        )
        print(options)
        machines.clear()
        assert check(options, no_progress).passed
        compared += machines[0].require_agreement()
        seed += 1


@pytest.mark.parametrize("policy", Policy)
def test_random_cycles(machines, monkeypatch, policy):
    # With one channel, because more take long to build.
    random_cycles(machines, monkeypatch, policy, least=100_000, channels=1)


@pytest.mark.verify
@pytest.mark.parametrize("policy", Policy)
def test_million_random_cycles(machines, monkeypatch, policy):
    random_cycles(machines, monkeypatch, policy, least=1_000_000)


def test_a_difference_is_reported():
    parameters = GEOMETRIES[BANKS]
    outputs = np.zeros(output_words(parameters), np.uint64)
    inputs = np.zeros(input_words(parameters), np.uint64)
    with Lockstep(parameters) as lockstep:
        lockstep.reset(outputs)
        call = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 3)(lockstep.step_address)
        call(lockstep.handle, inputs.ctypes.data, outputs.ctypes.data)
        lockstep.require_agreement()
        lockstep._golden._state.contexts[0]["trigger"]["tiles"] += 1
        call(lockstep.handle, inputs.ctypes.data, outputs.ctypes.data)
        with pytest.raises(AssertionError, match="tiles in cycle 1"):
            lockstep.require_agreement()
