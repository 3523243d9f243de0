"""Limits of the ranges, by their meaning for each dispatch index."""

import random

import pytest

from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.range_limits import RangeLimits
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_limits import BUGS_OF_LIMITS

P = T3Parameters(contexts=1, workgroup_bits=5, sets=4, credit_window=8, ranges=3, peers=3)
MOST = (1 << P.credit_limit_bits) - 1
INDICES = 1 << P.dispatch_index_bits
SETTLES = 2 * P.ranges + 4  # cycles after which a change is seen at all outputs
SENDS = (Action.REMOTE, Action.DMA)


def entry(action, first, last, peers=0, offset=0, enable=1):
    return {
        **{"enable": enable, "action": action, "first": first, "last": last},
        **{"peers": peers, "slot_offset": offset & MOST},
    }


def least(entry, admitted):
    bounds = [bound for peer, bound in enumerate(admitted) if entry["peers"] >> peer & 1]
    return min(bounds, default=MOST)


def limit(entry, admitted):
    """Count the dispatch indices, from 0 on, whose slots the peers admit."""
    bound, offset = least(entry, admitted), entry["slot_offset"]
    if entry["action"] not in SENDS or bound == MOST:
        return MOST
    if offset > MOST >> 1:
        offset -= MOST + 1
    indices = range(MOST if bound else 0)
    return next((index for index in indices if index + offset >= bound), len(indices))


def dispatch_limit(ranges, admitted, credit_limit):
    """Find the first dispatch index of a range that lacks credit there or here."""
    for index in range(INDICES):
        for one in ranges:
            if not one["enable"] or not one["first"] <= index <= one["last"]:
                continue
            if one["action"] == Action.REMOTE and index >= limit(one, admitted):
                return index
            if one["action"] in (Action.DMA, Action.OWN) and index >= credit_limit:
                return index
    return MOST


class Bench:
    """The unit, with strobes for the inputs that it is given next."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.admitted, self.credit_limit, self.ranges = [0] * P.peers, 0, []

    async def launch(self, ranges):
        """Begin a launch; nothing is admitted in its first cycle."""
        self.ranges = ranges
        self.ctx.set(self.dut.ranges, ranges)
        await self.cycle([0] * P.peers, 0, launch=1)

    async def cycle(self, admitted=None, credit_limit=None, **strobes):
        """Run a cycle, behind which the inputs have other values."""
        ctx, dut = self.ctx, self.dut
        admitted = self.admitted if admitted is None else admitted
        credit_limit = self.credit_limit if credit_limit is None else credit_limit
        changes = (admitted, credit_limit) != (self.admitted, self.credit_limit)
        for name in ("launch", "aborting"):
            ctx.set(getattr(dut, name), strobes.get(name, 0))
        ctx.set(dut.changes, strobes.get("changes", changes))
        await ctx.tick()
        self.admitted, self.credit_limit = admitted, credit_limit
        ctx.set(dut.admitted, admitted)
        ctx.set(dut.credit_limit, credit_limit)

    async def settle(self):
        for _ in range(SETTLES):
            await self.cycle()

    @property
    def limits(self):
        return [self.ctx.get(self.dut.limits[number]) for number in range(P.ranges)]

    @property
    def dispatch_limit(self):
        return self.ctx.get(self.dut.dispatch_limit)

    @property
    def expected(self):
        limits = [limit(one, self.admitted) for one in self.ranges]
        return limits, dispatch_limit(self.ranges, self.admitted, self.credit_limit)


def simulate(bench, block=RangeLimits):
    dut = block(P)

    async def run(ctx):
        await bench(Bench(ctx, dut))

    run_gated(dut, run)


NO_RANGE = entry(Action.NONE, 0, 0, enable=0)
CASES = {
    "nothing is admitted": ([entry(Action.REMOTE, 4, 9, 1)], [0], 20, 4),
    "below the range": ([entry(Action.REMOTE, 4, 9, 1)], [3], 20, 4),
    "within the range": ([entry(Action.REMOTE, 4, 9, 1)], [7], 20, 7),
    "the last one lacks credit": ([entry(Action.REMOTE, 4, 9, 1)], [9], 20, 9),
    "the whole range": ([entry(Action.REMOTE, 4, 9, 1)], [10], 0, MOST),
    "slots above the indices": ([entry(Action.REMOTE, 4, 9, 1, 16)], [22], 0, 6),
    "slots below the indices": ([entry(Action.REMOTE, 4, 9, 1, -4)], [2], 0, 6),
    "no slot, but an offset": ([entry(Action.REMOTE, 4, 9, 1, -8)], [0], 0, 4),
    "a peer that has passed the launch": ([entry(Action.REMOTE, 4, 9, 1, 30)], [MOST], 0, MOST),
    "without a peer": ([entry(Action.REMOTE, 4, 9)], [5], 0, MOST),
    "the lowest of the peers": ([entry(Action.REMOTE, 0, 9, 5)], [8, 2, 6], 0, 6),
    "here by the own limit": ([entry(Action.DMA, 4, 9, 1)], [0], 7, 7),
    "what stays": ([entry(Action.OWN, 4, 9)], [0], 7, 7),
    "a range without an action": ([entry(Action.NONE, 4, 9)], [0], 7, MOST),
    "a disabled range": ([entry(Action.REMOTE, 4, 9, 1, enable=0)], [0], 7, MOST),
    "the earliest of the ranges": (
        [entry(Action.OWN, 8, 15), entry(Action.REMOTE, 4, 7, 2), entry(Action.REMOTE, 0, 3, 1)],
        *([2, 6], 12, 2),
    ),
    "a later range": (
        [entry(Action.OWN, 8, 15), entry(Action.REMOTE, 4, 7, 2), entry(Action.REMOTE, 0, 3, 1)],
        *([4, 6], 12, 6),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_dispatch_limit(case):
    ranges, admitted, credit_limit, expected = CASES[case]
    ranges = ranges + [NO_RANGE] * (P.ranges - len(ranges))
    admitted = admitted + [0] * (P.peers - len(admitted))

    async def run(bench):
        await bench.launch(ranges)
        await bench.cycle(admitted, credit_limit)
        await bench.settle()
        assert bench.dispatch_limit == expected == bench.expected[1]

    simulate(run)


@pytest.mark.parametrize(
    ("action", "bound", "offset", "expected"),
    [
        (Action.DMA, 12, 0, 12),
        (Action.DMA, 12, 5, 7),
        (Action.DMA, 12, 12, 0),
        (Action.DMA, 12, 13, 0),
        (Action.DMA, 12, -3, 15),
        (Action.DMA, MOST - 1, -3, MOST),
        (Action.DMA, MOST, 31, MOST),
        (Action.DMA, 0, -32, 0),
        (Action.REMOTE, 12, 5, 7),
        (Action.OWN, 12, 5, MOST),
        (Action.NONE, 12, 5, MOST),
    ],
)
def test_limit_of_a_range(action, bound, offset, expected):
    ranges = [NO_RANGE, entry(action, 0, 31, 2, offset), NO_RANGE]

    async def run(bench):
        await bench.launch(ranges)
        await bench.cycle([1, bound, 1])
        await bench.settle()
        assert bench.limits[1] == expected == limit(ranges[1], bench.admitted)

    simulate(run)


def test_nothing_is_admitted_without_a_launch():
    async def run(bench):
        for _ in range(2 * SETTLES):
            assert bench.limits == [0] * P.ranges and bench.dispatch_limit == 0
            await bench.cycle([20] * P.peers, 20, changes=1)

    simulate(run)


def random_entry(rng):
    first = rng.randrange(INDICES)
    return entry(
        rng.choice(list(Action)),
        first,
        rng.choice([first, min(first + rng.randrange(12), INDICES - 1)]),
        rng.getrandbits(P.peers),
        rng.choice([0, rng.randrange(-12, 12), rng.randrange(-INDICES, INDICES)]),
        rng.random() < 0.8,
    )


def check(block=RangeLimits):
    """In launches whose bounds grow, the limits are never too high, and right in the end."""
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    seen = dict.fromkeys(("settled", "behind", "aborts", "launches"), 0)

    async def run(bench):
        for _ in range(250):
            if rng.random() < 0.2:
                await bench.cycle(aborting=1)
                assert bench.limits == [0] * P.ranges and bench.dispatch_limit == 0
                for _ in range(rng.randrange(12)):
                    await bench.cycle(rng.choices(range(MOST), k=P.peers), 9, changes=1)
                    assert bench.limits == [0] * P.ranges and bench.dispatch_limit == 0
                seen["aborts"] += 1
            await bench.launch([random_entry(rng) for _ in range(P.ranges)])
            assert bench.limits == [0] * P.ranges and bench.dispatch_limit == 0
            seen["launches"] += 1
            for _ in range(rng.randrange(60)):
                admitted, credit_limit = list(bench.admitted), bench.credit_limit
                if rng.random() < 0.2:
                    peer = rng.randrange(P.peers)
                    admitted[peer] = min(admitted[peer] + rng.choice([1, 1, 9]), MOST)
                if rng.random() < 0.1:
                    credit_limit = min(credit_limit + rng.choice([1, 5]), MOST)
                await bench.cycle(admitted, credit_limit)
                limits, dispatch = bench.expected
                assert all(now <= then for now, then in zip(bench.limits, limits, strict=True))
                assert bench.dispatch_limit <= dispatch
                seen["behind"] += bench.dispatch_limit < dispatch
                if rng.random() < 0.03:
                    await bench.settle()
                    assert (bench.limits, bench.dispatch_limit) == bench.expected
                    seen["settled"] += 1
        print(seen)
        assert min(seen.values()) > 30

    simulate(run, block)


def test_limits_are_never_too_high():
    check()


@pytest.mark.parametrize("bug", [bug for _, bug in BUGS_OF_LIMITS], ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())


def test_the_clock_stops():
    """Without changes the unit rests, however long; with a change it walks once more."""

    async def run(bench):
        await bench.launch([entry(Action.REMOTE, 0, 9, 1)] * P.ranges)
        for _ in range(3):
            await bench.settle()
            assert not bench.ctx.get(bench.dut.clock_enable)
            await bench.cycle(changes=1)
            bench.ctx.set(bench.dut.changes, 0)
            assert bench.ctx.get(bench.dut.clock_enable)

    simulate(run)
