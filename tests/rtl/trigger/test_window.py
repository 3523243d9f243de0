import random

import pytest
from amaranth.sim import Simulator

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.trigger.window import Window

SMALL = T3Parameters(workgroup_bits=10, sets=4, window_workgroups=8)
PRODUCTION = {
    "first_workgroup": 0,
    "workgroups": 64,
    "tracked_first": 16,
    "tracked_end": 20,
    "shift": 16,
    "window": 6,
    "command_window": 100,
    "updates_per_sector": 2,
    "timeout": 0,
    "epoch": 0,
}
OUTPUTS = ("base", "limit", "dispatch_limit", "done")


def simulate(stimulus, *, p=SMALL, **production):
    """The outputs in each cycle, as dictionaries with ``error`` for the timeout's place or None.

    The stimulus of a cycle is a dictionary of inputs; ``complete`` holds a place or None.
    """
    dut = Window(p)
    seen = []

    async def bench(ctx):
        ctx.set(dut.production, PRODUCTION | production)
        for inputs in stimulus:
            place = inputs.get("complete")
            ctx.set(dut.complete, place is not None)
            ctx.set(dut.complete_place, place or 0)
            for name in ("launch", "own", "picked", "unfinished"):
                ctx.set(getattr(dut, name), inputs.get(name, 0))
            ctx.set(dut.limit_in, inputs.get("limit_in", 0))
            outputs = {name: ctx.get(getattr(dut, name)) for name in OUTPUTS}
            outputs["error"] = None
            if ctx.get(dut.error.valid):
                report = ctx.get(dut.error.report)
                assert (report.code, report.wavefront) == (ErrorCode.TIMEOUT, 0)
                outputs["error"] = report.place
            seen.append(outputs)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def column(seen, name):
    return [outputs[name] for outputs in seen]


LAUNCH = {"launch": 1}


def test_nothing_is_admitted_before_launch():
    seen = simulate([{"limit_in": 50}] * 4)
    assert column(seen, "base") == column(seen, "limit") == column(seen, "done") == [0] * 4


def test_launch():
    seen = simulate([LAUNCH, *[{}] * 4])
    assert column(seen, "base") == [0, 16, 16, 16, 16]
    assert column(seen, "limit") == [0, 0, 22, 22, 22]


def test_base_moves_over_complete_places():
    # Out of order: 17 and 18 wait for 16.
    places = [None, 18, 17, 16, None, None, None, None, 19, None, None, None]
    seen = simulate([LAUNCH, *[{"complete": place} for place in places[1:]], {}])
    assert column(seen, "base") == [0, 16, 16, 16, 16, 17, 18, 19, 19, 19, 20, 20, 20]
    assert column(seen, "limit") == [0, 0, 22, 22, 22, 22, 23, 24, 25, 25, 25, 26, 26]
    assert column(seen, "done") == [0] * 11 + [1, 1]


def test_one_place_per_cycle():
    stimulus = [LAUNCH, *[{"complete": place} for place in range(16, 40)], {}, {}]
    seen = simulate(stimulus, tracked_end=40)
    assert column(seen, "base") == [0, 16, 16, *range(17, 41)]


def test_completion_of_a_bit_that_is_consumed():
    # Place 24 shares the bit of 16, which base passes in cycle 2.
    places = [None, 16, 24, 17, 18, 19, 20, 21, 22, 23]
    stimulus = [LAUNCH, *[{"complete": place} for place in places[1:]], *[{}] * 4]
    seen = simulate(stimulus, tracked_end=40)
    assert seen[-1]["base"] == 25


def test_launch_wins():
    # A completion and a credit in the launch's cycle are lost, and so is what came before.
    stimulus = [LAUNCH, {"complete": 17}, {"complete": 16, "launch": 1, "own": 1, "picked": 1}]
    seen = simulate([*stimulus, *[{}] * 4], command_window=3)
    assert column(seen, "base") == [0] + [16] * 6
    assert column(seen, "limit")[2:] == [19] * 5


def test_launch_ends_done():
    stimulus = [LAUNCH, *[{"complete": place} for place in range(16, 20)], {}, {}, LAUNCH, {}, {}]
    assert column(simulate(stimulus), "done") == [0] * 7 + [1, 0, 0]


def test_done_at_once_without_tracked_places():
    assert column(simulate([LAUNCH, {}, {}], tracked_end=16), "done") == [0, 0, 1]


def test_limit_by_credits():
    stimulus = [LAUNCH, {}, {"picked": 1}, {"own": 1}, {"picked": 1, "own": 1}, {}, {}, {}]
    seen = simulate(stimulus, command_window=1)
    assert column(seen, "limit") == [0, 0, 17, 17, 18, 19, 21, 21]


def test_limit_is_not_above_the_last_place():
    most = (1 << SMALL.limit_bits) - 1
    seen = simulate([LAUNCH, {}, {}], window=most, command_window=most)
    assert column(seen, "limit") == [0, 0, most]


@pytest.mark.parametrize(
    ("limit_in", "expected"),
    [
        (0, 0),
        (15, 0),
        (16, 0),
        (17, 1),
        (31, 15),  # one less than tracked_first: places that leave by remote_map
        (32, 22),  # the own limit from here on
        (1000, 22),
    ],
)
def test_dispatch_limit(limit_in, expected):
    seen = simulate([LAUNCH, {}, {"limit_in": limit_in}, {}])
    assert seen[3]["dispatch_limit"] == expected


def test_timeout():
    places = {3: 16, 17: 17}
    stimulus = [{"complete": places.get(cycle)} for cycle in range(30)]
    stimulus[0] = LAUNCH
    seen = simulate(stimulus, timeout=5)
    # base moves in cycles 4 and 18; the counter starts behind them, and anew after a report.
    assert {cycle: place for cycle, place in enumerate(column(seen, "error")) if place} == {
        10: 17,
        16: 17,
        24: 18,
    }


def test_no_timeout_when_off_or_done():
    stimulus = [LAUNCH, *[{}] * 20]
    assert not any(column(simulate(stimulus), "error"))
    assert not any(column(simulate(stimulus, timeout=3, tracked_end=16), "error"))
    assert not any(column(simulate([{"unfinished": 1}] * 20, timeout=3), "error"))


def test_timeout_of_what_cannot_be_sent():
    """At the end only cycles in which the link takes nothing count; before it, every cycle."""
    unfinished = [1, 1, 1, 1, 0, *[1] * 10]
    stimulus = [LAUNCH, *[{"unfinished": one} for one in unfinished]]
    errors = column(simulate(stimulus, timeout=4, tracked_end=16), "error")
    assert errors == [None] * 5 + [16] + [None] * 4 + [16] + [None] * 4 + [16]
    errors = column(simulate(stimulus, timeout=4), "error")
    assert errors == [None] * 5 + [16] + [None] * 4 + [16] + [None] * 4 + [16]


class Reference:
    """The window by sets of places; ``outputs`` are those of the current cycle."""

    def __init__(self, p, production):
        self.p, self.production = p, production
        self.launched, self.base, self.picked, self.idle = 0, 0, 0, 0
        self.complete = set()
        self.outputs = dict.fromkeys(OUTPUTS, 0)

    def cycle(self, inputs):
        c = self.production
        slots = self.p.window_workgroups
        moves = self.base % slots in self.complete
        error = self.base if c["timeout"] and self.idle == c["timeout"] else None
        outputs = self.outputs | {"error": error}

        limits = (
            self.base + c["window"],
            c["tracked_first"] + self.picked + c["command_window"],
            (2 << self.p.place_bits) - 1,
        )
        downstream = max(inputs["limit_in"] - c["shift"], 0)
        self.outputs = {
            "limit": min(limits) if self.launched else 0,
            "dispatch_limit": (downstream if downstream < c["tracked_first"] else outputs["limit"]),
            "done": self.launched and self.base >= c["tracked_end"],
        }
        open_ = self.base < c["tracked_end"]
        active = self.launched and (open_ or inputs["unfinished"])
        self.idle = self.idle + 1 if active and not moves and error is None else 0
        if moves:
            self.complete.remove(self.base % slots)
            self.base += 1
        if inputs["complete"] is not None:
            self.complete.add(inputs["complete"] % slots)
        self.picked += inputs["picked"] + inputs["own"]
        if inputs["launch"]:
            self.launched, self.base, self.picked, self.idle = 1, c["tracked_first"], 0, 0
            self.complete.clear()
            self.outputs["done"] = 0
        self.outputs["base"] = self.base
        return outputs


@pytest.mark.parametrize("slots", [1, 2, 8, 64, 512])
def test_random(slots):
    print("seed", slots)
    rng, stalls = random.Random(slots), random.Random(slots + 1)
    p = T3Parameters(window_workgroups=slots)
    production = PRODUCTION | {
        "tracked_first": 100,
        "tracked_end": 100 + min(6 * slots, 300),
        "shift": 90,
        "window": slots,
        "command_window": 5,
        "timeout": 9,
    }
    reference = Reference(p, production)
    stimulus, expected = [], []
    waiting = []
    admitted = 0
    for cycle in range(1600):
        launch = cycle in (3, 480) or rng.random() < 0.001
        admitted = max(admitted, reference.base)
        while admitted < reference.base + slots and admitted < production["tracked_end"]:
            waiting.insert(rng.randint(0, min(len(waiting), 10)), admitted)
            admitted += 1
        rate = 0.03 if 482 <= cycle < 700 else 0.6
        complete = waiting.pop() if waiting and rng.random() < rate else None
        inputs = {
            "launch": launch,
            "complete": complete if reference.launched else None,
            "own": complete is not None and rng.random() < 0.5,
            "picked": rng.random() < 0.2,
            "limit_in": rng.randrange(0, 300),
            "unfinished": stalls.random() < 0.9,
        }
        stimulus.append(inputs)
        expected.append(reference.cycle(inputs))
        if launch:
            waiting, admitted = [], 0
    seen = simulate(stimulus, p=p, **production)
    for cycle, (got, want) in enumerate(zip(seen, expected, strict=True)):
        assert got == want, cycle
    assert any(column(seen, "done"))
    assert any(column(seen, "error"))
