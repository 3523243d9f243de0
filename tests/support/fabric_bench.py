"""Independent model of the fabric, with random packets at its channels and its ports."""

from collections import deque

from rtl.interface.encodings import PacketKind
from rtl.parameters import T3Parameters

__all__ = ["CONTEXTS", "GPUS", "Arrivals", "Departures", "channel_of", "parameters"]

CONTEXTS = 2
GPUS = 12  # numbers of GPUs in packets, most of them without a port


def parameters(channels):
    """Return a small geometry with this number of channels, a power of two."""
    return T3Parameters(
        channels=channels,
        system_channels=channels,
        interleave_atoms=2,
        contexts=CONTEXTS,
        address_bits=24,
        tile_atom_bits=7,
        workgroup_bits=6,
        sets=2,
    )


def channel_of(packet, channels):
    """Return the channel of an arriving packet: the exclusive-or of the groups of address bits
    above the interleave, or, for an END packet, the low bits of its slot."""
    if packet["kind"] is PacketKind.END:
        return packet["slot"] % channels
    block, channel = packet["atom"] // 2, 0
    while block and channels > 1:
        channel, block = channel ^ block % channels, block // channels
    return channel


class _Side:
    """Sources that offer packets, each until it is taken, and sinks that take some of them.

    ``fields`` returns, for each new packet of a source, the fields that are not random. ``note`` is
    called with sink and bits of each packet that leaves.
    """

    def __init__(self, rng, p, sources, sinks):
        self._rng, self._p = rng, p
        self._sources, self._sinks = sources, sinks
        self.offers = [None] * len(sources)
        self.waits = [0] * len(sources)  # cycles
        self.offer, self.take = [0.5] * len(sources), [0.7] * len(sinks)
        self.left = [[] for _ in sinks]
        self.fields = lambda number: {}
        self.note = lambda number, bits: None
        self._count = 0

    def _packet(self):
        """Make a packet whose data identify it."""
        rng, p, self._count = self._rng, self._p, self._count + 1
        return {
            "destination": rng.randrange(GPUS),
            "source": self._count % 128,
            "kind": rng.choice(list(PacketKind)),
            "atom": rng.getrandbits(p.atom_address_bits),
            "slot": rng.getrandbits(p.dispatch_index_bits),
            "wavefront": rng.randrange(p.wavefronts),
            "generation": self._count // 128 % 16,
        }

    def _wrap(self, packet):
        return packet

    def drive(self, ctx):
        rng = self._rng
        for number, port in enumerate(self._sources):
            if self.offers[number] is None and rng.random() < self.offer[number]:
                self.offers[number] = self._wrap(self._packet() | self.fields(number))
                self.waits[number] = 0
            ctx.set(port.valid, self.offers[number] is not None)
            ctx.set(port.p, self.offers[number] or self._wrap(self._packet()))
        for port, take in zip(self._sinks, self.take, strict=True):
            ctx.set(port.ready, rng.random() < take)

    def sample(self, ctx):
        """Return the packets that are taken in this cycle, by source."""
        taken = {}
        for number, port in enumerate(self._sources):
            if self.offers[number] is not None and ctx.get(port.ready):
                taken[number], self.offers[number] = self.offers[number], None
            elif self.offers[number] is not None:
                self.waits[number] += 1
        for number, port in enumerate(self._sinks):
            if ctx.get(port.valid & port.ready):
                bits = ctx.get(port.p.as_value())
                self.left[number].append(bits)
                self.note(number, bits)
        return taken


class Departures(_Side):
    """Packets of the channels, and what has to leave through each port, by channel.

    Parameters
    ----------
    gpus : list
        GPU of each port, None for one that is not enabled.
    """

    def __init__(self, rng, p, dut, gpus):
        super().__init__(rng, p, dut.packets, dut.to_ports)
        self._dut, self._gpus = dut, gpus
        self.shape = dut.to_ports[0].p.shape()
        self.expected = [[deque() for _ in dut.packets] for _ in gpus]
        self.dropped, self.lost, self.gpu = 0, set(), 0

    def _wrap(self, packet):
        return {"owner": self._rng.randrange(CONTEXTS), "packet": packet}

    def port_of(self, packet):
        """Return the port of a packet; None without one."""
        gpu = packet["packet"]["destination"]
        return self._gpus.index(gpu) if gpu in self._gpus else None

    def sample(self, ctx):
        assert ctx.get(self._dut.lost) == sum(1 << context for context in self.lost)
        assert not self.lost or ctx.get(self._dut.gpu) in self.gpu
        assert ctx.get(self._dut.dropped) == self.dropped
        taken = super().sample(ctx)
        self.lost, self.gpu = set(), set()
        for channel, packet in taken.items():
            port = self.port_of(packet)
            if port is None:
                self.lost.add(packet["owner"])
                self.gpu.add(packet["packet"]["destination"])
            else:
                self.expected[port][channel].append(self.shape.const(packet).as_bits())
        self.dropped += bool(self.lost)
        self._check()
        return taken

    def _check(self):
        """Match what has left with the oldest packet of one of the channels."""
        for port, left in enumerate(self.left):
            for bits in left:
                owners = [queue for queue in self.expected[port] if queue and queue[0] == bits]
                assert owners, (port, hex(bits))
                owners[0].popleft()
            left.clear()

    def waiting(self, port):
        """Return the number of packets in the queue of a port."""
        return sum(map(len, self.expected[port]))


class Arrivals(_Side):
    """Packets of the ports, and what has to arrive in each channel, by port."""

    def __init__(self, rng, p, dut):
        super().__init__(rng, p, dut.from_ports, dut.o)
        self.shape = dut.o[0].p.shape()
        self.expected = [[deque() for _ in dut.from_ports] for _ in dut.o]

    def sample(self, ctx):
        taken = super().sample(ctx)
        for port, packet in taken.items():
            channel = channel_of(packet, len(self.expected))
            self.expected[channel][port].append(self.shape.const(packet).as_bits())
        for channel, left in enumerate(self.left):
            for bits in left:
                queues = [queue for queue in self.expected[channel] if queue and queue[0] == bits]
                assert queues, (channel, hex(bits))
                queues[0].popleft()
            left.clear()
        return taken

    @property
    def waiting(self):
        """Number of packets inside."""
        return sum(len(queue) for queues in self.expected for queue in queues)
