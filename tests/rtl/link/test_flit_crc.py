import random

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from rtl.interface.layouts import LinkPacket
from rtl.link.crc import CRC_BITS
from rtl.link.flit_crc import FlitCheck, FlitStamp
from rtl.link.layouts import Flit, FlitBody
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from tests.support.crc_reference import REVERSED_POLYNOMIAL, crc32c

LINK = LinkParameters()
BITS = 20
BODY = FlitBody(BITS, LINK).size


def stamp_and_check(bench, shape=BITS):
    m = Module()
    m.submodules.stamp = stamp = FlitStamp(shape, LINK)
    m.submodules.check = check = FlitCheck(shape, LINK)
    sim = Simulator(m)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(ctx, stamp, check)

    sim.add_testbench(run)
    sim.run()


def test_stamp_against_reference():
    """Every flit has the CRC of its bytes, two cycles after it, and stays until it is taken."""
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    taken, sent = [], []

    async def bench(ctx, stamp, _check):
        waits = None
        for cycle in range(600):
            ctx.set(stamp.i.valid, rng.random() < 0.8)
            word = rng.choice([0, (1 << BODY) - 1, rng.getrandbits(BODY)])
            ctx.set(stamp.i.p, FlitBody(BITS, LINK).from_bits(word))
            ctx.set(stamp.o.ready, rng.random() < (1 if cycle < 100 else 0.6))
            flit = ctx.get(stamp.o.p).as_bits() if ctx.get(stamp.o.valid) else None
            if waits is not None:
                assert flit == waits
            if ctx.get(stamp.i.valid & stamp.i.ready):
                taken.append((cycle, word))
            waits = flit
            if ctx.get(stamp.o.valid & stamp.o.ready):
                sent.append((cycle, flit))
                waits = None
            await ctx.tick()

    stamp_and_check(bench)
    assert len(sent) > 300
    for (cycle, word), (out, flit) in zip(taken, sent, strict=False):
        body = word.to_bytes(BODY // 8, "little")
        assert flit == word | crc32c(body) << BODY
        assert out >= cycle + 2
        assert out == cycle + 2 or out > 100


def test_check():
    """The verdict comes three cycles later: a flit with an error in any one bit is corrupt, all
    others are intact."""
    seed = 6
    print("seed", seed)
    rng = random.Random(seed)
    verdicts = []
    total = BODY + CRC_BITS

    async def bench(ctx, _stamp, check):
        expected = []
        for cycle in range(total + 100):
            word = rng.getrandbits(BODY)
            flit = word | crc32c(word.to_bytes(BODY // 8, "little")) << BODY
            wrong = cycle < total or rng.random() < 0.3
            if cycle < total:
                flit ^= 1 << cycle
            elif wrong:
                flit ^= rng.randrange(1, 1 << 32) << rng.randrange(total - 31)
            valid = rng.random() < 0.8
            ctx.set(check.i.valid, valid)
            ctx.set(check.i.p, Flit(BITS, LINK).from_bits(flit))
            if cycle >= 3:
                was_valid, was_wrong, was = expected[cycle - 3]
                assert ctx.get(check.o.valid) == was_valid
                if was_valid:
                    assert ctx.get(check.o.p.corrupt) == was_wrong
                    assert ctx.get(check.o.p.body).as_bits() == was
                    verdicts.append(was_wrong)
            expected.append((valid, wrong, flit & ((1 << BODY) - 1)))
            await ctx.tick()

    stamp_and_check(bench)
    assert verdicts.count(True) > 80 and verdicts.count(False) > 30


def test_hamming_distance():
    """No error of up to five bits in a flit with payload looks right.

    The polynomial has the factor x + 1, so errors of odd weight are seen. Those of two and four
    bits are if the syndromes of all errors of one and two bits differ.
    """
    flit = Flit(LinkPacket(T3Parameters(contexts=1, with_data=True)), LINK)
    message = bytes(flit.size // 8 - 4)
    clean = crc32c(message)
    single = [1 << bit for bit in range(CRC_BITS)]
    for bit in range(8 * len(message)):
        wrong = bytearray(message)
        wrong[bit // 8] ^= 1 << bit % 8
        single.append(crc32c(bytes(wrong)) ^ clean)
    assert len(single) == flit.size
    assert (1 << CRC_BITS | REVERSED_POLYNOMIAL).bit_count() % 2 == 0  # so x + 1 divides it
    single = np.array(single, dtype=np.uint32)
    first, second = np.triu_indices(len(single), 1)
    syndromes = np.concatenate([[0], single, single[first] ^ single[second]])
    assert len(np.unique(syndromes)) == len(syndromes)


def test_connects():
    """A flit is as many bytes as the layouts say, whatever the packet."""
    for packet in range(1, 40):
        body = FlitBody(packet, LINK)
        assert body.size % 8 == 0 and body.size - body["reserved"].width == 50 + packet
        stamp, check = FlitStamp(packet, LINK), FlitCheck(packet, LINK)
        m = Module()
        wiring.connect(m, stamp.o, check.i)
