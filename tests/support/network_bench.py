"""Bench of a network alone: GPUs that send given packets, and receivers that may be full."""

from dataclasses import dataclass

import numpy as np

from rtl.interface.encodings import PacketKind
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.engine.ports import I, O
from sysmodel.lib.compiled import cached_njit
from sysmodel.network.alone import NetworkState, network_alone
from sysmodel.network.capacity import Capacity
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import Fabric
from sysmodel.network.link import (
    can_send,
    deliver,
    first_channel,
    next_channel,
    offer_credit,
    send,
)
from sysmodel.network.queues import serve_queues
from sysmodel.network.routes import Routes
from sysmodel.network.windows import WINDOW_ATOM_BITS

__all__ = ["Arrival", "NetworkBench"]

_STORE = PacketKind.STORE.value


@dataclass(frozen=True)
class Arrival:
    """Packets that have arrived, in order: an array for each value."""

    cycle: np.ndarray
    gpu: np.ndarray
    channel: np.ndarray
    packet: np.ndarray


@cached_njit()
def _step(s, now, windows, numbers, heads, full, arrived, count):
    """Simulate a cycle; return the number of arrivals so far."""
    f = s.fixed[0]
    for g in range(f.gpus):
        offer_credit(s, s.gpu[g])
        for plane in range(f.port_planes):
            first = c = first_channel(s, g, plane, now)
            while True:
                channel = s.channel[g * f.channels + c]
                inputs, outputs = s.inputs[g, c], s.outputs[g, c]
                if deliver(s, channel, now, inputs, not full[g]):
                    arrived[count] = now, g, c, np.int64(inputs[I.link_in_atom])
                    count += 1
                if heads[g, c] < windows.shape[2] and windows[g, c, heads[g, c]] >= 0:
                    window, number = windows[g, c, heads[g, c]], numbers[g, c, heads[g, c]]
                    outputs[O.link_out_kind] = _STORE
                    outputs[O.link_out_atom] = window << WINDOW_ATOM_BITS | number
                    if can_send(s, g, c, channel, outputs):
                        send(s, g, c, now, outputs)
                        heads[g, c] += 1
                c = next_channel(f, plane, c)
                if c == first:
                    break
    serve_queues(s, now)
    return count


@cached_njit()
def _run(s, first, cycles, windows, numbers, heads, full, arrived, count, all_arrivals):
    for now in range(first, first + cycles):
        count = _step(s, now, windows, numbers, heads, full, arrived, count)
        if count == all_arrivals:
            return now + 1, count
    return first + cycles, count


class NetworkBench:
    """Network of a topology, and what its GPUs send.

    Parameters
    ----------
    windows : array
        Windows of the packets by GPU, channel and order; -1 behind the last one.
    """

    def __init__(
        self,
        topology: str,
        gpus: int,
        windows: np.ndarray,
        *,
        system: str = "asplos24",
        atoms_per_cycle: float = 0.5,
        buffer_packets: int = 64,
    ):
        link = load_system(system).link
        self.windows = windows
        self.fabric: Fabric = expand(load_topology(topology), gpus, link)
        self.routes = Routes(self.fabric, windows.shape[1], windows=True)
        # The rates of the links keep their proportions; GPU 0 sends some atoms in a cycle.
        sends = sum(self.fabric.links[e].values.t3_gb_per_s for e in self.fabric.leaving[0])
        scale = 32 * atoms_per_cycle * windows.shape[1] / sends
        self.capacity = Capacity(
            routes=self.routes,
            rate_bytes=[one.values.t3_gb_per_s * scale for one in self.fabric.links],
            latency_cycles=[max(1, round(one.latency_ns / 10)) for one in self.fabric.links],
            system_channels=windows.shape[1],
            buffer_packets=buffer_packets,
        )
        self.state: NetworkState = network_alone(self.capacity)
        self.sent = windows >= 0
        self.numbers = np.cumsum(self.sent.ravel()).reshape(windows.shape) - 1
        copies = np.where(windows == gpus, gpus - 1, 1) * self.sent
        self.expected = int(copies.sum())
        self._heads = np.zeros(windows.shape[:2], np.int64)
        self._arrived = np.zeros((self.expected, 4), np.int64)
        self._count = self.now = 0

    def run(self, cycles: int, *, full: tuple[int, ...] = ()) -> Arrival:
        """Run until all packets have arrived, for at most some cycles; ``full`` GPUs take none."""
        blocked = np.zeros(self.fabric.gpus, np.bool_)
        blocked[list(full)] = True
        self.now, self._count = _run(
            self.state, self.now, cycles, self.windows, self.numbers, self._heads, blocked,
            self._arrived, self._count, self.expected,
        )  # fmt: skip
        return Arrival(*self._arrived[: self._count].T)

    @property
    def unsent(self) -> np.ndarray:
        """Packets of each GPU that have not left it."""
        return self.sent.sum(axis=(1, 2)) - self._heads.sum(axis=1)

    @property
    def link_bytes(self) -> list[int]:
        """Bytes that each link has carried."""
        return self.state.link["sent_bytes"].tolist()
