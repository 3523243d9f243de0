"""Progress that a context shows to those that await it, with launches counted without a bound."""

import random

import pytest

from rtl.context.external_status import ExternalStatus
from rtl.parameters import T3Parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_gates import BUGS_OF_GATES

P = T3Parameters(contexts=2)
GENERATIONS = 16
REACH = 7  # generations by which a launch follows the one before, at most
NAMES = ("valid", "generation", "oldest", "complete")


class Context:
    """Credit window of launches, some of which end, and some of which are aborted."""

    def __init__(self, rng):
        self.rng = rng
        self.launch = self.oldest = self.end = 0
        self.launches = self.launched = self.aborting = self.done = False
        self.ended = set()  # launches since the last abort

    def begin(self):
        """Begin a cycle: the launch, of which the window knows in the next one."""
        rng = self.rng
        may_begin = not self.aborting and (self.done or not self.launched)
        self.launches = may_begin and rng.random() < 0.2
        if self.launches:
            if self.launched and self.done:
                self.ended.add(self.launch)
            self.launch += rng.choice([1, 1, 1, 2, REACH])
            self.launched = True

    def end_cycle(self):
        """Advance the window to the next cycle."""
        rng = self.rng
        if self.launches:
            self.oldest, self.done = rng.randrange(4), False
            self.end = self.oldest + rng.randrange(4)
        elif self.aborting:
            self.aborting, self.done = rng.random() < 0.7, False
        elif self.launched and rng.random() < 0.03:
            self.aborting, self.launched = True, False
        elif self.launched:
            self.done = self.oldest >= self.end
            self.oldest += not self.done and rng.random() < 0.5

    def shown(self, before):
        """Return what the next cycle shows of this one, in which ``before`` is shown."""
        if self.aborting:
            self.ended = set()
        elif self.launched and self.done and not self.launches:
            self.ended.add(self.launch)
        valid = self.launched and not self.launches and not self.aborting
        back = range(REACH + 1)
        shown = {
            "valid": int(valid),
            "generation": self.launch % GENERATIONS,
            "oldest": self.oldest if valid else before["oldest"],
            "complete": sum((self.launch - one in self.ended) << one for one in back),
        }
        changes = any(shown[name] != before[name] for name in NAMES)
        return shown | {"changes": int(changes)}


def check(block=ExternalStatus):
    """Each cycle shows the cycle before, and only complete launches as complete."""
    seed = 11
    print("seed", seed)
    dut, context = block(P), Context(random.Random(seed))
    seen = dict.fromkeys(("aborts", "old launches", "moves", "rests"), 0)

    async def bench(ctx):
        expected = dict.fromkeys((*NAMES, "changes"), 0)
        for _ in range(4000):
            context.begin()
            values = {
                "launch": context.launches,
                "launched": context.launched,
                "aborting": context.aborting,
                "launch_generation": context.launch % GENERATIONS,
                "oldest": context.oldest,
                "done": context.done,
            }
            for name, value in values.items():
                ctx.set(getattr(dut, name), int(value))
            expected = context.shown(expected)
            await ctx.tick()
            progress = ctx.get(dut.progress)
            assert {name: progress[name] for name in expected} == expected
            seen["aborts"] += context.aborting
            seen["old launches"] += expected["complete"] > 1
            seen["moves" if expected["changes"] else "rests"] += 1
            context.end_cycle()
        print(seen)
        assert min(seen.values()) > 100

    run_gated(dut, bench)


def test_progress():
    check()


BUGS = [bug for _, bug in BUGS_OF_GATES if bug.block == ExternalStatus.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
