import random
from itertools import product

import pytest
from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.tracker.front import TrackerFront


def run(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()


def offer(ctx, port, event):
    """Offer an event, or nothing."""
    ctx.set(port.valid, event is not None)
    if event is not None:
        ctx.set(port.p, event)


def updates(dispatch_index, wavefront=0, atom=0, count=1):
    return {"dispatch_index": dispatch_index, "wavefront": wavefront, "atom": atom, "count": count}


def end(dispatch_index, wavefront=0, tile_atoms=1):
    return {
        "end": 1,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "tile_atoms": tile_atoms,
        "outer_edge": tile_atoms & 1,
        "inner_edge": tile_atoms >> 1 & 1,
        "shares": tile_atoms >> 2 & 63,
        "total": tile_atoms >> 3 & 63,
        "atom": tile_atoms * 7,
    }


def bank_of(p, event):
    """Bank of an event: that of the dispatch index, with bit *n* from the top inverted if bit *n*
    of the wavefront is set."""
    bank, half, wavefront = event["dispatch_index"] % p.banks, p.banks // 2, event["wavefront"]
    while half:
        if wavefront % 2:
            bank = bank - half if bank // half % 2 else bank + half
        half, wavefront = half // 2, wavefront // 2
    return bank


def fill(rng, pair):
    """New events of any context, where none waits."""
    dispatch_index, wavefront = rng.randrange(1 << 16), rng.randrange(8)
    owner = {"owner": rng.randrange(2)}
    if pair[0] is None and rng.random() < 0.7:
        atom, count = rng.randrange(1 << 35), rng.randint(1, 15)
        pair[0] = updates(dispatch_index, wavefront, atom, count) | owner
    if pair[1] is None and rng.random() < 0.3:
        pair[1] = end(dispatch_index ^ 1, wavefront, rng.randrange(1 << 10)) | owner


@pytest.mark.parametrize(
    ("channels", "banks"),
    [*product([1, 3, 4], [1, 2, 4]), (1, 16), pytest.param(3, 16, marks=pytest.mark.verify)],
)
def test_every_cycle(channels, banks):
    seed = 10 * channels + banks
    print("seed", seed)
    rng = random.Random(seed)
    p = T3Parameters(channels=channels, banks=banks, contexts=2)
    dut = TrackerFront(p)
    transfers = [0] * banks
    empty_seen = set()

    async def bench(ctx):
        # Per channel: the offered (issue acknowledgement, end), the one taken last, and the
        # candidates; per bank: the pointer, and the event chosen in the last cycle.
        waiting = [[None, None] for _ in range(channels)]
        last = [1] * channels
        candidates = [[] for _ in range(channels)]
        pointers = [0] * banks
        chosen = [None] * banks
        for cycle in range(500 if banks < 16 else 2000):
            for pair in waiting:
                fill(rng, pair)
            for channel, pair in enumerate(waiting):
                offer(ctx, dut.issue_acks[channel], pair[0])
                offer(ctx, dut.ends[channel], pair[1])
            # Long waits, so that the candidates fill up.
            space = [rng.random() < (0.9 if cycle // 16 % 2 else 0.2) for _ in range(banks)]
            ctx.set(dut.space, sum(bit << bank for bank, bit in enumerate(space)))

            owners = {event["owner"] for queue in candidates for event in queue}
            assert ctx.get(dut.empty) == sum((n not in owners) << n for n in range(2))
            empty_seen.add(ctx.get(dut.empty))

            for bank, event in enumerate(chosen):
                assert ctx.get(dut.o[bank].valid) == (event is not None)
                if event is None:
                    continue
                fields = {
                    "end": 0,
                    "tile_atoms": 0,
                    "outer_edge": 0,
                    "inner_edge": 0,
                    "shares": 0,
                    "total": 0,
                    "count": 0,
                } | event
                out = ctx.get(dut.o[bank].p)
                assert {name: out[name] for name in fields} == fields
                transfers[bank] += 1

            full = [len(queue) == 2 for queue in candidates]
            chosen = [None] * banks
            heads = [queue[0] if queue else None for queue in candidates]
            for bank in range(banks):
                order = [(pointers[bank] + step) % channels for step in range(channels)]
                asking = [c for c in order if heads[c] and bank_of(p, heads[c]) == bank]
                if asking and space[bank]:
                    chosen[bank] = candidates[asking[0]].pop(0)
                    pointers[bank] = (asking[0] + 1) % channels
            for channel, pair in enumerate(waiting):
                valid = [kind for kind in (0, 1) if pair[kind] is not None]
                goes = (1 - last[channel] if len(valid) == 2 else valid[0]) if valid else None
                for kind, port in enumerate((dut.issue_acks[channel], dut.ends[channel])):
                    if pair[kind] is None:
                        continue
                    taken = kind == goes and not full[channel]
                    assert ctx.get(port.ready) == taken
                    if taken:
                        candidates[channel].append(pair[kind])
                        pair[kind] = None
                        last[channel] = kind
            await ctx.tick()

    run(dut, bench)
    assert min(transfers) > 30
    assert empty_seen == set(range(4))


def test_busy_bank_does_not_hold_another():
    dut = TrackerFront(T3Parameters(contexts=1, channels=2, banks=2))
    came = []

    async def bench(ctx):
        ctx.set(dut.space, 0b10)
        offer(ctx, dut.issue_acks[0], updates(4))
        offer(ctx, dut.issue_acks[1], updates(5))
        for _ in range(8):
            came.append([ctx.get(port.valid) for port in dut.o])
            await ctx.tick()

    run(dut, bench)
    assert came == [[0, 0]] * 2 + [[0, 1]] * 6


def test_channels_take_turns_at_a_bank():
    dut = TrackerFront(T3Parameters(contexts=1, channels=3))
    served = []

    async def bench(ctx):
        ctx.set(dut.space, 1)
        for channel in range(3):
            offer(ctx, dut.issue_acks[channel], updates(dispatch_index=channel))
        await ctx.tick().repeat(2)
        for _ in range(6):
            served.append(ctx.get(dut.o[0].p.dispatch_index))
            await ctx.tick()

    run(dut, bench)
    assert served == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("banks", [4, 8, 32])
def test_wavefronts_of_a_dispatch_index_lie_in_different_banks(banks):
    dut = TrackerFront(T3Parameters(contexts=1, channels=4, banks=banks))

    async def bench(ctx):
        ctx.set(dut.space, -1)
        for dispatch_index in (0, 5, 1234):
            for wavefront, port in enumerate(dut.issue_acks):
                offer(ctx, port, updates(dispatch_index, wavefront))
            await ctx.tick()
            for port in dut.issue_acks:
                offer(ctx, port, None)
            await ctx.tick()
            assert sum(ctx.get(port.valid) for port in dut.o) == len(dut.issue_acks)

    run(dut, bench)
