"""Expansion of a topology into the links of a number of GPUs."""

from collections.abc import Sequence
from math import lcm

from sysmodel.collectives.group import Group
from sysmodel.config.link import Link
from sysmodel.config.topology_shapes import (
    FullyConnected,
    Nodes,
    Ring,
    Switch,
    Switched,
    Topology,
    Torus,
    Wires,
)

from .fabric import DirectedLink, Fabric

__all__ = ["expand"]


def expand(topology: Topology, gpus: int, link: Link) -> Fabric:
    """Expand a topology for a number of GPUs.

    Parameters
    ----------
    link : Link
        Link of the system, which gives the values that the topology leaves out.

    Raises
    ------
    InputError
        The number of GPUs does not fit the topology.
    """
    topology.check_gpus(gpus)
    expansion = _Expansion(gpus, link)
    expansion.join(topology, range(gpus))
    return Fabric(
        topology.name,
        gpus,
        expansion.links,
        expansion.switches,
        expansion.forwarding,
        expansion.planes,
    )


class _Expansion:
    """Links and switches so far. Each kind of topology joins some of the GPUs.

    All GPUs get their links in the same order, so that shifted ranks make the same choices.
    """

    def __init__(self, gpus: int, system: Link):
        self.gpus, self._system = gpus, system
        self.links: list[DirectedLink] = []
        self.switches: list[Switch] = []
        self.forwarding: set[tuple[int, int]] = set()
        self.planes = 1

    def join(self, topology: Topology, members: Sequence[int]) -> None:
        """Add the links of a topology among some GPUs."""
        if isinstance(topology, Ring):
            self._grid(topology, members, (len(members),), topology.directions == "both")
        elif isinstance(topology, Torus):
            self._grid(topology, members, topology.sizes_of(len(members)), True)
        elif isinstance(topology, FullyConnected):
            self._mesh(topology, members)
        elif isinstance(topology, Switched):
            self._star(topology.link, topology.switch, members)
        else:
            self._nodes(topology, members)

    def _grid(
        self, topology: Ring | Torus, members: Sequence[int], sizes: tuple[int, ...], both: bool
    ) -> None:
        """Add a ring along each dimension, first to the GPU before, then to the next."""
        group = Group(sizes)
        steps = [
            (dimension, tuple(step * (d == dimension) for d in range(len(sizes))))
            for dimension, size in enumerate(sizes)
            if size > 1
            for step in ((-1, 1) if both else (-1,))
        ]
        values = topology.link.completed(self._system, len(steps), self._system.latency_ns)
        for place, member in enumerate(members):
            for dimension, step in steps:
                target = members[group.add(place, group.rank(step))]
                self.links.append(DirectedLink(member, target, values, dimension))
        if topology.forwards:
            dimensions = range(len(sizes))
            self.forwarding |= {(a, b) for b in dimensions for a in range(b + 1)}
        if both and any(size % 2 == 0 for size in sizes):
            self.planes = lcm(self.planes, 2)

    def _mesh(self, topology: FullyConnected, members: Sequence[int]) -> None:
        """Add a link from each GPU to every other, the next GPU's first."""
        count = len(members)
        values = topology.link.completed(self._system, count - 1, self._system.latency_ns)
        self.links += [
            DirectedLink(member, members[(place + distance) % count], values)
            for place, member in enumerate(members)
            for distance in range(1, count)
        ]

    def _star(
        self,
        wires: Wires,
        switch: Switch,
        members: Sequence[int],
        dimension: int = 0,
        between: bool = False,
    ) -> None:
        """Add links from each GPU to every plane of a switch, and from there to each GPU.

        Where the topology gives no latency, the way from GPU to GPU has the system's.
        """
        way_ns = max(0.0, self._system.latency_ns - switch.latency_ns)
        values = wires.completed(self._system, switch.planes, way_ns / 2)
        first = self.gpus + len(self.switches)
        self.switches += [switch] * switch.planes
        planes = range(first, first + switch.planes)
        for member in members:
            for plane in planes:
                self.links.append(DirectedLink(member, plane, values, dimension, between))
        for plane in planes:
            for member in members:
                self.links.append(DirectedLink(plane, member, values, dimension, between, switch))
        self.planes = lcm(self.planes, switch.planes)

    def _nodes(self, topology: Nodes, members: Sequence[int]) -> None:
        """Add the links inside each node, then those of the network if there are several nodes."""
        size = topology.gpus_per_node
        for first in range(0, len(members), size):
            self.join(topology.inside, members[first : first + size])
        if len(members) == size:
            return
        network = 1 + max(link.dimension for link in self.links)
        joined = [members]
        if topology.between == "rails":
            joined = [members[place::size] for place in range(size)]
        for rail in joined:
            self._star(topology.link, topology.switch, rail, network, between=True)
        if topology.forwards:
            self.forwarding |= {(inside, network) for inside in range(network)}
