"""Networks of a few links for tests of the network and the mirror."""

from typing import Any

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.machine.state import State
from sysmodel.network.capacity import Capacity
from sysmodel.network.expansion import expand
from sysmodel.network.routes import Routes
from sysmodel.network.set_up import set_up_network

__all__ = ["join"]


def join(
    state: State, *, rate: float = 32.0, latency: int = 1, buffer: int = 8, **options: Any
) -> State:
    """Join the GPUs of a state in a ring, or a single GPU to itself.

    ``rate`` is the rate of a link for all channels of the state in bytes per cycle.
    """
    gpus, alone = max(2, len(state.gpu)), len(state.gpu) == 1
    channels = len(state.channel) // len(state.gpu)
    fabric = expand(load_topology("ring"), gpus, load_system("asplos24").link)
    capacity = Capacity(
        routes=Routes(fabric, channels, mirror=alone),
        rate_bytes=[rate] * gpus,
        latency_cycles=[latency] * gpus,
        system_channels=channels,
        buffer_packets=buffer,
    )
    return set_up_network(state, capacity, **options)
