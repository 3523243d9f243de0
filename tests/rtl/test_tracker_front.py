import random

import pytest
from amaranth.sim import Simulator

from rtl.parameters import T3Parameters
from rtl.tracker_front import TrackerFront


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


def updates(place, wavefront=0, atom=0, count=1):
    return {"place": place, "wavefront": wavefront, "atom": atom, "count": count}


def end(place, wavefront=0, sectors=1):
    return {
        "end": 1,
        "place": place,
        "wavefront": wavefront,
        "sectors": sectors,
        "row_edge": sectors & 1,
        "run_edge": sectors >> 1 & 1,
        "atom": sectors * 7,
    }


def bank_of(p, event):
    """Halves: the wavefront's bits, the lowest first, say in which of them the place is swapped."""
    bank, half, wavefront = event["place"] % p.banks, p.banks // 2, event["wavefront"]
    while half:
        if wavefront % 2:
            bank = bank - half if bank // half % 2 else bank + half
        half, wavefront = half // 2, wavefront // 2
    return bank


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("banks", [1, 2, 4, 16])
def test_every_cycle(channels, banks):
    seed = 10 * channels + banks
    print("seed", seed)
    rng = random.Random(seed)
    p = T3Parameters(channels=channels, banks=banks)
    dut = TrackerFront(p)
    transfers = [0] * banks

    async def bench(ctx):
        # Per channel what waits: (notice, end), and who was last; per bank the pointer.
        waiting = [[None, None] for _ in range(channels)]
        last = [1] * channels
        pointers = [0] * banks
        for _ in range(250 if banks < 16 else 1000):
            for pair in waiting:
                place, wavefront = rng.randrange(1 << 16), rng.randrange(8)
                if pair[0] is None and rng.random() < 0.7:
                    pair[0] = updates(place, wavefront, rng.randrange(1 << 35), rng.randint(1, 15))
                if pair[1] is None and rng.random() < 0.3:
                    pair[1] = end(place ^ 1, wavefront, rng.randrange(1 << 10))
            for channel, pair in enumerate(waiting):
                offer(ctx, dut.notices[channel], pair[0])
                offer(ctx, dut.ends[channel], pair[1])
            ready = [rng.random() < 0.8 for _ in range(banks)]
            for bank, is_ready in enumerate(ready):
                ctx.set(dut.o[bank].ready, is_ready)

            candidates = []
            for pair, previous in zip(waiting, last, strict=True):
                valid = [kind for kind in (0, 1) if pair[kind] is not None]
                candidates.append(
                    (1 - previous if len(valid) == 2 else valid[0]) if valid else None
                )
            taken = set()
            for bank in range(banks):
                order = [(pointers[bank] + step) % channels for step in range(channels)]
                winner = next(
                    (
                        channel
                        for channel in order
                        if candidates[channel] is not None
                        and bank_of(p, waiting[channel][candidates[channel]]) == bank
                    ),
                    None,
                )
                assert ctx.get(dut.o[bank].valid) == (winner is not None)
                if winner is None:
                    continue
                fields = {"end": 0, "sectors": 0, "row_edge": 0, "run_edge": 0}
                fields |= waiting[winner][candidates[winner]]
                fields.setdefault("count", 0)
                out = ctx.get(dut.o[bank].p)
                assert {name: out[name] for name in fields} == fields
                if ready[bank]:
                    taken.add(winner)
                    pointers[bank] = (winner + 1) % channels
                    transfers[bank] += 1
            for channel, pair in enumerate(waiting):
                for kind, port in enumerate((dut.notices[channel], dut.ends[channel])):
                    if pair[kind] is not None:
                        gone = channel in taken and kind == candidates[channel]
                        assert ctx.get(port.ready) == gone
                        if gone:
                            pair[kind] = None
                            last[channel] = kind
            await ctx.tick()

    run(dut, bench)
    assert min(transfers) > 30


def test_busy_bank_does_not_hold_another():
    dut = TrackerFront(T3Parameters(channels=2, banks=2))

    async def bench(ctx):
        offer(ctx, dut.notices[0], updates(4))
        offer(ctx, dut.notices[1], updates(5))
        ctx.set(dut.o[1].ready, 1)
        assert not ctx.get(dut.notices[0].ready)
        assert ctx.get(dut.notices[1].ready)

    run(dut, bench)


def test_channels_take_turns_at_a_bank():
    dut = TrackerFront(T3Parameters(channels=3))
    served = []

    async def bench(ctx):
        ctx.set(dut.o[0].ready, 1)
        for channel in range(3):
            offer(ctx, dut.notices[channel], updates(place=channel))
        for _ in range(6):
            served.append(ctx.get(dut.o[0].p.place))
            await ctx.tick()

    run(dut, bench)
    assert served == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("banks", [4, 8, 32])
def test_wavefronts_of_a_place_lie_in_different_banks(banks):
    dut = TrackerFront(T3Parameters(channels=4, banks=banks))

    async def bench(ctx):
        for port in dut.o:
            ctx.set(port.ready, 1)
        for place in (0, 5, 1234):
            for wavefront, port in enumerate(dut.notices):
                offer(ctx, port, updates(place, wavefront))
            assert all([ctx.get(port.ready) for port in dut.notices])

    run(dut, bench)
