"""An issue acknowledgement that is lost to bit errors ends its update, so that an abort can end.
Its owner is right, whichever two bits are wrong."""

import random
from itertools import combinations

import pytest

from rtl.channel.channel import ISSUE_ACK_EVENTS, Channel
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.encodings import Access, Datatype, ErrorCode, Operation
from rtl.interface.layouts import IssueAck
from rtl.lib.secded import code_word
from rtl.parameters import T3Parameters
from tests.support.channel_bench import CONTEXTS, TIMING, packet, view
from tests.support.simulation import simulate
from verification.seeded_bugs.bug import SeededBug

OWN = 30  # first dispatch index of the range whose tiles stay
TILES = ISSUE_ACK_EVENTS + 3
AHEAD = 3  # words that leave the memory before the first acknowledgement is taken
SMALL = T3Parameters(
    contexts=4,
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=6,
    sets=8,
    ways=4,
    wavefronts=4,
    channels=1,
)
DEPTH = 64


def stored(buffer, row):
    """Return a row of a buffer's memory."""
    return buffer.waiting.words.storage.halves[row % 2].memory.data[row // 2]


def owner_bits(p):
    """Return the bits of a word in the memory that hold the owner: in it, and its copy."""
    code, field = code_word(IssueAck(p)).size, IssueAck(p)["owner"]
    return [*range(field.offset, field.offset + p.owner_bits), *range(code, code + p.owner_bits)]


def check(kind=Channel, pairs=()):
    """Send updates of several tiles, lose acknowledgements, and wait until the context has drained.

    With ``pairs`` of bits, each is inverted in a word of its own; otherwise two bit errors are
    injected into one word.
    """
    dut = kind(TIMING)
    tiles = ISSUE_ACK_EVENTS + AHEAD + len(pairs) if pairs else TILES

    async def bench(ctx):
        views = [view(tables, OWN, OWN + TILES) for tables in CONTEXTS]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        ctx.set(dut.dram.ready, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.drained) == 3
        update = {"op": Operation.SUM, "dtype": Datatype.BF16}
        for number in range(tiles):
            ctx.set(dut.link_in.p, packet(OWN + number % 10, wavefront=number // 10, **update))
            ctx.set(dut.link_in.valid, 1)
            await ctx.tick().until(dut.link_in.ready)
        ctx.set(dut.link_in.valid, 0)
        for _ in range(10):
            assert not any(ctx.get(one.valid) for one in dut.errors)
            await ctx.tick()
        assert ctx.get(dut.drained) == 2
        # The tracker takes nothing, so that the last acknowledgements wait in the memory.
        for number in range(tiles):
            if number == tiles - 1 and not pairs:
                ctx.set(dut.issue_acks.valid, 0)
                for name in ("set", "select", "double"):
                    ctx.set(getattr(dut.inject, name), 1)
                await ctx.tick()
                ctx.set(dut.inject.set, 0)
            tile = {"owner": 0, "dispatch_index": OWN + number % 10, "wavefront": number // 10}
            ctx.set(dut.issue_acks.p, {"access": Access.UPDATE, "atom": 1500} | tile)
            ctx.set(dut.issue_acks.valid, 1)
            await ctx.tick()
        ctx.set(dut.issue_acks.valid, 0)
        await ctx.tick()
        for row, pair in enumerate(pairs, AHEAD):
            word = stored(dut.issue_ack_buffer, row)
            ctx.set(word, ctx.get(word) ^ sum(1 << bit for bit in pair))
        ctx.set(dut.tile_issue_acks.ready, 1)
        reports = []
        for _ in range(40 + len(pairs)):
            await ctx.tick()
            reports += [
                (ctx.get(one.report.code), ctx.get(one.report.owner))
                for one in dut.errors
                if ctx.get(one.valid)
            ]
        assert reports == [(ErrorCode.TRACKER_CORRUPT, 0)] * max(len(pairs), 1)
        assert ctx.get(dut.drained) == ctx.get(dut.idle) == ctx.get(dut.stores_drained) == 3

    simulate(dut, bench)


def test_a_lost_acknowledgement_is_not_outstanding():
    check()


def test_a_wrong_owner_ends_no_update_of_another_context():
    seed = 6
    print(f"seed {seed}")
    rng = random.Random(seed)
    owner, bits = IssueAck(TIMING)["owner"].offset, range(code_word(IssueAck(TIMING)).size)
    others = rng.sample([bit for bit in bits if bit != owner], 8)
    check(pairs=[(owner, bit) for bit in others])


def check_pairs(kind=IssueAckBuffer):
    """Invert every pair of bits, one of which belongs to an owner, in a word of each context, and
    compare the owners of what leaves and of what is lost."""
    dut = kind(SMALL, depth=DEPTH)
    owners, code = owner_bits(SMALL), code_word(IssueAck(SMALL)).size
    bits = range(code + SMALL.owner_bits)
    pairs = [pair for pair in combinations(bits, 2) if {*pair} & {*owners}]
    size = DEPTH - 1 - AHEAD
    batches = [pairs[first : first + size] for first in range(0, len(pairs), size)]

    def owner_of(row, turn):
        return (row + turn) % SMALL.contexts

    async def pass_through(ctx, batch, turn, first):
        """Return the owners of the rows that left and of those that were lost; ``first`` is the row
        that is written next."""
        ctx.set(dut.o.ready, 0)
        ctx.set(dut.i.valid, 1)
        for row in range(AHEAD + len(batch)):
            ctx.set(dut.i.p, {"owner": owner_of(row, turn), "atom": row, "access": Access.UPDATE})
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        await ctx.tick()
        rows = dut.waiting.words.storage.depth
        for row, pair in enumerate(batch, AHEAD):
            word = stored(dut, (first + row) % rows)
            ctx.set(word, ctx.get(word) ^ sum(1 << bit for bit in pair))
        ctx.set(dut.o.ready, 1)
        left, lost = {}, []
        while not ctx.get(dut.empty):
            if ctx.get(dut.o.valid):
                left[ctx.get(dut.o.p.atom)] = ctx.get(dut.o.p.owner)
            if ctx.get(dut.error.valid):
                lost.append(ctx.get(dut.error.report.owner))
            await ctx.tick()
        return left, lost

    async def bench(ctx):
        first, seen = 0, 0
        for turn in range(SMALL.contexts):
            for batch in batches:
                left, lost = await pass_through(ctx, batch, turn, first)
                first = (first + AHEAD + len(batch)) % dut.waiting.words.storage.depth
                # Only two errors in the code word are uncorrectable.
                wrong = [row for row, pair in enumerate(batch, AHEAD) if max(pair) < code]
                rows = {*range(AHEAD + len(batch))} - {*wrong}
                assert left == {row: owner_of(row, turn) for row in rows}
                assert lost == [owner_of(row, turn) for row in wrong]
                seen += len(wrong)
        assert seen > 0

    simulate(dut, bench)


def test_a_lost_acknowledgement_has_its_owner():
    check_pairs()


def test_the_owner_as_read_is_noticed():
    bug = SeededBug(
        module="rtl.channel.issue_ack_buffer",
        block="IssueAckBuffer",
        fault="a loss is reported to the owner as it was read",
        right="waiting.suspect.owner",
        wrong="waiting.check.i.word.owner",
    )
    with pytest.raises(AssertionError):
        check_pairs(bug.seeded())


def test_one_context_has_no_copy():
    one = T3Parameters(contexts=1)
    words = IssueAckBuffer(one, depth=DEPTH).waiting.words
    assert len(words.i.p) == code_word(IssueAck(one)).size


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("monitor.lost.eq(Cat(lost.valid, lost.report.owner))", "monitor.lost.eq(0)"),
        ("causes.eq(buffer.error.valid)", "causes.eq(0)"),
    ],
)
def test_a_seeded_bug_is_noticed(right, wrong):
    bug = SeededBug(
        module="rtl.channel.channel",
        block="Channel",
        fault="a lost acknowledgement stays outstanding, or is not reported",
        right=right,
        wrong=wrong,
    )
    with pytest.raises(AssertionError):
        check(bug.seeded())
