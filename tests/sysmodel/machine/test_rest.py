"""The cycle loop skips cycles in which no state would change."""

import numpy as np
import pytest

from sysmodel.config.system import load_system
from sysmodel.gpu.address_spaces import gemm_space
from sysmodel.machine.loop import advance
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import NEVER
from tests.support.small_system import small_system

# One channel of the preset, whose RTL other tests build as well, and all of a small system.
SYSTEMS = {"one channel": (load_system(), 1), "four channels": (small_system(), 4)}


def machine_of(gpus, topology, policy, system, channels):
    kernel = kernel_of(system, 512, 192, 64, gpus)
    one = Machine(system, kernel, engine="rtl", channels=channels, mirror=False, topology=topology)
    one.launch([one.map_writes(g, address_space=gemm_space(0), policy=policy) for g in range(gpus)])
    return one


def differences(one, other):
    """Return the names of the parts in which two machines' states differ."""

    def parts(state):
        for name, part in state._asdict().items():
            if isinstance(part, np.ndarray):
                yield name, part
            else:
                yield from ((f"{name}.{key}", value) for key, value in part._asdict().items())

    return [
        name
        for (name, mine), (_, others) in zip(parts(one.state), parts(other.state), strict=True)
        if np.asarray(mine).tobytes() != np.asarray(others).tobytes()
    ]


@pytest.mark.parametrize(
    "size", ["one channel", pytest.param("four channels", marks=pytest.mark.verify)]
)
@pytest.mark.parametrize(
    ("topology", "policy"),
    [("ring", "round-robin"), ("ring", "critical"), ("switch", "round-robin")],
)
def test_skipped_cycles_leave_the_same_state(topology, policy, size):
    steps, of = 0, (2, topology, policy, *SYSTEMS[size])
    with machine_of(*of) as at_once, machine_of(*of) as each:
        for cycles in [*range(1, 60), *[997] * 40]:
            advance(at_once.state, at_once.hardware, NEVER, cycles)
            for _ in range(cycles):
                advance(each.state, each.hardware, NEVER, 1)
            steps += cycles
            each.state.fixed["rested"] = at_once.state.fixed["rested"]
            assert differences(at_once, each) == [], f"after {steps} cycles"
        assert at_once.state.kernel["finished"].min() == at_once.kernel.workgroups
        assert at_once.state.fixed["rested"] > 0.1 * steps
