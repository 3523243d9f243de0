import random
from collections import deque

import pytest
from amaranth.sim import Simulator

from rtl.dma.lane import DmaLane
from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Access, Datatype, Operation, Origin, PacketKind
from rtl.interface.layouts import Packet, Segment
from rtl.parameters import T3Parameters

SMALL = T3Parameters(contexts=1, egress_slots=8, with_data=True)
FULL = T3Parameters(contexts=1)


def random_segment(rng, p, length=None):
    """Return a segment that ends at the latest at the end of the channel's granule. Without a
    length it may be an END segment."""
    kind = rng.choice([PacketKind.STORE, PacketKind.UPDATE])
    if length is None and rng.random() < 0.2:
        kind, length = PacketKind.END, 1
    length = length or rng.randint(1, p.interleave_atoms)
    granule = rng.randrange(2**p.atom_address_bits // p.interleave_atoms) * p.interleave_atoms
    return {
        "atom": granule + rng.randint(0, p.interleave_atoms - length),
        "length": length,
        "offset": rng.choice([0, 5, 60, 1000, 0xFFF0]),
        "wave_inner_log2": rng.choice([0, 1, 3, 6, 15]),
        "wavefront": rng.randrange(p.wavefronts),
        "slot": rng.getrandbits(p.dispatch_index_bits),
        "peers": rng.getrandbits(p.peers),
        "generation": rng.getrandbits(GENERATION_BITS),
        "kind": kind,
        "op": rng.choice(list(Operation)),
        "dtype": rng.choice(list(Datatype)),
        "atom_offset": rng.getrandbits(p.atom_address_bits),
    }


def word(address):
    """Return the memory's 64-bit words at an atom."""
    return [(address * 4 + lane) * 0x9E3779B97F4A7C15 % 2**64 for lane in range(4)]


def packets_of(segment, p):
    """Return the packets of a segment, one for each atom, in order; an END packet without data."""
    return [Packet(p).const(fields) for fields in _packet_fields(segment, p)]


def _packet_fields(segment, p):
    atoms = 2**p.atom_address_bits
    for index in range(segment["length"]):
        atom = (segment["atom"] + index) % atoms
        wave = (segment["offset"] + index) // 2 ** segment["wave_inner_log2"]
        copied = ("kind", "peers", "slot", "generation", "op", "dtype")
        yield {name: segment[name] for name in copied} | {
            "atom": (atom + segment["atom_offset"]) % atoms,
            "wavefront": (segment["wavefront"] + wave) % p.wavefronts,
            "data": word(atom) if p.with_data and segment["kind"] != PacketKind.END else [],
        }


class Bench:
    """Driver of a lane that checks the fields of every read and packet."""

    def __init__(self, ctx, dut, p):
        self.ctx, self.dut, self.p = ctx, dut, p
        self.outstanding = []  # (slot, atom) of the reads that left
        self.accepted = False  # the segment of the last cycle
        self.idle = True  # in the last cycle

    async def cycle(
        self, *, segment=None, reads_ready=True, returned=None, sends_ready=True, aborting=False
    ):
        """Run one cycle, in which an outstanding read may be ``returned``.

        Returns the read (atom, slot) and the packet that left, each None if there was none.
        """
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.segments.valid, segment is not None)
        if segment is not None:
            ctx.set(dut.segments.p, segment)
        ctx.set(dut.reads.ready, reads_ready)
        ctx.set(dut.sends.ready, sends_ready)
        ctx.set(dut.aborting, aborting)
        ctx.set(dut.returns.valid, returned is not None)
        if returned is not None:
            self.outstanding.remove(returned)
            data = word(returned[1]) if self.p.with_data else []
            ctx.set(dut.returns.p, {"slot": returned[0], "data": data})
        self.accepted = segment is not None and bool(ctx.get(dut.segments.ready))
        self.idle = bool(ctx.get(dut.idle))
        read = packet = None
        if ctx.get(dut.reads.valid) and reads_ready:
            request = ctx.get(dut.reads.p)
            assert (request.access, request.origin) == (Access.READ, Origin.COMMUNICATION)
            assert (request.dispatch_index, request.wavefront) == (0, 0)
            assert (request.op, request.dtype) == (Operation.SUM, Datatype.FP16)
            read = request.atom, request.tag
            assert read[1] not in [slot for slot, _ in self.outstanding]
            self.outstanding.append((request.tag, request.atom))
        if ctx.get(dut.sends.valid) and sends_ready:
            packet = ctx.get(dut.sends.p)
            if packet.kind == PacketKind.END:  # its data mean nothing
                names = [name for name in Packet(self.p).members if name != "data"]
                packet = Packet(self.p).const({name: packet[name] for name in names})
        await ctx.tick()
        return read, packet


def simulate(p, bench):
    dut = DmaLane(p)
    sim = Simulator(dut)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(Bench(ctx, dut, p))

    sim.add_testbench(run)
    sim.run()


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not None"):
        DmaLane(None)


def test_one_atom_latency():
    segment = random_segment(random.Random(1), SMALL, length=1)

    async def run(lane):
        assert await lane.cycle(segment=segment) == (None, None)
        assert await lane.cycle() == (None, None)
        read, _ = await lane.cycle()
        assert read == (segment["atom"], 0)
        assert await lane.cycle(returned=(0, segment["atom"])) == (None, None)
        assert await lane.cycle() == (None, None)
        _, packet = await lane.cycle()
        assert [packet] == packets_of(segment, SMALL)

    simulate(SMALL, run)


def end_segment(rng, p):
    """Return an END segment."""
    return random_segment(rng, p, length=1) | {"kind": PacketKind.END}


def test_an_end_packet_needs_no_read():
    """The packet is ready as soon as it has its slot."""
    segment = end_segment(random.Random(4), SMALL)

    async def run(lane):
        assert await lane.cycle(segment=segment, reads_ready=False) == (None, None)
        for _ in range(2):
            assert await lane.cycle(reads_ready=False) == (None, None)
        _, packet = await lane.cycle(reads_ready=False)
        assert [packet] == packets_of(segment, SMALL)
        for _ in range(4):
            assert await lane.cycle() == (None, None)
        assert lane.idle

    simulate(SMALL, run)


def test_an_end_packet_keeps_its_place():
    """The packet leaves behind the atoms of earlier segments and before those of later ones."""
    rng = random.Random(5)
    segments = [
        random_segment(rng, SMALL, length=2),
        end_segment(rng, SMALL),
        random_segment(rng, SMALL, length=2),
    ]

    async def run(lane):
        queue, got = deque(segments), []
        for cycle in range(60):
            # The last atom returns first.
            returned = lane.outstanding[-1] if lane.outstanding and cycle > 20 else None
            _, packet = await lane.cycle(segment=queue[0] if queue else None, returned=returned)
            got += [] if packet is None else [packet]
            if lane.accepted:
                queue.popleft()
            assert not got or cycle > 20
        assert got == [packet for one in segments for packet in packets_of(one, SMALL)]
        assert lane.idle

    simulate(SMALL, run)


def test_end_packets_fill_the_slots():
    """With a blocked link the lane takes as many as it has slots, and loses none."""
    rng = random.Random(6)
    segments = [end_segment(rng, SMALL) for _ in range(3 * SMALL.egress_slots)]

    async def run(lane):
        queue, got = deque(segments), []
        for cycle in range(200):
            open_link = cycle >= 100
            _, packet = await lane.cycle(segment=queue[0] if queue else None, sends_ready=open_link)
            got += [] if packet is None else [packet]
            if lane.accepted:
                queue.popleft()
            if cycle == 99:
                # The slots, the packet that is read ahead, and two in the queue of segments.
                assert len(segments) - len(queue) == SMALL.egress_slots + 3
        assert got == [packet for one in segments for packet in packets_of(one, SMALL)]

    simulate(SMALL, run)


@pytest.mark.parametrize("length", [1, 2, 8])
@pytest.mark.parametrize("latency", [1, 40])
def test_full_rate(length, latency):
    """With slots for the latency, one atom enters and one packet leaves in every other cycle."""
    rng = random.Random(2)

    async def run(lane):
        sent, due = [], deque()
        for cycle in range(400):
            segment = random_segment(rng, FULL, length=length)
            returned = due.popleft()[1] if due and due[0][0] == cycle else None
            read, packet = await lane.cycle(segment=segment, returned=returned)
            if read:
                due.append((cycle + latency, (read[1], read[0])))
            sent.append(packet is not None)
        first = sent.index(True)
        # Data that return without a pause leave first.
        assert first < 2 * latency + 10
        begun = first + 2 * FULL.egress_slots
        assert sum(sent[begun:]) > 0.45 * (len(sent) - begun)

    simulate(FULL, run)


def test_reads_stop_at_the_reserved_slots():
    """With a blocked link the lane reads only into its reserved slots, and loses nothing."""
    rng = random.Random(3)
    segments = [random_segment(rng, SMALL, length=8) for _ in range(5)]
    expected = [packet for segment in segments for packet in packets_of(segment, SMALL)]

    async def run(lane):
        queue, reads = deque(segments), 0
        for _ in range(100):
            segment = queue[0] if queue else None
            returned = lane.outstanding[-1] if lane.outstanding else None
            read, packet = await lane.cycle(segment=segment, returned=returned, sends_ready=False)
            assert packet is None
            reads += read is not None
            if lane.accepted:
                queue.popleft()
        # The slots, and the packet that is read ahead.
        assert reads == SMALL.egress_slots + 1
        got = []
        for _ in range(200):
            segment = queue[0] if queue else None
            returned = lane.outstanding[0] if lane.outstanding else None
            _, packet = await lane.cycle(segment=segment, returned=returned)
            got += [] if packet is None else [packet]
            if lane.accepted:
                queue.popleft()
        assert got == expected
        assert lane.idle

    simulate(SMALL, run)


@pytest.mark.parametrize(
    "p", [SMALL, FULL, T3Parameters(contexts=1, egress_slots=1, interleave_atoms=1)]
)
@pytest.mark.parametrize("seed", range(2))
def test_random(p, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)

    async def run(lane):
        expected, got = [], []
        segment = None
        for step in range(1000):
            if step % 100 == 0:
                rates = [rng.choice([0.1, 0.5, 0.9, 1]) for _ in range(4)]
            if segment is None and rng.random() < rates[0]:
                segment = random_segment(rng, p)
            returned = None
            if lane.outstanding and rng.random() < rates[1]:
                returned = rng.choice(lane.outstanding)
            _, packet = await lane.cycle(
                segment=segment,
                reads_ready=rng.random() < rates[2],
                returned=returned,
                sends_ready=rng.random() < rates[3],
            )
            got += [] if packet is None else [packet]
            if lane.accepted:
                expected += packets_of(segment, p)
                segment = None
        assert got == expected[: len(got)]
        assert len(got) > 100

    simulate(p, run)


@pytest.mark.parametrize("begun", [1, 4, 8, 20])
def test_abort(begun):
    """In any state, segments not yet read are dropped and reads return. Then new ones run."""
    rng = random.Random(begun)
    segments = [random_segment(rng, SMALL, length=5) for _ in range(4)]
    segments.insert(1, end_segment(rng, SMALL))
    again = random_segment(rng, SMALL, length=7)
    expected = [packet for one in segments for packet in packets_of(one, SMALL)]

    async def run(lane):
        queue, got = deque(segments), []

        async def go(cycles, *, link, **options):
            for _ in range(cycles):
                segment = queue[0] if queue else None
                returned = lane.outstanding[0] if lane.outstanding else None
                _, packet = await lane.cycle(
                    segment=segment, returned=returned, sends_ready=link, **options
                )
                got.extend([] if packet is None else [packet])
                if lane.accepted:
                    queue.popleft()

        await go(begun, link=False)
        queue.clear()
        await go(3 * SMALL.egress_slots, link=True, aborting=True)
        assert lane.idle
        assert got == expected[: len(got)] and len(got) < len(expected)
        got.clear()
        queue.append(again)
        await go(40, link=True)
        assert got == packets_of(again, SMALL)

    simulate(SMALL, run)


def test_segment_layout_is_covered():
    """The random segments set every field."""
    assert set(Segment(FULL).members) == set(random_segment(random.Random(0), FULL))
