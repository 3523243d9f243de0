"""Machines on other topologies than the ring: T3's reduce-scatter over their links."""

import numpy as np
import pytest

from sysmodel.config.topology_shapes import Switch
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.machine.machine import Machine
from sysmodel.machine.sampling import require_invariance
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_REDUCED
from sysmodel.network.fabric import DirectedLink, Fabric
from tests.support.small_system import small_system

_SYSTEM = small_system()


def _machine(topology, gpus, **options):
    kernel = kernel_of(_SYSTEM, 512, 96 * gpus, 64, gpus)
    return Machine(
        _SYSTEM,
        kernel,
        engine="golden",
        topology=topology,
        **{"channels": _SYSTEM.dram.channels, "mirror": False, **options},
    )


def _reduced(machine):
    """Run GEMM and reduce-scatter; return the cycles."""
    machine.launch([machine.map_writes(g, address_space=1) for g in range(machine.gpus)])
    return machine.run(UNTIL_REDUCED)


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize(
    ("topology", "gpus"),
    [
        ("ring", 4),
        ("ring-both", 4),
        ("switch", 3),
        ("nvswitch-8", 4),
        ("fully-connected", 3),
        ("mi300x", 4),
    ],
)
def test_every_link_carries_what_the_routes_say(topology, gpus, windows):
    with _machine(topology, gpus, windows=windows) as machine:
        _reduced(machine)
        state = machine.state
        chunk = machine.kernel.output_bytes // gpus
        assert (
            state.gpu["link_bytes"][:, machine.communication].tolist()
            == [(gpus - 1) * chunk] * gpus
        )
        expected, packets = np.zeros(len(state.link)), state.gpu["packets"].sum(axis=1)
        packets = packets + state.gpu["end_packets"].sum(axis=1)
        atoms = (gpus - 1) * chunk // ATOM_BYTES
        for g in range(gpus):
            for route in machine.fabric.routes(g, (g - 1) % gpus):
                link = state.link[list(route)]
                sent = atoms * link["atom_bytes"] + packets[g] * link["header_bytes"]
                expected[list(route)] += sent / machine.fabric.planes
        assert state.link["sent_bytes"] == pytest.approx(expected, rel=0.03)
        assert state.link["sent_bytes"].sum() == pytest.approx(expected.sum(), rel=1e-9)
        assert not state.channel["outstanding"].any() and not state.hop["count"].any()


def test_a_switch_with_the_rate_of_a_ring_takes_the_time_of_a_ring():
    """An ideal switch lies on the way that a ring's link takes, with the ring's latency."""
    cycles = {}
    for topology in ("ring", "switch", "fully-connected"):
        for mirror in (False, True):
            with _machine(topology, 4, mirror=mirror) as machine:
                cycles[topology, mirror] = _reduced(machine)
        assert cycles[topology, True] == pytest.approx(cycles[topology, False], rel=0.01)
    assert cycles["switch", False] == pytest.approx(cycles["ring", False], rel=0.01)
    # A link of a full mesh of four has a third of the rate.
    assert cycles["fully-connected", False] > cycles["ring", False]


def test_a_machine_with_windows_takes_the_time_of_one_without():
    cycles = []
    for windows in (False, True):
        with _machine("switch", 4, windows=windows) as machine:
            cycles.append(_reduced(machine))
    assert cycles[0] == pytest.approx(cycles[1], rel=0.01)


def test_one_gpu_cannot_represent_those_with_other_ways():
    with pytest.raises(ValueError, match="h100-nodes: one GPU cannot represent all, because the w"):
        _machine("h100-nodes", 16, mirror=True)


def test_one_gpu_cannot_represent_those_that_share_a_link():
    """All GPUs send over the link between two switches."""
    values = _SYSTEM.link
    switch = Switch(planes=1, latency_ns=0, queue_bytes=64, multicasts=False, reduces=False)
    links = [DirectedLink(g, 3, values) for g in range(3)]
    links += [DirectedLink(3, 4, values, switch=switch)]
    links += [DirectedLink(4, g, values, switch=switch) for g in range(3)]
    with pytest.raises(ValueError, match="two: .* because GPUs share links"):
        require_invariance(Fabric("two", 3, links, [switch, switch]))


def test_one_gpu_that_represents_all_sends_only_downstream():
    """With the wider addresses of a machine with windows, but without ways to other GPUs."""
    with _machine("switch", 4, mirror=True, windows=True) as machine:
        assert machine.state.first_hop.shape[2] == 1
        assert (machine.state.window_destination == 0).all()
