"""Fabric between the channels of a GPU and its ports to fully connected GPUs."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import GPU_BITS
from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket, OwnedPacket
from rtl.lib.gating import clock_gated
from rtl.lib.interleave import channel_of
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

from .turns import RunMerge

__all__ = ["Fabric", "PortEntry"]

_COUNTER_BITS = 32
_LANE_DEPTH = 2  # a register before the channels' lookups, at full rate


def PortEntry():
    """GPU at the other end of a port."""
    return data.StructLayout({"enable": 1, "gpu": GPU_BITS})


class Fabric(wiring.Component):
    """Crossbar: packets of any channel leave through the port of their destination, and packets of
    any port arrive in the channel of their address.

    Channels share *lanes* in both directions: channel *c* uses lane *c* modulo their number. In
    each direction a lane moves one packet per cycle, and so does a port. Streams take turns at each
    lane and at each port, round robin; packets that leave have turns of a run, so that they still
    share frames. A channel's packets to a GPU stay in order, and so do packets from a port to a
    channel.

    A packet waits only for its own port, except behind a packet that is before it in its channel or
    has the turn in its lane. A port's queue takes ``port_depth`` packets before any other waits.

    A packet for a GPU that no port has is dropped and reported. An END packet has no address:
    its slot selects the channel.

    Parameters
    ----------
    ports : int
        Ports, at most as many as channels.
    lanes : int or None
        Number of lanes, which divides the number of channels; the number of channels if None.
    port_depth : int
        Packets that wait for a port, at least 2; all but one in a memory.

    Members
    -------
    packets : In(stream of :func:`OwnedPacket`).array(channels)
        Packets of the channels.
    o : Out(stream of :func:`LinkPacket`).array(channels)
        Packets to the channels.
    to_ports : Out(stream of :func:`OwnedPacket`).array(ports)
    from_ports : In(stream of :func:`LinkPacket`).array(ports)
    gpus : In(array of :func:`PortEntry`)
        GPU of each port. It may change while no packet for the old or the new GPU is in the fabric.
        If several ports have the same GPU, the first one gets the packets.
    lost : Out(contexts)
        Contexts of packets that were dropped in the last cycle. Register.
    gpu : Out
        Destination of the packet that was dropped last, of the first lane. Register.
    dropped : Out(32)
        Cycles in which packets were dropped, since reset.

    Attributes
    ----------
    Proofs read these attributes, but never drive them.

    lane_merges, port_merges : list of RunMerge
        Merge of each lane's channels, and of each port's lanes.
    arrival_merges : list of Merge
        Merge of each lane's ports.
    port_queues : list of MemoryQueue
    lane_queues : list of Queue

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    ValueError
        If the hardware serves a part of the memory's channels, or a number does not fit.
    """

    def __init__(
        self, p: T3Parameters, *, ports: int, lanes: int | None = None, port_depth: int = 17
    ):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        if p.channels != p.system_channels:
            raise ValueError(
                f"A fabric needs all {p.system_channels} channels of the memory, not {p.channels}"
            )
        if not isinstance(ports, int) or not 1 <= ports <= p.channels:
            raise ValueError(f"ports must be 1 to {p.channels}, not {ports!r}")
        lanes = p.channels if lanes is None else lanes
        if not isinstance(lanes, int) or lanes < 1 or p.channels % lanes:
            raise ValueError(f"lanes must divide the channels ({p.channels}), not {lanes!r}")
        self._p = p
        owned, arriving = OwnedPacket(p), LinkPacket(p)
        super().__init__(
            {
                "packets": In(stream.Signature(owned)).array(p.channels),
                "o": Out(stream.Signature(arriving)).array(p.channels),
                "to_ports": Out(stream.Signature(owned)).array(ports),
                "from_ports": In(stream.Signature(arriving)).array(ports),
                "gpus": In(data.ArrayLayout(PortEntry(), ports)),
                "lost": Out(p.contexts),
                "gpu": Out(GPU_BITS),
                "dropped": Out(_COUNTER_BITS),
                "clock_enable": Out(1),
            }
        )

        def merge(inputs: int) -> RunMerge:
            return RunMerge(owned, inputs, lambda packet: packet.packet.atom)

        self.lane_merges = [merge(p.channels // lanes) for _ in range(lanes)]
        self.port_merges = [merge(lanes) for _ in range(ports)]
        self.port_queues = [MemoryQueue(owned, depth=port_depth) for _ in range(ports)]
        self.arrival_merges = [Merge(arriving, ports) for _ in range(lanes)]
        self.lane_queues = [Queue(arriving, depth=_LANE_DEPTH) for _ in range(lanes)]

    def elaborate(self, platform):
        m = Module()
        parts = {
            "lane_merge": self.lane_merges,
            "port_merge": self.port_merges,
            "port_queue": self.port_queues,
            "arrival_merge": self.arrival_merges,
            "lane_queue": self.lane_queues,
        }
        for name, blocks in parts.items():
            for number, block in enumerate(blocks):
                # A merge of one stream has no clock.
                has_clock = not isinstance(block, (Merge, RunMerge)) or block.pick is not None
                m.submodules[f"{name}_{number}"] = clock_gated(block) if has_clock else block
        self._send(m)
        self._receive(m)
        return m

    def _send(self, m: Module) -> None:
        """Route packets by their destination, and drop those without a port."""
        lanes = self.lane_merges
        lost = Signal(len(lanes))
        for number, lane in enumerate(lanes):
            for source, sink in zip(self.packets[number :: len(lanes)], lane.i, strict=True):
                wiring.connect(m, wiring.flipped(source), sink)
            route = self._route(m, number, lane.o.p.packet.destination)
            takes = []
            for bit, port in zip(route, self.port_merges, strict=True):
                m.d.comb += [
                    port.i[number].valid.eq(lane.o.valid & bit),
                    port.i[number].p.eq(lane.o.p),
                ]
                takes.append(port.i[number].ready & bit)
            m.d.comb += [
                lost[number].eq(lane.o.valid & ~route.any()),
                lane.o.ready.eq(Cat(takes).any() | lost[number]),
            ]
        for merge, queue, port in zip(
            self.port_merges, self.port_queues, self.to_ports, strict=True
        ):
            wiring.connect(m, merge.o, queue.i)
            wiring.connect(m, queue.o, wiring.flipped(port))
        self._report(m, lost)

    def _route(self, m: Module, number: int, destination: Value) -> Signal:
        """Find the port of a lane's packet, one-hot; 0 without one."""
        route = Signal(len(self.port_merges), name=f"route_{number}")
        hits = Cat(entry.enable & (entry.gpu == destination) for entry in self.gpus)
        m.d.comb += route.eq(one_hot_first(hits))
        return route

    def _report(self, m: Module, lost: Signal) -> None:
        """Report and count the packets without a port."""
        m.submodules.counter = counter = WideCounter(_COUNTER_BITS)
        packets = [lane.o.p for lane in self.lane_merges]
        owners = Cat(
            Cat(bit & (one.owner == number) for bit, one in zip(lost, packets, strict=True)).any()
            for number in range(self._p.contexts)
        )
        gpu = one_hot_select(one_hot_first(lost), [one.packet.destination for one in packets])
        m.d.sync += [self.lost.eq(owners), self.gpu.eq(Mux(lost.any(), gpu, self.gpu))]
        m.d.comb += [
            counter.step.eq(lost.any()),
            self.dropped.eq(counter.o),
            self.clock_enable.eq(lost.any() | self.lost.any() | counter.clock_enable),
        ]

    def _receive(self, m: Module) -> None:
        """Route packets to the lane of their channel, and from there to the channel."""
        lanes = self.lane_queues
        numbers = [self._channel(m, number, one.p) for number, one in enumerate(self.from_ports)]
        for number, source in enumerate(self.from_ports):
            takes = []
            for lane, merge in enumerate(self.arrival_merges):
                of_lane = range(lane, len(self.o), len(lanes))
                here = Cat(numbers[number] == channel for channel in of_lane).any()
                m.d.comb += [
                    merge.i[number].valid.eq(source.valid & here),
                    merge.i[number].p.eq(source.p),
                ]
                takes.append(merge.i[number].ready & here)
            m.d.comb += source.ready.eq(Cat(takes).any())
        for lane, (merge, queue) in enumerate(
            zip(self.arrival_merges, self.lane_queues, strict=True)
        ):
            wiring.connect(m, merge.o, queue.i)
            channels = range(lane, len(self.o), len(lanes))
            target = self._channel(m, f"lane_{lane}", queue.o.p)
            takes = []
            for channel in channels:
                sink, here = self.o[channel], target == channel
                m.d.comb += [sink.valid.eq(queue.o.valid & here), sink.p.eq(queue.o.p)]
                takes.append(sink.ready & here)
            m.d.comb += queue.o.ready.eq(Cat(takes).any())

    def _channel(self, m: Module, name: int | str, packet: data.View) -> Signal:
        """Find the channel of an arriving packet."""
        channels = len(self.o)
        channel = Signal(range(channels), name=f"channel_of_{name}")
        slot = packet.slot[: len(channel)]
        of_slot = Mux(slot >= channels, slot - channels, slot)
        m.d.comb += channel.eq(
            Mux(packet.kind == PacketKind.END, of_slot, channel_of(self._p, packet.atom))
        )
        return channel
