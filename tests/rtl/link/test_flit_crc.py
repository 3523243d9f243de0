import random
from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.sim import Simulator

from rtl.interface.layouts import LinkPacket
from rtl.link.crc import CRC_BITS
from rtl.link.flit_crc import FlitCheck, FlitStamp
from rtl.link.layouts import FRAME_ATOMS, Flit, FlitBody, frame_bytes, header_bits
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from tests.support.crc_reference import REVERSED_POLYNOMIAL, crc32c

LINK = LinkParameters()


def packet_shape(atom):
    """A packet of 15 bits and the data of an atom."""
    return data.StructLayout({"rest": 9, "atom": 6, "data": atom})


WITH_DATA, WITHOUT_DATA = packet_shape(64), packet_shape(0)
SHAPES = pytest.mark.parametrize("shape", [WITH_DATA, WITHOUT_DATA])
HEADER = header_bits(WITH_DATA, LINK)


def atom_of(shape):
    return shape["data"].width


def frame_crc(shape, header, atoms):
    """CRC of the bytes of a frame; without data every atom counts as four bytes."""
    each = max(atom_of(shape), 32) // 8
    text = header.to_bytes(HEADER // 8, "little")
    return crc32c(text + b"".join(atom.to_bytes(each, "little") for atom in atoms))


def stamp_and_check(bench, shape):
    m = Module()
    m.submodules.stamp = stamp = FlitStamp(shape, LINK)
    m.submodules.check = check = FlitCheck(shape, LINK)
    sim = Simulator(m)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(ctx, stamp, check)

    sim.add_testbench(run)
    sim.run()


def random_frame(rng, shape, atoms):
    """Header and atoms of a frame. In a further flit of the sender any header may be."""
    draw = rng.choice([lambda bits: 0, lambda bits: (1 << bits) - 1, rng.getrandbits])
    return draw(HEADER), [draw(atom_of(shape)) for _ in range(atoms)]


@SHAPES
def test_stamp_against_reference(shape):
    """Every frame has the CRC of its bytes. Its flits come two cycles after they were taken, and
    stay until they are taken; the flits of a frame come without pauses."""
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    flits, taken, sent = [], [], []
    for _ in range(150):
        header, atoms = random_frame(rng, shape, rng.choice([1, 1, 2, 3, 8]))
        crc = frame_crc(shape, header, atoms)
        for number, atom in enumerate(atoms):
            last = number == len(atoms) - 1
            flits.append((number == 0, last, header if not number else 0, atom, crc))

    async def bench(ctx, stamp, _check):
        waits, offer, place = None, None, 0
        for cycle in range(1000):
            # The flits of a frame are offered one after the other.
            begins = place < len(flits) and (not flits[place][0] or rng.random() < 0.7)
            if offer is None and begins:
                offer = flits[place]
            ctx.set(stamp.i.valid, offer is not None)
            if offer is not None:
                first, _, header, atom, _ = offer
                if not first:
                    header = rng.getrandbits(HEADER)
                body = FlitBody(shape, LINK).from_bits(header | atom << HEADER)
                ctx.set(stamp.i.p, {"body": body, "first": first})
            ctx.set(stamp.o.ready, rng.random() < (1 if cycle < 200 else 0.6))
            flit = ctx.get(stamp.o.p).as_bits() if ctx.get(stamp.o.valid) else None
            if waits is not None:
                assert flit == waits
            if sent and not sent[-1][1].last:
                assert flit is not None
            if ctx.get(stamp.i.valid & stamp.i.ready):
                taken.append((cycle, *offer))
                offer, place = None, place + 1
            waits = flit
            if ctx.get(stamp.o.valid & stamp.o.ready):
                sent.append((cycle, Flit(shape, LINK).from_bits(flit)))
                waits = None
            await ctx.tick()

    stamp_and_check(bench, shape)
    assert len(sent) == len(flits)
    for (cycle, first, last, header, atom, crc), (out, flit) in zip(taken, sent, strict=True):
        assert flit.body.as_bits() == header | atom << HEADER
        assert (flit.first, flit.last) == (first, last)
        assert not last or flit.crc == crc
        assert out >= cycle + 2
        assert out == cycle + 2 or out > 200


def wire_flits(rng, shape, header, atoms):
    """Flits of a frame. Bits that are not on the wires are random."""
    layout, crc = Flit(shape, LINK), frame_crc(shape, header, atoms)
    for number, atom in enumerate(atoms):
        first, last = number == 0, number == len(atoms) - 1
        shown = header if first else rng.getrandbits(HEADER)
        body = shown | atom << HEADER
        check = crc if last else rng.getrandbits(CRC_BITS)
        bits = body | check << HEADER + atom_of(shape)
        yield bits | (first | last << 1) << layout.size - 2


class Checker:
    """Feeds flits to a checker, and returns what leaves it three cycles later."""

    def __init__(self, shape):
        self.shape, self.found, self.drops = shape, [], 0

    def run(self, flits):
        async def bench(ctx, _stamp, check):
            times = []
            for cycle, flit in enumerate([*flits, *[None] * 6]):
                ctx.set(check.i.valid, flit is not None)
                ctx.set(check.i.p, Flit(self.shape, LINK).from_bits(flit or 0))
                times.append(flit is not None)
                if cycle >= 3:
                    assert ctx.get(check.o.valid) == times[cycle - 3]
                if ctx.get(check.o.valid):
                    self.found.append(ctx.get(check.o.p))
                self.drops += ctx.get(check.drop)
                await ctx.tick()

        stamp_and_check(bench, self.shape)
        return self


@SHAPES
def test_intact_frames(shape):
    """Each flit leaves with the header of its packet, whose number and atom go up."""
    seed = 6
    print("seed", seed)
    rng = random.Random(seed)
    flits, wanted = [], []
    for _ in range(60):
        atoms = rng.randint(1, FRAME_ATOMS)
        header, values = random_frame(rng, shape, atoms)
        body = FlitBody(shape, LINK).from_bits(header)
        for flit, number in zip(wire_flits(rng, shape, header, values), range(atoms), strict=True):
            flits += [None] * (rng.random() < 0.1) + [flit]
            block = body.packet.atom & ~7
            wanted.append(
                (
                    body.packet.rest,
                    (body.sequence + number) % (1 << LINK.sequence_bits),
                    block | (body.packet.atom + number) % 8,
                    values[number],
                    (number == 0, number == atoms - 1),
                )
            )
    checker = Checker(shape).run(flits)
    found = [
        (
            flit.body.packet.rest,
            flit.body.sequence,
            flit.body.packet.atom,
            flit.body.as_bits() >> HEADER,
            (flit.first, flit.last),
        )
        for flit in checker.found
    ]
    assert found == wanted
    assert not any(flit.corrupt for flit in checker.found if flit.last)
    assert not checker.drops


def spoiled(rng, flits, tear):
    """Tear a frame: return its flits."""
    flits = list(flits)
    marks = Flit(WITH_DATA, LINK).size - 2
    place = rng.randrange(len(flits))
    if tear == "bit":
        lowest = 0 if not place else HEADER
        highest = marks if place == len(flits) - 1 else marks - CRC_BITS
        flits[place] ^= 1 << rng.randrange(lowest, highest)
    elif tear == "burst":
        lowest = 0 if not place else HEADER
        flits[place] ^= rng.randrange(1, 1 << 32) << rng.randrange(
            lowest, HEADER + atom_of(WITH_DATA) - 32
        )
    elif tear == "missing":
        del flits[place]
    elif tear == "again":
        flits.insert(place, flits[place])
    elif tear == "swapped":
        flits[place - 1], flits[place] = flits[place], flits[place - 1]
    elif tear == "first":
        flits[place] ^= 1 << marks
    else:
        flits[place] ^= 2 << marks
    return flits


@pytest.mark.parametrize("tear", ["bit", "burst", "missing", "again", "swapped", "first", "last"])
def test_spoiled_frames(tear):
    """No flit of a spoiled frame ends it intact, and the frame behind it is intact: only the frames
    that were sent are. All others are counted."""
    seed = 8
    print("seed", seed)
    rng = random.Random(seed)
    flits, sent = [], []
    for _ in range(150):
        spoil = rng.random() < 0.5
        length = rng.randint(2 if spoil else 1, FRAME_ATOMS)
        header, atoms = random_frame(rng, WITH_DATA, 0)[0], []
        atoms = [rng.getrandbits(64) for _ in range(length)]
        frame = list(wire_flits(rng, WITH_DATA, header, atoms))
        if spoil:
            flits += spoiled(rng, frame, tear)
        else:
            flits += frame
            sent.append(tuple(atoms))
    flits += list(wire_flits(rng, WITH_DATA, 0, [0]))  # ends what is open
    sent.append((0,))
    checker = Checker(WITH_DATA).run(flits)
    intact, frame, ends, cuts = [], [], 0, 0
    for before, flit in pairwise([None, *checker.found]):
        if flit.first:
            cuts += before is not None and not before.last
            frame = []
        frame.append(flit.body.as_bits() >> HEADER)
        if flit.last:
            ends += flit.corrupt
            if not flit.corrupt:
                intact.append(tuple(frame))
    if tear == "again":  # a first flit that comes twice begins the frame again
        assert set(sent) <= set(intact)
    else:
        assert intact == sent
    assert checker.drops == ends + cuts > 40


def test_too_long():
    """A frame of more atoms than eight is corrupt, though its CRC is right; a frame of eight is
    not. Nothing is left for the next frame."""
    rng, flits, wanted = random.Random(9), [], []
    for length in (7, 8, 9, 8, 10, 1, 16, 17, 8, 24, 2):
        flits += wire_flits(rng, WITH_DATA, rng.getrandbits(HEADER), [length] * length)
        wanted.append(length > FRAME_ATOMS)
    checker = Checker(WITH_DATA).run(flits)
    assert [flit.corrupt for flit in checker.found if flit.last] == wanted
    assert checker.drops == sum(wanted)


def test_every_drop_counts():
    """A frame that is cut by a corrupt one counts beside it, even if both end in one cycle."""
    rng = random.Random(10)
    begin, _ = wire_flits(rng, WITH_DATA, 1, [2, 3])
    (whole,) = wire_flits(rng, WITH_DATA, 1, [2])
    checker = Checker(WITH_DATA).run([begin, whole ^ 1] * 5 + [whole])
    assert checker.drops == 10


def test_hamming_distance():
    """No error of up to five bits in the longest frame looks right.

    The polynomial has the factor x + 1, so errors of odd weight are seen. Those of two and four
    bits are if the syndromes of all errors of one and two bits differ.
    """
    size = frame_bytes(LinkPacket(T3Parameters(contexts=1, with_data=True)), LINK, FRAME_ATOMS)
    message = bytes(size - 4)
    clean = crc32c(message)
    single = [1 << bit for bit in range(CRC_BITS)]
    for bit in range(8 * len(message)):
        wrong = bytearray(message)
        wrong[bit // 8] ^= 1 << bit % 8
        single.append(crc32c(bytes(wrong)) ^ clean)
    assert len(single) == 8 * size
    assert (1 << CRC_BITS | REVERSED_POLYNOMIAL).bit_count() % 2 == 0  # so x + 1 divides it
    single = np.array(single, dtype=np.uint32)
    first, second = np.triu_indices(len(single), 1)
    syndromes = np.concatenate([[0], single, single[first] ^ single[second]])
    assert len(np.unique(syndromes)) == len(syndromes)


def test_connects():
    """The header is whole bytes, whatever the packet, and lies in front of the atom."""
    for rest in range(1, 40):
        shape = data.StructLayout({"rest": rest, "atom": 4, "data": 16})
        body = FlitBody(shape, LINK)
        assert header_bits(shape, LINK) % 8 == 0
        assert body.size - body["reserved"].width == 50 + rest + 4 + 16
        assert body["packet"].offset + body["packet"].width == body.size
        stamp, check = FlitStamp(shape, LINK), FlitCheck(shape, LINK)
        m = Module()
        wiring.connect(m, stamp.o, check.i)
