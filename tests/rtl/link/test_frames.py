"""Frames: several packets behind one header on the wires."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.link.layouts import FRAME_ATOMS, Flit, frame_bytes
from tb.link_endpoint.traffic import continues
from tb.link_endpoint.wire import CLEAN, DEAD, KINDS, Faults
from tb.payload import Fields
from tests.rtl.link.test_shared import SHARED
from tests.support.link_pair import LINK, P, Pair
from tests.support.paced_link import LINK as PACED
from tests.support.paced_link import PACKET, PacedLink
from tests.support.paced_link import P as WIDE
from tests.support.shared_link import Shared

VERIFY = pytest.mark.verify
FIELDS = Fields(LinkPacket(P))
FLIT = Flit(LinkPacket(P), LINK)
DOCUMENT = Path(__file__).parents[3] / "docs/frame.md"


def test_bytes_of_a_frame():
    """A header has 17 bytes, an atom 32 and the check 4, as docs/frame.md has them."""
    sizes = [frame_bytes(LinkPacket(WIDE), PACED, atoms) for atoms in (0, 1, 2, 4, 8)]
    assert sizes == [21, 53, 85, 149, 277]
    for atoms, size in zip((1, 2, 4, 8), sizes[1:], strict=True):
        assert f"| {atoms} | {size} | {32 * atoms / size:.3f} |" in DOCUMENT.read_text()


def wide(atom, *, wavefront=0, kind=PacketKind.UPDATE):
    """A packet with random data."""
    values = dict.fromkeys(PACKET.names, 0) | {"kind": kind.value, "atom": atom}
    return PACKET.pack(
        values | {"wavefront": wavefront, "data_0": random.Random(atom).getrandbits(64)}
    )


def runs(length, count=240):
    """Packets in runs, each at the begin of a block of 256 bytes."""
    return [wide(FRAME_ATOMS * (n // length) + n % length) for n in range(count)]


TRAFFIC = {
    "single atoms": runs(1),
    "runs of 2, or rows of 64 bytes": runs(2),
    "runs of 4": runs(4),
    "runs of 8": runs(8),
    "stores of two wavefronts in turn, atom by atom": [
        wide(512 * (n % 2) + n // 2, wavefront=n % 2) for n in range(240)
    ],
    "stores of two wavefronts in turn, in runs of 4": [
        wide(512 * (n // 4 % 2) + n // 8 * 4 + n % 4, wavefront=n // 4 % 2) for n in range(240)
    ],
}
RATES = (16, 32, 48)


@pytest.mark.parametrize("name", TRAFFIC)
def test_share_of_data(name):
    """The share of data in the bytes on wires that are slower than the packets, as docs/frame.md
    has it."""
    shares = []
    for rate in RATES:
        link = PacedLink(rate).send(TRAFFIC[name])
        assert link.received == TRAFFIC[name]
        shares.append(f"{link.share():.3f}")
    row = " | ".join([f"| {name}", *shares]) + " |"
    print(row)
    assert row in DOCUMENT.read_text()


def test_no_packet_waits_for_a_longer_run():
    """On wires that are faster than the packets, every packet has a frame of its own."""
    link = PacedLink(64).send(runs(8, 64), pause=3)
    assert {atoms for atoms, _ in link.frames} == {0, 1}
    assert link.received == runs(8, 64)


def test_an_end_packet_has_no_atom():
    """An END packet takes the 21 bytes of a header and its check, and arrives with zeros as data;
    it ends a run."""
    ends = [wide(3, kind=PacketKind.END), wide(4, kind=PacketKind.END)]
    packets = [wide(0), wide(1), *ends, wide(2)]
    link = PacedLink(16).send(packets)
    zeros = [PACKET.pack({**PACKET.named(end), "data_0": 0}) for end in ends]
    assert link.received == [wide(0), wide(1), *zeros, wide(2)]
    assert [frame for frame in link.frames if frame[0]] == [[2, 85], [1, 53]]
    assert all(size == 21 for atoms, size in link.frames if not atoms)


def frames_of(channel):
    """Record the frames that are put on a wire: cycle, and flits."""
    frames, put = [], channel.put

    def put_and_record(flit, cycle):
        shown = FLIT.from_bits(flit)
        if shown.first:
            frames.append([])
        frames[-1].append((cycle, shown))
        put(flit, cycle)

    channel.put = put_and_record
    return frames


@pytest.mark.parametrize("kind", ["clean", "lose", "all"])
def test_every_frame_is_a_run(kind):
    """A frame has a packet in its header, and a flit for each further packet of its run. Its flits
    leave without a pause if the wires take them."""

    async def bench(pair):
        here, wire = pair.sides[0], frames_of(pair.channels[0])
        numbered = {}
        for _ in range(10):
            here.offer = pair.rng.choice([0.3, 0.9, 1])
            await pair.step(60)
        await pair.drain(10000)
        packets = [FIELDS.named(packet) for _, packet in here.sent]
        # Packets by number: there are no words. The numbers go around.
        latest = -1
        for frame in wire:
            head = frame[0][1].body
            if not head.data:
                assert len(frame) == 1
                continue
            number = latest + 1 - (latest + 1 - head.sequence) % (1 << LINK.sequence_bits)
            if head.sequence == (latest + 1) % (1 << LINK.sequence_bits):
                number = latest + 1
            for place in range(len(frame)):
                packet = packets[number + place]
                if not place:
                    shown = Fields(LinkPacket(P)).named(head.packet.as_bits())
                    assert shown == packet
                else:
                    assert continues(packets[number + place - 1], packet)
                numbered.setdefault(number + place, 0)
                numbered[number + place] += 1
            assert len(frame) <= FRAME_ATOMS
            latest = max(latest, number + len(frame) - 1)
            if not pair.channels[0].faults.busy:
                cycles = [cycle for cycle, _ in frame]
                assert cycles == [*range(cycles[0], cycles[0] + len(frame))]
        assert sorted(numbered) == [*range(len(packets))]
        assert max(map(len, wire)) > 5

    faults = CLEAN if kind == "clean" else KINDS[kind]
    Pair(210, faults).run(bench)


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_latency(length):
    """The packets of a frame arrive together: the first one waits for the last one."""
    latency = 3

    async def bench(pair):
        here, there = pair.sides
        await pair.step(1)
        offered = iter(run_of(length))
        here.traffic.next = lambda: next(offered)
        here.most, there.most = length, 0
        here.offer = 1.0
        begin = pair.cycle
        await pair.step(60)
        cycles = [cycle - begin for cycle, _ in there.received]
        assert cycles == [9 + latency + length - 1 + number for number in range(length)]

    pair = Pair(211, Faults(latency=latency))
    for side in pair.sides:
        side.offer = 0
    pair.run(bench)


def run_of(length, begin=64):
    """Packets of one run."""
    values = dict.fromkeys(FIELDS.names, 0) | {"kind": 1, "slot": 1}
    return [FIELDS.pack(values | {"atom": begin + number}) for number in range(length)]


def test_a_repeated_frame_brings_new_packets():
    """Four packets of a run arrive, and their acknowledgement is lost; four more are lost. All
    eight are sent again in one frame. The new ones count, and no packet comes twice."""

    async def bench(pair):
        here, there = pair.sides
        offered = iter(run_of(8))
        here.traffic.next = lambda: next(offered)
        here.most, there.most, here.offer = 4, 0, 1.0
        pair.channels[1].faults = DEAD
        await pair.step(20)
        assert len(there.received) == 4
        pair.channels[0].faults = DEAD
        here.most = 8
        await pair.step(8)
        pair.channels[0].faults = CLEAN
        begin = len(pair.channels[0].frames)
        await pair.step(LINK.timeout_cycles + 20)
        assert 8 in pair.channels[0].frames[begin:]
        assert len(there.received) == 8
        pair.channels[1].faults = CLEAN
        await pair.drain(200)

    pair = Pair(212)
    for side in pair.sides:
        side.offer = 0
    pair.run(bench)


@pytest.mark.parametrize(
    ("index", "offset"),
    [
        pytest.param(index, offset, marks=() if offset in (3, 9) else VERIFY)
        for index in range(2)
        for offset in range(16)
    ],
)
def test_reset_inside_a_frame(index, offset):
    """Either side is reset while a frame of eight leaves or arrives: nothing of the frame counts in
    the next session."""

    async def bench(pair):
        here, there = pair.sides
        await pair.step(2 * LINK.lifetime_cycles)
        offered = iter([*run_of(8), *run_of(8, 128), *run_of(8, 256)])
        here.traffic.next = lambda: next(offered)
        here.most, there.most, here.offer = 8, 0, 1.0
        await pair.step(offset)
        received = len(there.received)
        await pair.restart(index, reset=True)
        await pair.step(20)
        assert len(there.received) in (received, received + 8, received + 1)
        here.offer = 0
        while pair.count("open") != [0, 0]:
            await pair.step(1)
        await pair.open()
        here.most, here.offer = len(here.sent) + 8, 1.0
        await pair.step(40)
        await pair.drain(400)
        if index == 0:
            assert pair.count("corrupt")[1] == there.framing.corrupt

    pair = Pair(213)
    for side in pair.sides:
        side.offer = 0
    pair.run(bench)


def test_turns_between_frames():
    """Channels whose packets come in runs take turns: between two frames of a channel that has
    packets, there is one of each other channel."""
    link = replace(SHARED, replay_depth=128, receive_depth=128, sequence_bits=9)

    async def bench(pair):
        await pair.step(200)
        pair.frames.clear()
        await pair.step(400)
        channels = [channel for channel, packets in pair.frames[1:-1] if packets]
        assert all(sorted(channels[at : at + 3]) == [0, 1, 2] for at in range(len(channels) - 2))
        lengths = [packets for _, packets in pair.frames[1:-1]]
        assert max(lengths) == FRAME_ATOMS and sum(lengths) > 1.3 * len(lengths)

    Shared(214, CLEAN, link=link, one_way=True, runs=0.95).run(bench)
