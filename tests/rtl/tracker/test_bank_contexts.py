"""A bank with two contexts, against tables in plain Python: each tile's counts and place."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank

P = T3Parameters(sets=4, ways=5, tile_atom_bits=2, share_bits=2, contexts=2)
TOTALS = (1, 3)  # shares that complete a tile of each context
STAGES = 5  # cycles from the choice of an event until its entry is written


class Tables:
    """Balance of each tile: updates so far, less the announced atoms; and its missing shares."""

    def __init__(self, p, masks):
        self._p, self._space = p, [mask.bit_count() for mask in masks]
        self._balances = {}
        self._starts = {}
        self._missing = {}

    def live(self, owner, row):
        """Tiles of a context in a set."""
        return sum(tile[0] == owner and tile[1] % self._p.sets == row for tile in self._balances)

    def forget(self, owner):
        for tile in [tile for tile in self._balances if tile[0] == owner]:
            self._free(tile)

    def _free(self, tile):
        del self._balances[tile]
        del self._starts[tile]
        self._missing.pop(tile, None)

    def event(self, event):
        """The completion's tile and start, or the error's code and tile, or None."""
        tile = event["owner"], event["dispatch_index"], event["wavefront"]
        owner, dispatch_index, _ = tile
        is_new = tile not in self._balances
        if is_new and self.live(owner, dispatch_index % self._p.sets) == self._space[owner]:
            return ErrorCode.SET_FULL, *tile
        balance = self._balances.get(tile, 0)
        if event["end"] and event["shares"] == 0:
            return ErrorCode.NO_SHARE, *tile
        balance += event["count"] - event["tile_atoms"]
        if event["end"]:
            self._missing[tile] = self._missing.get(tile, TOTALS[owner]) - event["shares"]
        start = self._starts.get(tile, (1 << self._p.atom_address_bits) - 1)
        self._balances[tile] = balance
        self._starts[tile] = start if event["end"] else min(start, event["atom"])
        return self._judge(tile)

    def _judge(self, tile):
        balance, start = self._balances[tile], self._starts[tile]
        missing = self._missing.get(tile, 1)
        if balance >= 1 << self._p.count_bits:
            self._free(tile)
            return ErrorCode.COUNT_OVERFLOW, *tile
        if missing > 0 or (missing == 0 and balance < 0):
            return None
        self._free(tile)
        return (*tile, start) if missing == balance == 0 else (ErrorCode.OVERRUN, *tile)


class Bench:
    """Drives events into a bank, and collects its outputs."""

    def __init__(self, ctx, dut, masks):
        self.ctx, self.dut, self.masks = ctx, dut, masks
        self.seen = []
        self._tag_bits = len(dut.entry.tag)
        for owner, mask in enumerate(masks):
            ctx.set(dut.ways[owner], mask)
        ctx.set(dut.o.ready, 1)

    async def cycle(self, event=None, clear=0, aborting=0):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.i.valid, event is not None)
        if event:
            ctx.set(dut.i.p, event)
        ctx.set(dut.clear, clear)
        ctx.set(dut.aborting, aborting)
        if ctx.get(dut.error.valid):
            report = ctx.get(dut.error.report)
            tile = report.owner, report.dispatch_index, report.wavefront
            self.seen.append((report.code, *tile))
        if ctx.get(dut.o.valid):
            done = ctx.get(dut.o.p)
            self.seen.append((done.owner, done.dispatch_index, done.wavefront, done.start))
        if ctx.get(dut.updating):
            mask = self.masks[ctx.get(dut.updated.owner)]
            assert not ctx.get(dut.write_ways) & ~mask
        await ctx.tick()

    async def has_space(self):
        while not self.ctx.get(self.dut.space):
            await self.cycle()
        await self.cycle()

    async def drain(self):
        for _ in range(3 * STAGES):
            await self.cycle()
        while self.ctx.get(self.dut.clearing):
            await self.cycle()

    def stored(self):
        """Way and owner of each valid entry in the memory."""
        for way, memory in enumerate(self.dut.table.entries):
            for row in range(P.sets):
                kept = self.ctx.get(memory.data[row]).word
                if kept.valid:
                    yield way, kept.tag >> (self._tag_bits - P.owner_bits)


def simulate(masks, bench):
    dut = TrackerBank(P)
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)

    async def run(ctx):
        await bench(Bench(ctx, dut, masks))

    simulator.add_testbench(run)
    simulator.run()


def update(owner, dispatch_index, wavefront=0, count=1, atom=7):
    return {
        "end": 0,
        "owner": owner,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "count": count,
        "atom": atom,
        "tile_atoms": 0,
        "shares": 0,
    }


def end(owner, dispatch_index, wavefront=0, tile_atoms=1, shares=None):
    """Marker of a tile; without ``shares``, of the whole tile."""
    return update(owner, dispatch_index, wavefront, count=0, atom=0) | {
        "end": 1,
        "tile_atoms": tile_atoms,
        "shares": TOTALS[owner] if shares is None else shares,
        "total": TOTALS[owner],
    }


def random_event(rng, owners=(0, 1)):
    owner, dispatch_index = rng.choice(owners), rng.randrange(10)
    wavefront = rng.randrange(2)
    if rng.random() < 0.4:
        tile_atoms, shares = rng.choice([0, 1, 1, 2, 3]), rng.choice([0, 1, 1, 1, 2, 3])
        return end(owner, dispatch_index, wavefront, tile_atoms, shares)
    count, atom = rng.choice([1, 1, 2, 3]), rng.randrange(1 << 20)
    return update(owner, dispatch_index, wavefront, count, atom)


@pytest.mark.parametrize("owner", range(2))
def test_a_set_is_full_where_the_ways_of_its_context_are(owner):
    """Context 0 has two of the five ways and context 1 has three, whatever the other one holds."""
    masks = 0b01010, 0b10101
    ways = masks[owner].bit_count()

    async def bench(bank):
        await bank.has_space()
        tiles = [P.sets * number for number in range(ways + 1)]
        for dispatch_index in tiles:
            await bank.cycle(update(owner, dispatch_index))
        await bank.drain()
        assert bank.seen == [(ErrorCode.SET_FULL, owner, tiles[-1], 0)]
        others = masks[1 - owner].bit_count()
        for dispatch_index in tiles[:others]:
            await bank.cycle(update(1 - owner, dispatch_index))
        await bank.drain()
        assert len(bank.seen) == 1
        # A complete tile frees a way for its own context only.
        await bank.cycle(end(owner, tiles[0], tile_atoms=1))
        await bank.cycle(update(1 - owner, P.sets * others))
        await bank.cycle(update(owner, tiles[-1]))
        await bank.drain()
        assert bank.seen[1:] in (
            [(owner, tiles[0], 0, 7), (ErrorCode.SET_FULL, 1 - owner, P.sets * others, 0)],
            [(ErrorCode.SET_FULL, 1 - owner, P.sets * others, 0), (owner, tiles[0], 0, 7)],
        )
        stored = list(bank.stored())
        assert sorted(way for way, _ in stored) == list(range(P.ways))
        assert all(masks[of] >> way & 1 for way, of in stored)

    simulate(masks, bench)


@pytest.mark.parametrize("aborted", range(2))
def test_abort(aborted):
    """Events of the aborted context leave no trace, not even an error. Events of the other context
    count, and so do the context's own events before and after the abort."""
    other = 1 - aborted

    async def bench(bank):
        await bank.has_space()
        for owner in (aborted, other):
            await bank.cycle(update(owner, 0, atom=owner))
        for owner in (aborted, other):
            for event in (end(owner, 0), update(owner, 4), end(owner, 1, shares=0)):
                await bank.cycle(event, aborting=1 << aborted)
        await bank.drain()
        seen = [(other, 0, 0, other), (ErrorCode.NO_SHARE, other, 1, 0)]
        assert sorted(bank.seen, key=str) == sorted(seen, key=str)
        assert sorted(owner for _, owner in bank.stored()) == [0, 1]
        await bank.cycle(end(aborted, 0))
        await bank.drain()
        assert bank.seen[2:] == [(aborted, 0, 0, aborted)]
        assert bank.ctx.get(bank.dut.empty) == 1 << aborted

    simulate((0b00011, 0b11100), bench)


@pytest.mark.parametrize(
    ("masks", "seed"), [((0b00011, 0b11100), 0), ((0b10110, 0b00001), 1), ((0b01000, 0b10111), 2)]
)
def test_random(masks, seed):
    """Every event of both contexts, and after an abort of one of them the tiles of the other."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    tables, expected = Tables(P, masks), []

    async def bench(bank):
        await bank.has_space()
        for step in range(1200):
            clears = step % 200 == 199
            # The cleared context has no event in flight; the other one has many.
            aborted = step // 200 % 2
            owners = (1 - aborted,) if step % 200 >= 199 - STAGES else (0, 1)
            event = random_event(rng, owners) if clears or rng.random() < 0.9 else None
            if event:
                expected.append(tables.event(event))
            await bank.cycle(event, clear=clears << aborted)
            if clears:
                tables.forget(aborted)
                await bank.drain()
                empty = [
                    not any(tables.live(owner, row) for row in range(P.sets)) for owner in (0, 1)
                ]
                assert bank.ctx.get(bank.dut.empty) == empty[0] | empty[1] << 1
                assert empty[aborted] and not empty[1 - aborted]
                await bank.has_space()
        await bank.drain()
        # Errors and completions leave by two ports, so only each one's order is theirs.
        for of_errors in (True, False):
            outcomes = [
                [one for one in some if one and isinstance(one[0], ErrorCode) == of_errors]
                for some in (bank.seen, expected)
            ]
            assert outcomes[0] == outcomes[1]
        codes = {one[0] for one in expected if one and isinstance(one[0], ErrorCode)}
        assert {ErrorCode.SET_FULL, ErrorCode.OVERRUN, ErrorCode.NO_SHARE} <= codes
        assert {one[0] for one in expected if one} >= {0, 1}

    simulate(masks, bench)
