"""Rates of a network for the simulated channels, and the places of its queues and receivers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sysmodel.gpu.atoms import ATOM_BYTES

from .routes import Hop, Routes

__all__ = ["Capacity", "PacketSizes"]

# Packets of a channel in an output queue of its GPU. In a channel they leave in order, so a short
# queue of a busy link holds up those for other links. Where the link also carries packets of other
# GPUs, long queues of a GPU's own packets would crowd them out.
_OWN_PACKETS = 256
_OWN_PACKETS_AMONG_OTHERS = 16
_FORWARDED_PACKETS = 64  # of a channel in the queue of a GPU that forwards, for each sender
_LEAST_PACKETS = 4  # in the queue of a switch, for each sender


@dataclass(frozen=True, kw_only=True)
class PacketSizes:
    """Sizes of packets at the rate of the payload: the longest packet takes as many bytes of the
    rate as it has payload.

    Parameters
    ----------
    atom_bytes, header_bytes : sequence of float
        Bytes of an atom, and of a packet's header, on each link.
    atoms : int
        Most atoms of a packet, a power of two.
    """

    atom_bytes: Sequence[float]
    header_bytes: Sequence[float]
    atoms: int


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Rates and places of a network.

    Parameters
    ----------
    rate_bytes : sequence of float
        Payload of each link of the fabric for all channels of the memory, in bytes per cycle.
    latency_cycles : sequence of int
        Latency of each link, with the switch in front, at least 1.
    system_channels : int
        Channels of a GPU's memory, of which the first ones are simulated.
    buffer_packets : int
        Receiver's buffer of a channel for each link, beyond the packets on the wire.
    packets : PacketSizes or None
        None: every packet has one atom and no header.
    """

    routes: Routes
    rate_bytes: Sequence[float]
    latency_cycles: Sequence[int]
    system_channels: int
    buffer_packets: int
    packets: PacketSizes | None = None

    def channels(self, link: int) -> int:
        """Count the simulated channels that use a link."""
        return self._channels(link, self.routes.channels)

    def _channels(self, link: int, most: int) -> int:
        planes = self.routes.planes_of.get(link, set())
        return sum(c % self.routes.fabric.planes in planes for c in range(most))

    def share(self, link: int) -> float:
        """Share of a link that belongs to the simulated channels."""
        every = self._channels(link, self.system_channels)
        return self.channels(link) / every if every else 0.0

    def rate(self, link: int) -> float:
        """Rate of a link for the simulated channels, in bytes per cycle."""
        return self.rate_bytes[link] * self.share(link)

    @property
    def packet_gap(self) -> int:
        """Most cycles between two atoms of a packet: while a link is busy, an atom waits for its
        turn as long as each channel sends a packet."""
        busiest = self.routes.links_of(self.routes.senders[0])[0]
        share = self.rate(busiest) / max(1, self.channels(busiest))
        return int(self.packet_atoms * ATOM_BYTES / share) if self.packet_atoms > 1 else 0

    @property
    def packet_atoms(self) -> int:
        """Most atoms of a packet."""
        return self.packets.atoms if self.packets else 1

    def at_receiver(self, link: int) -> int:
        """Places of a channel behind a receiver's link, with those of packets on the wire."""
        share = self.rate(link) / ATOM_BYTES / max(1, self.channels(link))
        return int(share * self.latency_cycles[link]) + 1 + self.buffer_packets

    def places(self, hop: Hop) -> int:
        """Places at the end of a hop: of each channel where each has its own."""
        if hop.queue is None:
            assert hop.link is not None
            return self.at_receiver(hop.link)
        if hop.link is None:
            return _OWN_PACKETS_AMONG_OTHERS if hop.queue in self._senders else _OWN_PACKETS
        on_wire = int(self.rate(hop.link) / ATOM_BYTES * self.latency_cycles[hop.link]) + 1
        return on_wire + self._queued(hop.queue)

    def _queued(self, queue: int) -> int:
        """Places of a queue for each link that leads to it."""
        link = self.routes.queue_links[queue]
        length = self.routes.fabric.links[link].queue_bytes
        if length is None:
            return _FORWARDED_PACKETS * self.channels(link)
        packets = length * self.share(link) / ATOM_BYTES / self._senders[queue]
        return max(_LEAST_PACKETS, int(packets))

    @cached_property
    def _senders(self) -> dict[int, int]:
        """Number of links that lead to each queue."""
        found: dict[int, int] = {}
        for hop in set(self.routes.hops()):
            if hop.queue is not None and hop.link is not None:
                found[hop.queue] = found.get(hop.queue, 0) + 1
        return found
