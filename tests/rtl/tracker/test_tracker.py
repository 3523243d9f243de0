import random
from collections import deque

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.tracker.tracker import Tracker
from tests.support.simulation import device, simulate


def updates(dispatch_index, wavefront, atom, count=1):
    return {"dispatch_index": dispatch_index, "wavefront": wavefront, "atom": atom, "count": count}


def end(dispatch_index, wavefront, tile_atoms, outer_edge=0, inner_edge=0, shares=1, total=1):
    return {
        "end": 1,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "tile_atoms": tile_atoms,
        "outer_edge": outer_edge,
        "inner_edge": inner_edge,
        "shares": shares,
        "total": total,
    }


def drive(p, streams, *, stall=lambda: False):
    """Play events into ``streams``, keyed by ``("issue_acks" or "ends", channel)``.

    Returns
    -------
    accepted : dict
        Cycle of the last event of each tile.
    completions, errors : list
        ``(cycle, completion)``, and ``(cycle, bank, code, dispatch_index, wavefront)``.
    """
    dut = device(Tracker, p)
    waiting = {key: deque(events) for key, events in streams.items()}
    accepted, completions, errors = {}, [], []

    async def bench(ctx):
        ctx.set(dut.ways[0], (1 << p.ways) - 1)
        quiet = 0
        cycle = 0
        while quiet < 20:
            quiet += 1
            for (kind, channel), events in waiting.items():
                port = getattr(dut, kind)[channel]
                ctx.set(port.valid, bool(events))
                if events:
                    ctx.set(port.p, events[0])
            ready = not stall()
            ctx.set(dut.o.ready, ready)
            if ctx.get(dut.clearing):
                quiet = 0
            for (kind, channel), events in waiting.items():
                if events and ctx.get(getattr(dut, kind)[channel].ready):
                    event = events.popleft()
                    accepted[event["dispatch_index"], event["wavefront"]] = cycle
                    quiet = 0
            if ctx.get(dut.o.valid) and ready:
                out = ctx.get(dut.o.p)
                tile = (
                    out.dispatch_index,
                    out.wavefront,
                    out.start,
                    out.outer_edge,
                    out.inner_edge,
                )
                completions.append((cycle, tile))
                quiet = 0
            for bank, error in enumerate(dut.errors):
                if ctx.get(error.valid):
                    report = ctx.get(error.report)
                    errors.append(
                        (cycle, bank, report.code, report.dispatch_index, report.wavefront)
                    )
            await ctx.tick()
            cycle += 1

    simulate(dut, bench)
    assert not any(waiting.values())
    return accepted, completions, errors


@pytest.mark.parametrize(("channels", "banks"), [(1, 1), (2, 1), (1, 2), (4, 2), (4, 4)])
@pytest.mark.parametrize("sets", [4, 64])
def test_every_tile_completes_once(channels, banks, sets):
    seed = 100 * channels + 10 * banks + sets
    print("seed", seed)
    rng = random.Random(seed)
    p = T3Parameters(contexts=1, channels=channels, banks=banks, sets=sets, ways=2)
    # As many tiles as the sets hold, in any order, over all channels; then the same dispatch
    # indices again.
    streams = {(kind, c): [] for kind in ("issue_acks", "ends") for c in range(channels)}
    accepted, completions = {}, []
    wanted = {}
    wavefronts = rng.sample(range(8), 2)
    for dispatch_index in range(min(sets, 16)):
        for wavefront in wavefronts:
            parts = rng.choices(range(1, 5), k=rng.randint(1, 3))  # of its contributions
            missing, counts = sum(parts), []
            while missing:
                counts.append(rng.randint(1, missing))
                missing -= counts[-1]
            atoms = [rng.randrange(1 << p.atom_address_bits) for _ in counts]
            edges = rng.randrange(2), rng.randrange(2)
            wanted[dispatch_index, wavefront] = (min(atoms), *edges)
            for atom, count in zip(atoms, counts, strict=True):
                event = updates(dispatch_index, wavefront, atom, count)
                streams["issue_acks", rng.randrange(channels)].append(event)
            for part in parts:
                marker = end(dispatch_index, wavefront, part, *edges, total=len(parts))
                streams["ends", rng.randrange(channels)].append(marker)
    for events in streams.values():
        rng.shuffle(events)
    accepted, completions, errors = drive(p, streams, stall=lambda: rng.random() < 0.5)
    assert not errors
    assert len(completions) == len(wanted)
    assert {
        (dispatch_index, wavefront): rest for _, (dispatch_index, wavefront, *rest) in completions
    } == {tile: list(rest) for tile, rest in wanted.items()}
    assert all(cycle >= accepted[tile[:2]] + 6 for cycle, tile in completions)


@pytest.mark.parametrize("banks", [1, 2, 4])
def test_latency_and_turns_of_the_banks(banks):
    # One tile per channel, all last events in the same cycle.
    p = T3Parameters(contexts=1, channels=banks, banks=banks)
    streams = {("issue_acks", bank): [updates(bank, 0, 9)] * 2 for bank in range(banks)}
    streams |= {("ends", bank): [end(bank, 0, 2)] for bank in range(banks)}
    accepted, completions, _ = drive(p, streams)
    assert len(set(accepted.values())) == 1
    first = accepted[0, 0] + 6
    assert completions == [(first + bank, (bank, 0, 9, 0, 0)) for bank in range(banks)]


def test_one_event_per_bank_and_cycle():
    p = T3Parameters(contexts=1, channels=4, banks=4)
    streams = {("issue_acks", c): [updates(c, 0, 1)] * 50 for c in range(4)}
    accepted, _, _ = drive(p, streams)
    # Two of each channel wait for the end of the clearing; then one leaves in every cycle.
    clearing = p.sets // p.banks
    assert set(accepted.values()) == {clearing + 48}


@pytest.mark.parametrize(
    ("sets", "banks"), [(32, 4), pytest.param(256, 32, marks=pytest.mark.verify)]
)
def test_a_full_region_fits(sets, banks):
    # Every tile is live at once, and its end comes last.
    p = T3Parameters(contexts=1, channels=4, sets=sets, banks=banks)
    first, region = 12345, sets * p.ways // 4
    tiles = [
        (first + dispatch_index, wavefront)
        for dispatch_index in range(region)
        for wavefront in range(4)
    ]
    streams = {("issue_acks", c): [updates(*tile, 7, 2) for tile in tiles[c::4]] for c in range(4)}
    accepted, completions, errors = drive(p, streams)
    assert not completions and not errors
    assert len(accepted) == p.sets * p.ways
    streams |= {("ends", c): [end(*tile, 2) for tile in tiles[c::4]] for c in range(4)}
    _, completions, errors = drive(p, streams)
    assert not errors
    assert sorted(tile[:2] for _, tile in completions) == tiles
    # One dispatch index more does not fit: the tracker was full.
    streams = {("issue_acks", 0): [updates(*tile, 7) for tile in [*tiles, (first + region, 0)]]}
    _, _, errors = drive(p, streams)
    assert [code for _, _, code, *_ in errors] == [ErrorCode.SET_FULL]


def test_errors_of_each_bank():
    p = T3Parameters(contexts=1, channels=1, banks=2)
    streams = {("ends", 0): [end(7, 3, 1, shares=0), end(7, 2, 1), end(7, 2, 1)]}
    _, _, errors = drive(p, streams)
    # The first is chosen in the cycle after the clearing, the third when it has made place.
    chosen = p.sets // p.banks
    assert errors == [
        (chosen + 4, 0, ErrorCode.NO_SHARE, 7, 3),
        (chosen + 2 + 4, 1, ErrorCode.OVERRUN, 7, 2),
    ]


def test_contexts():
    """A tile of the same name in each, with its own number of shares and ways, in every bank."""
    p = T3Parameters(sets=8, ways=3, banks=2, contexts=2)
    dut = device(Tracker, p)
    seen = []

    async def give(ctx, kind, event):
        port = getattr(dut, kind)[0]
        ctx.set(port.p, event)
        ctx.set(port.valid, 1)
        await ctx.tick()
        ctx.set(port.valid, 0)
        # Until it is in the table, or out of it.
        for _ in range(10):
            if ctx.get(dut.o.valid):
                seen.append((ctx.get(dut.o.p.owner), ctx.get(dut.o.p.dispatch_index)))
            for error in dut.errors:
                if ctx.get(error.valid):
                    report = ctx.get(error.report)
                    seen.append((report.code, report.owner, report.dispatch_index))
            await ctx.tick()

    async def bench(ctx):
        for number in range(2):
            ctx.set(dut.ways[number], (0b001, 0b110)[number])
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(6)
        for bank in range(2):
            for number in range(2):
                assert ctx.get(dut.empty) == 3 & ~number
                await give(ctx, "issue_acks", updates(bank, 0, 9) | {"owner": number})
            assert ctx.get(dut.empty) == 0
            # Another tile of the set finds a free way in context 1 only.
            for number in range(2):
                await give(ctx, "issue_acks", updates(bank + 8, 0, 9, 2) | {"owner": number})
            for number in range(2):
                marker = end(bank, 0, 1, total=number + 1)
                await give(ctx, "ends", marker | {"owner": number})
            assert seen == [(ErrorCode.SET_FULL, 0, bank + 8), (0, bank)]
            # Events of context 1 are dropped, then its entries are cleared.
            ctx.set(dut.aborting, 2)
            await give(ctx, "issue_acks", updates(bank, 0, 9) | {"owner": 1})
            assert len(seen) == 2 and ctx.get(dut.empty) == 1
            ctx.set(dut.clear, 2)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            assert ctx.get(dut.clearing) == 2
            await ctx.tick().repeat(8)
            ctx.set(dut.aborting, 0)
            assert ctx.get(dut.clearing) == 0 and ctx.get(dut.empty) == 3
            seen.clear()

    simulate(dut, bench)


@pytest.mark.parametrize("again", [0, 1, 4, 6])
def test_clear(again):
    """A clear starts no second walk while one is in progress, nor while the tracker is empty."""
    dut = device(Tracker, T3Parameters(contexts=1, sets=8, banks=2))

    async def bench(ctx):
        ctx.set(dut.ways[0], 1)
        await ctx.tick().repeat(4)
        assert not ctx.get(dut.clearing)
        ctx.set(dut.issue_acks[0].p, {"dispatch_index": 0, "wavefront": 0, "count": 1})
        ctx.set(dut.issue_acks[0].valid, 1)
        await ctx.tick()
        ctx.set(dut.issue_acks[0].valid, 0)
        await ctx.tick().repeat(10)
        assert not ctx.get(dut.empty)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        # A cycle until the walk begins, one for each row, and two from its reading to its writing.
        for cycle in range(1 + 4 + 2):
            ctx.set(dut.clear, cycle == again)
            assert ctx.get(dut.clearing)
            await ctx.tick()
        ctx.set(dut.clear, 1)
        for _ in range(2):
            assert not ctx.get(dut.clearing) and ctx.get(dut.empty)
            await ctx.tick()

    simulate(dut, bench)
