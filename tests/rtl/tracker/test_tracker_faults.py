"""Bit errors in a tracker bank's memory, seen from its ports."""

from dataclasses import replace

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank

P = T3Parameters(contexts=1, sets=4, ways=2, tile_atom_bits=3, share_bits=2)
ROW = 1  # row of dispatch index 1
CODE_BITS = 64 + 8  # width of an entry with its check bits, for one context
TWO = replace(P, contexts=2)


class Bank:
    """A bank after its clearing, that takes one event after the other."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.errors, self.owners = [], []
        self.corrected, self.completions = 0, []

    async def tick(self, cycles=1):
        ctx, dut = self.ctx, self.dut
        for _ in range(cycles):
            if ctx.get(dut.error.valid):
                report = ctx.get(dut.error.report)
                self.errors.append((report.code, report.dispatch_index, report.wavefront))
                self.owners.append(report.owner)
            self.corrected += ctx.get(dut.corrected)
            if ctx.get(dut.o.valid):
                self.completions.append((ctx.get(dut.o.p.dispatch_index), ctx.get(dut.o.p.start)))
            await ctx.tick()

    async def event(self, **fields):
        self.ctx.set(self.dut.i.p, {"dispatch_index": 1, "shares": 1, "total": 1, **fields})
        self.ctx.set(self.dut.i.valid, 1)
        await self.tick()
        self.ctx.set(self.dut.i.valid, 0)
        await self.tick(8)

    def turn(self, *bits):
        """Turn bits of the entry that the first tile of the set has."""
        memory = self.dut.table.entries[0].data
        value = self.ctx.get(memory[ROW]).as_bits()
        for bit in bits:
            value ^= 1 << bit
        self.ctx.set(memory[ROW], memory.shape.from_bits(value))


def simulate(bench, p=P, ways=(-1,)):
    dut = TrackerBank(p)

    async def run(ctx):
        for context, own in enumerate(ways):
            ctx.set(dut.ways[context], own)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(P.sets + 1)
        await bench(Bank(ctx, dut))

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run)
    simulator.run()


def test_single_bit_error_is_corrected():
    async def bench(bank):
        for bit in range(CODE_BITS):
            await bank.event(atom=9, count=1)
            bank.turn(bit)
            await bank.event(atom=7, count=1)
            assert bank.corrected == bit + 1
            await bank.event(end=1, tile_atoms=2)
            # The second update has written the entry anew, without the bit error.
            assert bank.corrected == bit + 1
            assert (bank.completions.pop(), bank.errors) == ((1, 7), [])

    simulate(bench)


@pytest.mark.parametrize("bits", [(0, 1), (3, 40), (0, 60), (55, 64), (20, 21)])
@pytest.mark.parametrize("ended", [False, True], ids=["counting", "ended"])
def test_double_bit_error_is_reported_and_the_tile_never_completes(bits, ended):
    async def bench(bank):
        first, then = dict(atom=9, count=1), dict(end=1, tile_atoms=3)
        await bank.event(**(then if ended else first))
        bank.turn(*bits)
        await bank.event(atom=7, count=2)
        assert bank.errors == [(ErrorCode.TRACKER_CORRUPT, 1, 0)]
        await bank.event(**(first if ended else then))
        assert not bank.completions
        # Another tile of the set is unaffected.
        await bank.event(dispatch_index=5, atom=3, count=1)
        await bank.event(dispatch_index=5, end=1, tile_atoms=1)
        assert bank.completions == [(5, 3)]
        assert len(bank.errors) == 1

    simulate(bench)


@pytest.mark.parametrize("shared", [False, True])
def test_a_lost_entry_is_reported_to_a_context_that_has_its_way(shared):
    async def bench(bank):
        await bank.event(owner=0, atom=9, count=1)  # in the first way
        bank.turn(0, 1)
        await bank.event(owner=1, atom=7, count=1)
        assert bank.owners == [1] * shared
        await bank.event(owner=0, atom=5, count=1)
        # Its own tile takes the place of the lost one, if it may.
        assert bank.owners == ([1] if shared else [0])
        assert {code for code, *_ in bank.errors} == {ErrorCode.TRACKER_CORRUPT}

    # The second context's tile takes the second way.
    simulate(bench, TWO, (0b11, 0b11) if shared else (0b01, 0b10))


def test_however_many_entries_are_lost_the_bank_is_not_empty_before_it_is_cleared():
    async def bench(bank):
        ctx, dut = bank.ctx, bank.dut
        for _ in range(8 * P.sets * P.ways):
            await bank.event(atom=9, count=1)
            assert not ctx.get(dut.empty)
            bank.turn(0, 1)
        ctx.set(dut.clear, 1)
        await bank.tick()
        ctx.set(dut.clear, 0)
        await bank.tick(2 * P.sets)
        assert ctx.get(dut.empty)
        await bank.event(atom=9, count=1)
        assert not ctx.get(dut.empty)
        await bank.event(end=1, tile_atoms=1)
        assert ctx.get(dut.empty) and bank.completions == [(1, 9)]

    simulate(bench)
