"""Dispatch gates, by the meaning of each band, against other contexts whose launches are counted
without a bound."""

import random
from dataclasses import dataclass, field

import pytest

from rtl.interface.configuration import LaunchProgress
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.dispatch_gate import DispatchGate
from rtl.trigger.range_limits import RangeLimits
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_gates import BUGS_OF_GATES

P = T3Parameters(contexts=3, workgroup_bits=5, sets=4, credit_window=8, ranges=2, peers=1)
MOST = (1 << P.credit_limit_bits) - 1
INDICES = 1 << P.dispatch_index_bits
GENERATIONS = 16
REACH = 7  # generations that a context shows after its current launch
SETTLES = 80  # cycles after which every band that may be released is
NOTHING = dict.fromkeys(LaunchProgress(P).members, 0)


@dataclass
class Other:
    """Context that runs launches one after the other, and shows its progress."""

    rng: random.Random
    number: int = 0  # generation of its launch
    oldest: int = 0
    end: int = 0
    runs: bool = False
    done: set = field(default_factory=set)  # launches since the last abort
    shown: dict = field(default_factory=lambda: dict(NOTHING))

    def cycle(self):
        """Run a cycle; return whether it is aborted."""
        rng = self.rng
        aborts = self.runs and rng.random() < 0.004
        if aborts:
            self.runs, self.done = False, set()
        elif self.runs and self.oldest < self.end:
            self.oldest += rng.random() < 0.2
        elif rng.random() < 0.05:
            self.number += rng.choice([1, 1, 2])
            self.runs, self.oldest, self.end = True, rng.randrange(3), rng.randrange(4, 30)
        if self.runs and self.oldest >= self.end:
            self.done.add(self.number)
        complete = [self.number - back in self.done for back in range(REACH + 1)]
        shown = {
            "valid": int(self.runs),
            "generation": self.number % GENERATIONS,
            "oldest": self.oldest,
            "complete": sum(one << back for back, one in enumerate(complete)),
        }
        changes = any(self.shown[name] != value for name, value in shown.items())
        self.shown = shown | {"changes": int(changes)}
        return aborts

    def has_completed(self, launch, slot):
        """Return whether a launch's slots below this one are complete, as far as it is shown."""
        if launch in self.done and self.number - launch <= REACH:
            return True
        return self.runs and launch == self.number and self.oldest >= slot


def slot_of(entry, index):
    """Return the slot that releases a dispatch index of a range."""
    gate = entry["gate"]
    band = (index - entry["first"]) // gate["workgroups"] if gate["workgroups"] else 0
    return min(gate["slot"] + band * gate["slots"], MOST)


def limit_of(ranges, released):
    """Find the first dispatch index of a range that is not released."""
    for index in range(INDICES):
        for number, one in enumerate(ranges):
            inside = one["enable"] and one["first"] <= index <= one["last"]
            if inside and one["gate"]["enable"] and (number, index) not in released:
                return index
    return MOST


def random_range(rng, others):
    first, context = rng.randrange(INDICES), rng.choice([1, 1, 2])
    launch = max(0, others[context].number + rng.choice([0, 0, 1, 1, 2, -1, -3]))
    return launch, {
        "enable": int(rng.random() < 0.9),
        "first": first,
        "last": rng.randrange(first, INDICES),
        "action": Action.NONE,
        "gate": {
            "enable": int(rng.random() < 0.9),
            "context": context,
            "generation": launch % GENERATIONS,
            "slot": rng.randrange(12),
            "workgroups": rng.choice([0, 1, 3, rng.randrange(1, INDICES)]),
            "slots": rng.choice([0, 1, 4, rng.randrange(INDICES)]),
        },
    }


class Run:
    """Launches that wait for other contexts, and what may have been released."""

    def __init__(self, ctx, dut, rng):
        self.ctx, self.dut, self.rng = ctx, dut, rng
        self.others = {1: Other(rng), 2: Other(rng)}
        self.ranges, self.awaited, self.released = [], [], set()
        self.lost, self.lost_next, self.pending, self.may_await = set(), set(), 0, 6
        self.fails = 0

    async def cycle(self, *, launch=0, still=False, **strobes):
        ctx, dut = self.ctx, self.dut
        aborted = set()
        if not still:
            aborted = {number for number, one in self.others.items() if one.cycle()}
        else:
            for one in self.others.values():
                one.shown["changes"] = 0
        ctx.set(dut.progress, [NOTHING, *(self.others[number].shown for number in (1, 2))])
        ctx.set(dut.aborts, sum(1 << number for number in aborted))
        ctx.set(dut.may_await, self.may_await)
        ctx.set(dut.pending, self.pending)
        ctx.set(dut.launch, launch)
        ctx.set(dut.aborting, strobes.get("aborting", 0))
        aborted = {number for number in aborted if self.may_await >> number & 1}
        if launch:
            self.released, self.lost = set(), self.lost_next | aborted
            self.fails = 0
        self.lost |= aborted
        self.lost_next = self.lost_next | aborted if self.pending else set()
        self.fails += ctx.get(dut.fails)
        for number, entry in enumerate(self.ranges):
            gate = entry["gate"]
            if not self.may_await >> gate["context"] & 1:
                continue
            other = self.others[gate["context"]]
            for index in range(entry["first"], entry["last"] + 1):
                if other.has_completed(self.awaited[number], slot_of(entry, index)):
                    self.released.add((number, index))
        await ctx.tick()
        assert ctx.get(dut.dispatch_limit) <= limit_of(self.ranges, self.released)

    async def launch(self):
        """Let a launch wait for some cycles, then begin it."""
        self.pending = 1
        for _ in range(self.rng.choice([1, 1, 40])):
            await self.cycle()
        self.pending = 0
        drawn = [random_range(self.rng, self.others) for _ in range(P.ranges)]
        self.awaited, self.ranges = map(list, zip(*drawn, strict=True))
        self.ctx.set(self.dut.ranges, self.ranges)
        await self.cycle(launch=1)

    @property
    def waits_for(self):
        """Contexts for which ranges wait that are not released as a whole."""
        waits = set()
        for number, entry in enumerate(self.ranges):
            indices = range(entry["first"], entry["last"] + 1)
            if entry["enable"] and entry["gate"]["enable"]:
                if any((number, index) not in self.released for index in indices):
                    waits.add(entry["gate"]["context"])
        return waits


def check(gate=DispatchGate):
    """No workgroup is released early or after an abort, and each is released in the end."""
    seed = 4
    print("seed", seed)
    dut = RangeLimits(P)
    dut.gate = gate(P)
    rng = random.Random(seed)
    seen = dict.fromkeys(("settled", "closed", "lost", "reported", "forbidden"), 0)

    async def bench(ctx):
        run = Run(ctx, dut, rng)
        for _ in range(120):
            run.may_await = rng.choice([6, 6, 6, 2])
            await run.launch()
            for _ in range(rng.randrange(60)):
                await run.cycle()
            lost = run.lost & run.waits_for
            for _ in range(SETTLES):
                await run.cycle(still=True)
            limit = ctx.get(dut.dispatch_limit)
            named = {entry["gate"]["context"] for entry in run.ranges}
            if not run.lost & named:
                assert limit == limit_of(run.ranges, run.released)
                assert ctx.get(dut.waits) == bool(run.waits_for)
                assert not run.fails
                seen["settled"] += 1
            # A range that was released before the loss stays released.
            assert run.fails <= 1 and (run.fails or not lost)
            seen["closed"] += limit < MOST
            seen["lost"] += bool(run.lost)
            seen["reported"] += run.fails
            seen["forbidden"] += bool(run.waits_for) and run.may_await == 2
            kept = limit_of(run.ranges, run.released)
            if run.lost & named:  # nothing more is released
                for _ in range(30):
                    await run.cycle()
                    now = ctx.get(dut.dispatch_limit)
                    assert now <= max(kept, limit)
        print(seen)
        assert min(seen.values()) > 5

    run_gated(dut, bench)


def test_gates():
    check()


OF_GATES = [bug for _, bug in BUGS_OF_GATES if bug.block == DispatchGate.__name__]


@pytest.mark.parametrize("bug", OF_GATES, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())


def run_case(ranges, cycles):
    """Run a launch; return the dispatch limit, and the report of an abort, after these cycles.

    A cycle is a dictionary of the progress of context 1, with ``aborts``.
    """
    dut, found = RangeLimits(P), []

    async def bench(ctx):
        ctx.set(dut.ranges, ranges)
        ctx.set(dut.may_await, 2)
        ctx.set(dut.launch, 1)
        await ctx.tick()
        ctx.set(dut.launch, 0)
        for cycle in cycles:
            fails = 0
            ctx.set(dut.aborts, 2 * cycle.pop("aborts", 0))
            ctx.set(dut.progress, [NOTHING, NOTHING | cycle | {"changes": 1}, NOTHING])
            for _ in range(40):
                fails += ctx.get(dut.fails)
                await ctx.tick()
                ctx.set(dut.aborts, 0)
            found.append((ctx.get(dut.dispatch_limit), fails))

    run_gated(dut, bench)
    return found


def gate(**fields):
    fields = {"enable": 1, "context": 1, "generation": 3, "slot": 8} | fields
    return {"enable": 1, "first": 4, "last": 15, "action": Action.NONE, "gate": fields}


def test_bands():
    """Each slot releases the next band, and never more."""
    entry = gate(workgroups=4, slots=10)
    steps = [{"valid": 1, "generation": 3, "oldest": oldest} for oldest in (7, 8, 17, 18, 27, 28)]
    limits = [limit for limit, _ in run_case([entry, {}], steps)]
    assert limits == [4, 8, 8, 12, 12, MOST]


def test_other_launches_release_nothing():
    """A launch that is over releases all of its slots, also those that it does not have."""
    steps = [{"valid": 1, "generation": other, "oldest": 31} for other in (2, 11, 4)]
    steps += [{"valid": 0, "generation": 3, "oldest": 31}]
    steps += [{"valid": 1, "generation": 4, "oldest": 0, "complete": 0b1}]
    steps += [{"valid": 1, "generation": 5, "oldest": 0, "complete": 0b100}]
    limits = [limit for limit, _ in run_case([gate(slot=MOST), {}], steps)]
    assert limits == [4, 4, 4, 4, 4, MOST]


def test_an_abort_is_reported_once():
    steps = [{"valid": 1, "generation": 3, "oldest": 2}, {"aborts": 1}]
    steps += [{"aborts": 1}, {"valid": 1, "generation": 3, "oldest": 31}]
    assert run_case([gate(), gate(slot=9)], steps) == [(4, 0), (4, 1), (4, 0), (4, 0)]


def test_an_abort_after_the_release_is_none():
    steps = [{"valid": 1, "generation": 3, "oldest": 9}, {"aborts": 1}]
    assert run_case([gate(), {}], steps) == [(MOST, 0), (MOST, 0)]
