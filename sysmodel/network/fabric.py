"""Fabric: the directed links and switches of a topology for a number of GPUs, and its routes.

Vertices are numbered: the GPUs from 0 on, then the switches. A packet enters a link of its sender,
and passes switches, and GPUs where the topology says that GPUs forward.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import inf
from typing import Literal, get_args

from sysmodel.config.link import Link
from sysmodel.config.topology_shapes import Switch
from sysmodel.lib.errors import InputError

__all__ = ["SENDERS", "DirectedLink", "Fabric", "Sender"]

Sender = Literal["line", "stores", "t3"]
"""Engine that fills a link: bytes on the line, stores of compute units, or T3's packets."""
SENDERS: tuple[Sender, ...] = get_args(Sender)

_NETWORK_COST = 1 << 20  # more than any number of links inside a node


@dataclass(frozen=True)
class DirectedLink:
    """Link from one vertex to another.

    Parameters
    ----------
    source, target : int
        Vertices at the ends.
    values : Link
        Line rate, payload and latency.
    dimension : int
        Dimension of a torus, or level of a network. A packet that is forwarded never returns to a
        lower dimension.
    between_nodes : bool
        The link is part of the network between nodes.
    switch : Switch or None
        Switch at the source; None if the source is a GPU.
    """

    source: int
    target: int
    values: Link
    dimension: int = 0
    between_nodes: bool = False
    switch: Switch | None = None

    @property
    def latency_ns(self) -> float:
        """Latency of the link, and of the switch in front of it."""
        return self.values.latency_ns + (self.switch.latency_ns if self.switch else 0)

    def payload_bytes_per_ns(self, sender: Sender) -> float:
        """Payload that the link carries, in packets of a kind of sender; on the line, all bytes."""
        rates: dict[Sender, float] = {
            "line": self.values.bandwidth_gb_per_s,
            "stores": self.values.stores_gb_per_s,
            "t3": self.values.t3_gb_per_s,
        }
        return rates[sender]

    @property
    def queue_bytes(self) -> int | None:
        """Length of the switch's queue in front of the link; None behind a GPU."""
        return self.switch.queue_bytes if self.switch else None


class Fabric:
    """Links and switches between a number of GPUs.

    Parameters
    ----------
    name : str
        Name of the topology.
    links : iterable of DirectedLink
        Links by number. Where several links of a vertex are equally near to a destination, channels
        take them in this order.
    switches : iterable of Switch
        Switches, whose vertices follow the GPUs.
    forwarding : iterable of pairs
        Dimensions of two links between which a GPU forwards packets for other GPUs.
    planes : int
        Number of channels after which the choices between equal ways repeat.
    """

    def __init__(
        self,
        name: str,
        gpus: int,
        links: Iterable[DirectedLink],
        switches: Iterable[Switch] = (),
        forwarding: Iterable[tuple[int, int]] = (),
        planes: int = 1,
    ):
        self.name, self.gpus, self.planes = name, gpus, planes
        self.links, self.switches = tuple(links), tuple(switches)
        self.forwarding = frozenset(forwarding)
        self._costs: dict[int, list[float]] = {}
        self._routes: dict[tuple[int, int, int], tuple[int, ...]] = {}

    def is_gpu(self, vertex: int) -> bool:
        """Test whether a vertex is a GPU."""
        return vertex < self.gpus

    def switch_at(self, vertex: int) -> Switch | None:
        """Switch of a vertex; None for a GPU."""
        return None if self.is_gpu(vertex) else self.switches[vertex - self.gpus]

    @cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the links that leave each vertex."""
        return self._by_vertex([link.source for link in self.links])

    @cached_property
    def entering(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the links that enter each vertex."""
        return self._by_vertex([link.target for link in self.links])

    def _by_vertex(self, ends: list[int]) -> tuple[tuple[int, ...], ...]:
        numbers: list[list[int]] = [[] for _ in range(self.gpus + len(self.switches))]
        for number, end in enumerate(ends):
            numbers[end].append(number)
        return tuple(map(tuple, numbers))

    def route(self, source: int, destination: int, channel: int = 0) -> tuple[int, ...]:
        """Numbers of the links on the way from one GPU to another, in their order.

        The way has the fewest links between nodes, and among such ways the fewest links. All
        packets of a pair and a channel take the same way, so they arrive in order.

        Raises
        ------
        InputError
            The topology has no way from the source to the destination.
        """
        for gpu in (source, destination):
            if not 0 <= gpu < self.gpus:
                raise ValueError(f"there is no GPU {gpu} among {self.gpus}")
        key = source, destination, channel % self.planes
        if key not in self._routes:
            self._routes[key] = tuple(self._walk(*key))
        return self._routes[key]

    def routes(self, source: int, destination: int) -> list[tuple[int, ...]]:
        """Routes of the channels up to the first repetition."""
        return [self.route(source, destination, channel) for channel in range(self.planes)]

    def port_bytes_per_ns(self, sender: Sender) -> float:
        """Payload that the links of GPU 0 carry together, in packets of a kind of sender."""
        return sum(self.links[one].payload_bytes_per_ns(sender) for one in self.leaving[0])

    def turn(self, gpu: int, channel: int = 0) -> tuple[int, ...]:
        """Links from a GPU to the switch before it, and back; none if there is no such switch.

        Raises
        ------
        InputError
            No way leads to the GPU.
        """
        back = self.route((gpu + 1) % self.gpus, gpu, channel)[-1]
        vertex = self.links[back].source
        there = [one for one in self.leaving[gpu] if self.links[one].target == vertex]
        return () if self.is_gpu(vertex) or not there else (there[0], back)

    def latency_ns(self, route: Iterable[int]) -> float:
        """Sum of the latencies of a route."""
        return sum(self.links[number].latency_ns for number in route)

    def _walk(self, source: int, destination: int, channel: int) -> Iterable[int]:
        costs = self._costs_to(destination)
        at, arrived = source, None
        while at != destination:
            ways = [one for one in self.leaving[at] if self._joins(arrived, one)]
            least = min((costs[one] for one in ways), default=inf)
            if least == inf:
                raise InputError(
                    "topology",
                    f"{self.name} has no way from GPU {source} to GPU {destination}; allowed: "
                    "a topology with forwards = true, or fewer GPUs",
                )
            nearest = [one for one in ways if costs[one] == least]
            arrived = nearest[channel % len(nearest)]
            yield arrived
            at = self.links[arrived].target

    def _joins(self, arrived: int | None, leaving: int) -> bool:
        """Test whether a packet may go on from one link to another."""
        if arrived is None or not self.is_gpu(self.links[arrived].target):
            return True
        pair = self.links[arrived].dimension, self.links[leaving].dimension
        return pair in self.forwarding

    def _costs_to(self, destination: int) -> list[float]:
        """Least cost from the begin of each link to a destination; infinite if there is no way."""
        if destination in self._costs:
            return self._costs[destination]
        costs = [inf] * len(self.links)
        heap = [(self._cost(number), number) for number in self.entering[destination]]
        passed: set[tuple[int, int | None]] = set()
        while heap:
            cost, number = heappop(heap)
            if cost >= costs[number]:
                continue
            costs[number] = cost
            for before in self._before(number, passed):
                heappush(heap, (cost + self._cost(before), before))
        self._costs[destination] = costs
        return costs

    def _before(self, number: int, passed: set[tuple[int, int | None]]) -> list[int]:
        """Links from which a packet may go on to a link, and for which it is the nearest way.

        ``passed`` holds the vertices, and for GPUs the dimensions of arrival, whose nearest way is
        known.
        """
        link = self.links[number]
        vertex = link.source
        if not self.is_gpu(vertex):
            arrivals: set[int | None] = {None}
        else:
            arrivals = {into for into, out in self.forwarding if out == link.dimension}
        new = {one for one in arrivals if (vertex, one) not in passed}
        passed.update((vertex, one) for one in new)
        entering = self.entering[vertex]
        if not self.is_gpu(vertex):
            return list(entering) if new else []
        return [one for one in entering if self.links[one].dimension in new]

    def _cost(self, number: int) -> int:
        return _NETWORK_COST if self.links[number].between_nodes else 1
