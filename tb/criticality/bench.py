"""Bench of the criticality unit: kernels and links at any pace, compared with the golden model in
every cycle.
"""

import random

import cocotb
import numpy as np

from rtl.interface.configuration import LaunchConfiguration
from rtl.interface.timebase import TICK_CYCLES
from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality
from tb.cover import cover, expect
from tb.criticality.model import step_unit
from tb.criticality.traffic import (
    LOAD,
    MOST_ELAPSED,
    MOST_TICKS,
    REGISTERS,
    Dispatcher,
    far_along,
    near_the_verdict,
    random_configuration,
)
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, set_launch_configuration
from tb.inside import inside
from tb.payload import Fields

PARAMETERS = T3Parameters(
    channels=4,
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=10,
    sets=8,
    ways=2,
    credit_window=64,
    command_depth=16,
    contexts=2,
)
_LAUNCH_CONFIGURATION = Fields(LaunchConfiguration(PARAMETERS))
# Fields of a launch's configuration that the unit reads.
_READ = dict.fromkeys(("workgroups", "tracked_first", "to_send", "credit_window"), 0)
_OUTPUTS = ("active", "relaxed", "critical", "congested")
_CYCLES = 12_000
_VERDICTS = 150
_SAMPLES = 100

expect(
    *_OUTPUTS,
    "dispatched, but nothing launched",
    "kernel kept from dispatching",
    "kernel has ended",
    "kernel far ahead",
    "completion lags",
    "time of the link is not known yet",
    "engine rests while a group is timed",
    "elapsed time saturates",
    "time of a group saturates",
    "group is faster than the last one",
    "group is slower than the last one",
    "current group has taken longer than the last one",
    "group is sent within a tick",
    "tick as a group ends",
    "nothing has changed, and nothing is compared",
    "tick while a comparison runs",
    "comparisons follow each other",
    "change while a comparison is prepared",
    "launched again",
    "launch while a comparison runs",
    "aborted while the kernel runs",
    "aborted while a comparison runs",
    "launch while aborting",
    "late, because a workgroup is overdue",
    "late, because the link takes too long",
    "link takes three quarters of the kernel's time",
    "link takes nearly three quarters of it",
    "nothing is left to be sent",
    "late no more",
    "every channel was seen held up",
    "congestion is about to decide",
    "congestion saturates",
    "congestion forgotten",
)


def make_dut(block: type = Criticality):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())
_INSIDE = {"congestion": ("congestion.level",), "looked": ("looked", "congestion.count")}


class _Bench:
    """The unit and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.own, self.launch_configuration = self.state.contexts[0]["criticality"], {}
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self._compared = False  # the last cycle was the last cycle of a comparison
        self._seen: set[int] = set()  # channels that were held up when they were sampled

    def configure(self, **launch_configuration: int) -> None:
        launch_configuration = _READ | launch_configuration
        self.launch_configuration = launch_configuration
        self.dut.launch_configuration.value = _LAUNCH_CONFIGURATION.pack(
            launch_configuration, rest=self._rest
        )
        set_launch_configuration(self.state, launch_configuration)

    def preset(self, **values: int) -> None:
        """Preset measured values in the unit and in its model."""
        for name, value in values.items():
            inside(self.dut, *_INSIDE.get(name, (name,))).value = value
            self.own[name] = value
        self.own["congested"] = self.own["congestion"] >= 256

    async def cycle(
        self,
        *,
        launch: bool = False,
        aborting: bool = False,
        held_up: int = 0,
        tick: bool = False,
        **inputs: int,
    ) -> None:
        """Drive one cycle, then compare all registers."""
        dut, own = self.dut, self.own
        dut.held_up.value = held_up
        dut.launch.value, dut.aborting.value = int(launch), int(aborting)
        dut.tick.value = int(tick)
        for name, value in inputs.items():
            getattr(dut, name).value = int(value)
        await settled()
        self._cover(launch, tick=tick, **inputs)
        self._cover_abort(launch, aborting)
        self._cover_ticks(tick, inputs["issued"])
        late, congestion = bool(own["late"]), int(own["congestion"])
        strobes = {"launch": launch, "aborting": aborting, "tick": tick}
        step_unit(self.state, held_up=held_up, **strobes, **inputs)
        self._cover_congestion(congestion)
        cover("late no more", late and not own["late"] and not launch)
        await next_cycle(dut)
        for name in _OUTPUTS:
            assert bool(getattr(dut, name).value) == bool(own[name]), name
            cover(name, own[name])
        for name in REGISTERS:
            assert int(inside(dut, *_INSIDE.get(name, (name,))).value) == own[name], name

    def _cover_abort(self, launch: bool, aborting: bool) -> None:
        launched = aborting and self.own["launched"]
        cover("aborted while the kernel runs", launched and self.own["active"])
        cover("aborted while a comparison runs", launched and LOAD <= self.own["phase"])
        cover("launch while aborting", launch and aborting)

    def _cover_ticks(self, tick: bool, issued: int) -> None:
        own = self.own
        phase, ends = (
            own["phase"],
            issued and own["measuring"] and own["group"] + 1 == 1 << own["timed_log2"],
        )
        cover("group is sent within a tick", ends and not own["group_time"])
        cover("tick as a group ends", ends and tick)
        cover("nothing has changed, and nothing is compared", tick and not phase + own["changed"])
        cover("tick while a comparison runs", tick and phase)
        began_at_once = tick and not phase and own["changed"] and self._compared
        cover("comparisons follow each other", began_at_once)
        cover("change while a comparison is prepared", 0 < phase <= LOAD and own["changed"])
        self._compared = phase == 63

    def _cover_congestion(self, before: int) -> None:
        """Record the coverage of congestion after a step, from its value before the step."""
        own = self.own
        after = int(own["congestion"])
        if after > before and own["active"] + own["critical"]:
            self._seen.add((own["turn"] - 1) % PARAMETERS.channels)
        cover("every channel was seen held up", len(self._seen) == PARAMETERS.channels)
        cover("congestion is about to decide", before == 255 and after in (254, 262))
        cover("congestion saturates", before > 504 and after == 511)
        cover("congestion forgotten", before > 255 and not after)

    def _cover(
        self, launch: bool, *, tick, dispatched, finished, oldest, dispatch_limit, issued, busy
    ) -> None:
        own, configuration = self.own, self.launch_configuration
        workgroups, window = configuration["workgroups"], configuration["credit_window"]
        runs = own["launched"] and dispatched and finished < workgroups
        waits = dispatch_limit <= dispatched < workgroups
        cover("dispatched, but nothing launched", dispatched and not own["launched"])
        cover("kernel kept from dispatching", runs and waits)
        cover("kernel has ended", own["launched"] and dispatched and finished >= workgroups)
        ahead = dispatched > oldest + (window // 2 | window // 4)
        cover("kernel far ahead", runs and not waits and ahead)
        cover("completion lags", runs and not waits and finished > oldest + window // 8)
        unknown = runs and not waits and not own["late"] and not own["link_time"]
        cover("time of the link is not known yet", unknown and own["measuring"])
        cover("engine rests while a group is timed", tick and own["measuring"] and not busy)
        full = own["elapsed"] == MOST_ELAPSED and own["fraction"] == 15
        cover("elapsed time saturates", full and runs and not waits)
        cover("time of a group saturates", own["measuring"] and own["group_time"] == MOST_TICKS)
        longer = own["group_time"] > own["link_time"] > 0
        if issued and own["measuring"] and own["group"] + 1 == 1 << own["timed_log2"]:
            cover("group is faster than the last one", own["group_time"] < own["link_time"])
            cover("group is slower than the last one", longer)
        cover("launched again", launch and own["launched"])
        cover("launch while a comparison runs", launch and LOAD <= own["phase"])
        if own["phase"] == LOAD:
            kernel = workgroups * int(own["finish_time"]) - finished * int(own["elapsed"])
            cover("current group has taken longer than the last one", longer)
            longest = max(int(own["link_time"]), int(own["group_time"]))
            difference = (
                3 * (kernel << 2 + int(own["timed_log2"]))
                - int(own["remaining"]) * longest * finished
            )
            cover("late, because a workgroup is overdue", kernel < 0)
            cover(
                "late, because the link takes too long",
                kernel >= 0 > difference,
            )
            cover("link takes three quarters of the kernel's time", kernel > 0 and not difference)
            near = int(own["remaining"]) * finished
            cover("link takes nearly three quarters of it", 0 < difference < near)
            cover("nothing is left to be sent", finished and not own["remaining"])


async def _start(dut) -> _Bench:
    await reset(dut, _INPUTS)
    return _Bench(dut)


def _rng(number: int) -> np.random.Generator:
    return np.random.default_rng([cocotb.RANDOM_SEED, number])


@cocotb.test()
async def random_traffic(dut):
    """Random configurations, kernels, links and launches agree with the model, also with the
    measured values of kernels that have run for hours.
    """
    bench, rng = await _start(dut), _rng(0)
    dispatcher = Dispatcher(rng, PARAMETERS)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 400 == 0:
            bench.configure(**random_configuration(rng, PARAMETERS))
        if cycle % 250 == 0:
            dispatcher.change()
        inputs = dispatcher.cycle(bench.launch_configuration["workgroups"])
        if bench.own["measuring"] and rng.random() < 0.01:
            bench.preset(**far_along(rng, bench.own))
        if bench.own["phase"] == LOAD and rng.random() < 0.5:
            configuration, finished = bench.launch_configuration, inputs["finished"]
            bench.preset(**near_the_verdict(rng, bench.own, configuration, finished))
        aborting = rng.random() < 0.002
        launch = cycle > 100 and rng.random() < (0.2 if aborting else 0.004)
        await bench.cycle(launch=launch, aborting=aborting, **inputs)


@cocotb.test()
async def every_verdict(dut):
    """Comparisons of times that are equal or differ by a tick are right: the lowest bit of an
    operand decides.
    """
    bench, rng = await _start(dut), _rng(1)
    inputs = dict.fromkeys(("oldest", "issued", "busy"), 0) | {"dispatch_limit": 2047}
    bench.configure(workgroups=1000, credit_window=64)
    await bench.cycle(launch=True, dispatched=0, finished=0, **inputs)
    for number in range(scaled(_VERDICTS)):
        # With powers of two, the times can be exactly equal.
        whole = number % 2
        # Mostly many workgroups: large numbers exercise the upper bits of the products.
        most = 1 << PARAMETERS.workgroup_bits
        workgroups = int(rng.choice([most, most - 1, rng.integers(most // 2 + 1, most)]))
        finished = 1 << rng.integers(0, 9) if whole else int(rng.integers(1, workgroups))
        remaining = 1 << rng.integers(0, 10) if whole else int(rng.integers(1, 2048))
        bench.configure(workgroups=workgroups, to_send=int(remaining), credit_window=64)
        bench.preset(sent=0, changed=1, timed_log2=int(rng.integers(0, 6)))
        values = {"dispatched": workgroups, "finished": int(finished), **inputs}
        for phase in range(LOAD):
            await bench.cycle(tick=not phase, **values)
        times = near_the_verdict(rng, bench.own, bench.launch_configuration, int(finished))
        if whole:
            elapsed = int(rng.integers(0, 1000))
            kernel = (
                (workgroups - int(finished)) * elapsed * (3 << 2 + int(bench.own["timed_log2"]))
            )
            link_time = kernel // (int(remaining) * int(finished))
            times = dict.fromkeys(("elapsed", "finish_time"), elapsed)
            times |= {"link_time": min(link_time, MOST_TICKS), "group_time": 0}
        bench.preset(**times)
        while bench.own["phase"]:
            await bench.cycle(**values)


@cocotb.test()
async def congestion_comes_and_goes(dut):
    """All channels are sampled in turn, while the kernel waits, runs, or has ended."""
    bench, rng = await _start(dut), _rng(2)
    inputs = {"finished": 0, "oldest": 0, "issued": 0, "busy": 0}
    bench.configure(workgroups=100, to_send=100, credit_window=64)
    await bench.cycle(launch=True, dispatched=0, dispatch_limit=9, **inputs)
    everywhere = (1 << PARAMETERS.channels) - 1
    for share in (1, 0.3, 0.125, 0.125, 0):
        # The kernel waits, and sometimes runs.
        for dispatched in [9] * scaled(_SAMPLES) + [3] * 4 + [9] * scaled(_SAMPLES):
            if rng.random() < 0.02:
                level = rng.choice([0, 1, 248, 249, 255, 256, 504, 511])
                bench.preset(congestion=int(level))
            # Channels that are not sampled have random states.
            here = 1 << int(bench.own["turn"])
            others = int(rng.integers(0, everywhere + 1)) & ~here
            held_up = others | here * int(rng.random() < share)
            values = {"dispatched": dispatched, "dispatch_limit": 9, **inputs}
            for cycle in range(int(rng.integers(2, 6))):
                only = cycle == 1  # the look
                seen = held_up if only else everywhere ^ held_up
                await bench.cycle(held_up=seen, tick=only, **values)
        bench.preset(congestion=400)
        values = {"dispatched": 0, "dispatch_limit": 9, **inputs}
        for cycle in range(4):
            await bench.cycle(held_up=everywhere, tick=cycle == 2, **values)


@cocotb.test()
async def an_abort(dut):
    """The kernel of an aborted launch is not critical; its measurements stay until the next
    launch.
    """
    bench = await _start(dut)
    inputs = {"oldest": 5, "dispatch_limit": 2047, "dispatched": 20, "finished": 9}
    inputs |= {"issued": 0, "busy": 1}
    bench.configure(workgroups=100, to_send=100, credit_window=64)
    await bench.cycle(launch=True, **inputs)
    for cycle in range(2000):
        await bench.cycle(tick=cycle % TICK_CYCLES == 0, **inputs)
    assert int(dut.active.value)
    elapsed = int(bench.own["elapsed"])
    await bench.cycle(aborting=True, **inputs)
    for cycle in range(2000):
        await bench.cycle(tick=cycle % TICK_CYCLES == 0, **inputs)
        assert not int(dut.active.value) and not int(dut.critical.value)
    assert bench.own["elapsed"] == elapsed > 0
    await bench.cycle(launch=True, **inputs)
    await bench.cycle(**inputs)
    assert int(dut.active.value)


@cocotb.test()
async def times_saturate(dut):
    """The times saturate in a kernel of many hours, and for a group of workgroups that is sent very
    slowly.
    """
    bench = await _start(dut)
    inputs = {"oldest": 5, "dispatch_limit": 2047, "dispatched": 20, "finished": 9, "busy": 1}
    bench.configure(workgroups=100, to_send=100, credit_window=64)
    await bench.cycle(launch=True, issued=0, **inputs)
    await bench.cycle(issued=1, **inputs)
    bench.preset(elapsed=MOST_ELAPSED - 1, group_time=MOST_TICKS - 6)
    for _ in range(3):
        bench.preset(fraction=12)
        for cycle in range(16):
            await bench.cycle(issued=0, tick=cycle % 2, **inputs)
    assert int(inside(dut, "elapsed").value) == MOST_ELAPSED
    assert int(inside(dut, "group_time").value) == MOST_TICKS


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
