"""Routes of the packets of a machine: the links that they use, the queues before them, the hops.

A packet waits at the port of its GPU or in the queue of a link. A *hop* leads from there over the
link to the next queue or to the receiver. A GPU whose channels use one link each keeps its packets
at their ports. Any other GPU has an output queue before each of its links, else a packet would
hold up packets behind it whose links are free; the hop into this queue uses no link.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from sysmodel.lib.errors import InputError
from sysmodel.lib.neighbours import downstream

from .fabric import Fabric
from .layers import closing_steps, in_layers

__all__ = ["Hop", "Routes"]

_Way = tuple[int, ...]


@dataclass(frozen=True)
class Hop:
    """Hop of a packet, which has places of its own at its end.

    Parameters
    ----------
    link : int or None
        Link that the packet takes; None from a port into the queue of the same GPU.
    queue : int or None
        Queue at the end; None at the receiver.
    gpu : int
        Receiver; -1 at a queue.
    """

    link: int | None
    queue: int | None
    gpu: int = -1

    @property
    def by_channel(self) -> bool:
        """Return True if each channel has its own places at the end."""
        return self.link is None or self.queue is None


_Step = tuple[Hop, ...]  # several where a switch copies


@dataclass
class Routes:
    """Routes of the packets that the GPUs of a fabric send.

    Parameters
    ----------
    channels : int
        Simulated channels of a GPU.
    windows : bool
        GPUs send to all other GPUs; otherwise only to the neighbour downstream.
    mirror : bool
        GPU 0 stands for all, and receives what it sends downstream.

    Attributes
    ----------
    queues : dict
        Number of each queue, by link and layer, in this order.
    first : dict
        Hops from a port, by plane, GPU and window.
    following : dict
        Hops from a queue, by plane, queue and destination: a GPU, or N and the sender of a packet
        for all others, or 2 N and the receiver of a sum.
    merged : dict
        Places from which packets of a sum come into a queue, by plane, queue and receiver.
    """

    fabric: Fabric
    channels: int
    windows: bool = False
    mirror: bool = False
    queues: dict[tuple[int, int], int] = field(init=False)
    first: dict[tuple[int, int, int], _Step] = field(default_factory=dict, init=False)
    following: dict[tuple[int, int, int], _Step] = field(default_factory=dict, init=False)
    merged: dict[tuple[int, int, int], set[tuple[int, int | None]]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        if self.mirror and self.windows:
            raise ValueError("one GPU that stands for all has no windows")
        queued = {self._queued(way) for way in self._all_ways()}
        self._closing = closing_steps(sorted(queued))
        places = {one for way in queued for one in in_layers(way, self._closing)}
        self.queues = {place: number for number, place in enumerate(sorted(places))}
        for plane in self.planes:
            for gpu in self.senders:
                for window in range(self.window_count):
                    if window != self.fabric.gpus or self.multicasts:
                        self._add(plane, gpu, window)

    @property
    def planes(self) -> range:
        """Planes of the simulated channels."""
        return range(min(self.fabric.planes, self.channels))

    @property
    def senders(self) -> range:
        """Simulated GPUs."""
        return range(1 if self.mirror else self.fabric.gpus)

    @cached_property
    def multicasts(self) -> bool:
        """Return True if switches copy the packets for several GPUs, wherever their ways part."""
        gpus = self.fabric.gpus
        return self.windows and all(
            len(self._peers(gpu)) == gpus - 1 and self._parts_at_switches(plane, gpu)
            for plane in self.planes
            for gpu in self.senders
        )

    @cached_property
    def merges(self) -> bool:
        """Return True if switches add the packets of all GPUs for a GPU, wherever their ways join.

        The receiver's own packets go to the switch before it, and back.
        """
        gpus = self.fabric.gpus
        return self.windows and all(
            len(self._peers(gpu)) == gpus - 1
            and self.fabric.turn(gpu, plane)
            and self._joins_at_switches(plane, gpu)
            for gpu in self.senders
            for plane in self.planes
        )

    @property
    def window_count(self) -> int:
        """Number of windows, from 0 on."""
        if not self.windows:
            return 1
        return self.fabric.gpus + max(self.multicasts, self.merges * (1 + self.fabric.gpus))

    def destination(self, gpu: int, window: int) -> int:
        """Destination of the packets that a GPU sends to a window."""
        gpus = self.fabric.gpus
        if window == gpus:
            return gpus + gpu
        if window > gpus:
            return 2 * gpus + (gpu + window - gpus - 1) % gpus
        return (gpu + window) % gpus if window else int(downstream(gpu, gpus))

    def way(self, gpu: int, destination: int, plane: int) -> _Way:
        """Links from a GPU to another one."""
        return self.fabric.route(gpu, destination, plane)

    def port_link(self, gpu: int, plane: int) -> int | None:
        """Link of a GPU's ports; None if the packets take a queue."""
        return self._port_links[gpu][plane]

    def links_of(self, gpu: int) -> list[int]:
        """Numbers of the links over which a GPU sends."""
        found = {way[0] for plane in self.planes for way in self._ways(gpu, plane)}
        return sorted(found)

    @cached_property
    def planes_of(self) -> dict[int, set[int]]:
        """Planes of the channels that use each link, of all channels of the memory."""
        found: dict[int, set[int]] = {}
        for plane in range(self.fabric.planes):
            for gpu in self.senders:
                for way in self._ways(gpu, plane):
                    for link in way:
                        found.setdefault(link, set()).add(plane)
        return found

    @cached_property
    def queue_links(self) -> list[int]:
        """Link of each queue."""
        return [link for link, _ in self.queues]

    @cached_property
    def port_planes(self) -> int:
        """Number of links among which the channels of a port are dealt out in turn."""
        links = [{self.port_link(gpu, plane) for plane in self.planes} for gpu in self.senders]
        planes = len(self.planes)
        return planes if all(len(one - {None}) == planes for one in links) else 1

    @cached_property
    def ports_in_turn(self) -> bool:
        """Return True if all channels of a port's link send to one GPU, and take turns."""
        links = [{self.port_link(gpu, plane) for plane in self.planes} for gpu in self.senders]
        each = len(self.planes) // self.port_planes
        alone = all(None not in one and len(one) * each == len(self.planes) for one in links)
        return alone and (not self.windows or self.fabric.gpus == 2)

    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of a GPU and its neighbour downstream; GPU 0 where GPU 0 stands for all."""
        return [(gpu, 0 if self.mirror else self.destination(gpu, 0)) for gpu in self.senders]

    def hops(self) -> Iterator[Hop]:
        """Yield all hops, each at least once."""
        for steps in (self.first, self.following):
            for step in steps.values():
                yield from step

    def _peers(self, gpu: int) -> list[int]:
        gpus = self.fabric.gpus
        if self.windows:
            return [other for other in range(gpus) if other != gpu and self._reaches(gpu, other)]
        return [int(downstream(gpu, gpus))]

    def _reaches(self, gpu: int, other: int) -> bool:
        with suppress(InputError):
            return bool(self.way(gpu, other, 0))
        return False

    def _ways(self, gpu: int, plane: int) -> list[_Way]:
        return [self.way(gpu, peer, plane) for peer in self._peers(gpu)]

    def _all_ways(self) -> Iterator[_Way]:
        for plane in self.planes:
            for gpu in self.senders:
                yield from self._ways(gpu, plane)

    @cached_property
    def _port_links(self) -> list[list[int | None]]:
        """Link of each GPU's ports by plane, unless another packet would be held up."""
        passed = {link for way in self._all_ways() for link in way[1:]}
        links: list[list[int | None]] = []
        for gpu in self.senders:
            firsts = [{way[0] for way in self._ways(gpu, plane)} for plane in self.planes]
            alone = all(len(one) == 1 and not one & passed for one in firsts)
            links.append([next(iter(one)) if alone else None for one in firsts])
        return links

    def _queued(self, way: _Way) -> _Way:
        """Links of a way that have a queue in front."""
        sender = self.fabric.links[way[0]].source
        return way[1:] if self._port_links[sender][0] is not None else way

    def _add(self, plane: int, gpu: int, window: int) -> None:
        """Add the hops of the packets that a GPU sends to a window."""
        destination = self.destination(gpu, window)
        peers, gpus = self._peers(gpu), self.fabric.gpus
        if destination >= 2 * gpus:
            self._add_sum(plane, gpu, destination)
            return
        receivers = peers if destination >= gpus else [destination]
        if not set(receivers) <= set(peers):
            return
        code = 0 if self.mirror else destination
        steps: dict[int | None, dict[Hop, None]] = {}  # by queue, None for the port
        for receiver in receivers:
            way = self.way(gpu, receiver, plane)
            for place, hop in self._hops_of(way, 0 if self.mirror else receiver):
                steps.setdefault(place, {})[hop] = None
        for place, hops in steps.items():
            if place is None:
                self.first[plane, gpu, window] = tuple(hops)
            else:
                self.following[plane, place, code] = tuple(hops)

    def _add_sum(self, plane: int, gpu: int, destination: int) -> None:
        """Add the hops of the packets of a GPU that the network adds to those of all others."""
        receiver = destination - 2 * self.fabric.gpus
        for place, hop in self._hops_of(self._merging_way(gpu, receiver, plane), receiver):
            if place is None:
                self.first[plane, gpu, self._sum_window(gpu, receiver)] = (hop,)
            else:
                self.following[plane, place, destination] = (hop,)
            if hop.queue is not None:
                sources = self.merged.setdefault((plane, hop.queue, receiver), set())
                sources.add((gpu if place is None else -1, place))

    def _merging_way(self, gpu: int, receiver: int, plane: int) -> _Way:
        if gpu == receiver:
            return self.fabric.turn(gpu, plane)
        return self.way(gpu, receiver, plane)

    def _sum_window(self, gpu: int, receiver: int) -> int:
        gpus = self.fabric.gpus
        return gpus + 1 + (receiver - gpu) % gpus

    def _hops_of(self, way: _Way, receiver: int) -> Iterator[tuple[int | None, Hop]]:
        """Yield the places where a packet waits on its way, None for the port, and its hops."""
        places = [self.queues[one] for one in in_layers(self._queued(way), self._closing)]
        if len(places) == len(way):
            yield None, Hop(None, places[0])
            waits: list[int | None] = [*places]
        else:
            waits = [None, *places]
        for number, (place, link) in enumerate(zip(waits, way, strict=True)):
            last = number + 1 == len(way)
            yield place, Hop(link, None, receiver) if last else Hop(link, waits[number + 1])

    def _parts_at_switches(self, plane: int, gpu: int) -> bool:
        """Test whether the ways of a GPU to all others part only at switches that multicast."""
        following: dict[int | None, set[int | None]] = {}
        for way in self._ways(gpu, plane):
            for before, link in zip((None, *way), (*way, None), strict=True):
                following.setdefault(before, set()).add(link)
        for before, links in following.items():
            if len(links) == 1:
                continue
            switch = None
            if before is not None:
                switch = self.fabric.switch_at(self.fabric.links[before].target)
            if switch is None or not switch.multicasts:
                return False
        return True

    def _joins_at_switches(self, plane: int, receiver: int) -> bool:
        """Test whether the ways of all GPUs to one join only at switches that add packets."""
        before: dict[int, set[int | None]] = {}
        for gpu in range(self.fabric.gpus):
            way = self._merging_way(gpu, receiver, plane)
            for last, link in zip((None, *way), way, strict=False):
                before.setdefault(link, set()).add(last)
        joins = (
            self.fabric.switch_at(self.fabric.links[e].source) for e in before if len(before[e]) > 1
        )
        return all(one is not None and one.reduces for one in joins)
