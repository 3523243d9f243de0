"""Networks of a few links for tests of the network and the mirror."""

from collections.abc import Iterator
from typing import Any

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.gpu.kernel import Kernel
from sysmodel.machine.state import State
from sysmodel.network.capacity import Capacity, PacketSizes
from sysmodel.network.expansion import expand
from sysmodel.network.routes import Routes
from sysmodel.network.set_up import set_up_network

__all__ = ["in_ring", "join", "sent_slots"]


def join(
    state: State,
    *,
    rate: float = 32.0,
    latency: int = 1,
    buffer: int = 8,
    system_channels: int = 0,
    packets: PacketSizes | None = None,
    **options: Any,
) -> State:
    """Join the GPUs of a state in a ring, or a single GPU to itself.

    ``rate`` is the rate of a link for all channels of the state in bytes per cycle;
    ``system_channels`` are all channels of a GPU, if the state does not have them all.
    """
    gpus, alone = max(2, len(state.gpu)), len(state.gpu) == 1
    channels = len(state.channel) // len(state.gpu)
    fabric = expand(load_topology("ring"), gpus, load_system("asplos24").link)
    capacity = Capacity(
        routes=Routes(fabric, channels, mirror=alone),
        rate_bytes=[rate] * gpus,
        latency_cycles=[latency] * gpus,
        system_channels=system_channels or channels,
        buffer_packets=buffer,
        packets=packets,
    )
    return set_up_network(state, capacity, **options)


def in_ring(state: State, kernel: Kernel) -> State:
    """Give the kernel its part of the first GPU in a ring: the second chunk is dispatched first."""
    state.kernel["first_workgroup"] = kernel.chunks.start[1]
    state.kernel["slot_offset"] = kernel.chunks.sizes[0]
    return state


def sent_slots(kernel: Kernel) -> Iterator[tuple[int, int, int]]:
    """Yield the slots of the tiles that the first GPU of a ring of equal chunks sends, the tiles'
    workgroups, and the workgroups of the tiles that the upstream GPU sends with these slots.
    """
    chunk = kernel.workgroups // kernel.gpus
    for dispatch_index in range(kernel.workgroups - chunk):
        slot = dispatch_index + chunk
        ours, theirs = ((chunk + place) % kernel.workgroups for place in (dispatch_index, slot))
        yield slot, ours, theirs
