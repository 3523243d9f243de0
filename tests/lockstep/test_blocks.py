"""Lockstep of single blocks: RTL and golden model in every cycle.

Inputs are random and independent of each other, and therefore harsher than those that the rest of
the top produces.
"""

import numpy as np
import pytest
from amaranth.hdl import Value

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Action
from rtl.interface.layouts import ErrorReport
from rtl.parameters import T3Parameters
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.trigger import Trigger
from sysmodel.engine.golden.channel.arbitration import arbitrate, measure
from sysmodel.engine.golden.dma.copies import pop_copy, push_copy
from sysmodel.engine.golden.dma.engine import engine_is_idle, step_engine
from sysmodel.engine.golden.dma.lane import SEGMENTS
from sysmodel.engine.golden.payloads.layouts import COMPLETION, COPY, READY
from sysmodel.engine.golden.trigger.credit_window import WindowInputs, step_credit_window
from sysmodel.engine.golden.trigger.ready import step_ready
from sysmodel.engine.golden.trigger.trigger import begin_clearing, step_trigger
from tb.criticality.model import step_unit
from tb.criticality.traffic import (
    LOAD,
    REGISTERS,
    Dispatcher,
    far_along,
    near_the_verdict,
    random_configuration,
)
from tb.golden import SIGNALS, error_report, put, set_arbiter_inputs
from tests.support.golden_state import fresh_state
from tests.support.simulation import device, simulate

SMALL = dict(
    contexts=1,
    system_channels=4,
    interleave_atoms=4,
    address_bits=28,
    workgroup_bits=10,
    wavefronts=4,
    tile_atom_bits=4,
    sets=8,
    ways=2,
    credit_window=16,
    command_depth=32,
)


@pytest.fixture(params=[0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in (1, 2))])
def rng(request):
    print(f"seed {request.param}")
    return np.random.default_rng(request.param)


def chance(rng, probability):
    return bool(rng.random() < probability)


def words(values, names):
    """Return the fields of a payload in the order of a record."""
    return [int(getattr(values[name], "value", values[name])) for name in names]


def test_arbiter(rng):
    dut = device(Arbiter, T3Parameters(**SMALL))
    state = fresh_state(**SMALL)
    arbiter, channel = state.config["arbiter"], state.channels[0]

    async def bench(ctx):
        for cycle in range(4000):
            if cycle % 200 == 0:
                plain = {
                    "automatic": int(rng.integers(0, 2)),
                    "threshold": int(rng.choice([5, 30, 127])),
                    "starvation_limit": int(rng.choice([0, 1, 7, 1000])),
                    "measure_log2": int(rng.integers(0, 6)),
                }
                cuts, levels = rng.integers(0, 128, (2, 3)).tolist()
                configuration = plain | {"cuts": cuts, "levels": levels}
                ctx.set(dut.configuration, configuration)
                # Includes encodings without a policy.
                configuration["policy"] = int(rng.integers(0, 8))
                ctx.set(Value.cast(dut.configuration.policy), configuration["policy"])
                for name, value in configuration.items():
                    arbiter[name] = value
            compute, communication = chance(rng, 0.6), chance(rng, 0.6)
            space, start = chance(rng, 0.7), chance(rng, 0.02)
            occupancy = int(rng.integers(0, 128))
            ctx.set(dut.compute.valid, compute)
            ctx.set(dut.communication.valid, communication)
            ctx.set(dut.compute.p.atom, 1)
            ctx.set(dut.communication.p.atom, 2)
            ctx.set(dut.o.ready, space)
            ctx.set(dut.start, start)
            # The golden arbiter reads a register, which the RTL has before its port.
            ctx.set(dut.occupancy, occupancy)
            on = [name for name in SIGNALS if chance(rng, 0.5)]
            for name in SIGNALS:
                ctx.set(getattr(dut, name), name in on)
            set_arbiter_inputs(state, on)
            found = [
                compute and ctx.get(dut.compute.ready),
                communication and ctx.get(dut.communication.ready),
            ]
            choice = arbitrate(
                arbiter,
                state.gpu["arbiter_inputs"],
                channel["arbiter"],
                channel["measurement"]["measured"],
                occupancy,
                compute,
                communication,
                space,
            )
            assert found == [choice == 0, choice == 1], cycle
            assert (ctx.get(dut.o.valid) and space) == (choice >= 0), cycle
            if choice >= 0:
                assert ctx.get(dut.o.p.atom) == choice + 1, cycle
            measure(arbiter, channel["measurement"], occupancy, start)
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("slots", [1, 16, 512])
def test_credit_window(rng, slots):
    parameters = SMALL | dict(credit_window=slots, contexts=2)
    dut = device(CreditWindow, T3Parameters(**parameters))
    state = fresh_state(**parameters)
    launch_configuration, window = state.contexts[0]["launch"], state.contexts[0]["window"]

    async def bench(ctx):
        timeouts = 0
        for cycle in range(3000):
            if cycle % 300 == 0:
                values = {
                    name: int(rng.integers(0, 30))
                    for name in ("tracked_first", "credit_window", "command_window")
                }
                values |= {
                    "credit_window": int(rng.integers(0, 17)),
                    "tracked_end": int(rng.choice([20, 60, 2047])),
                    "timeout": int(rng.choice([0, 1, 5, 20])),
                    "reports_steps": int(rng.integers(0, 2)),
                    "report_log2": int(rng.choice([0, 1, 2, 5, 31])),
                }
                ctx.set(dut.launch_configuration, values)
                for name, value in values.items():
                    launch_configuration[name] = value
            launch, complete = chance(rng, 0.01), chance(rng, 0.4)
            aborting = chance(rng, 0.004)
            own, issued = chance(rng, 0.2), chance(rng, 0.2)
            dispatch_index = int(window["oldest"] + rng.integers(0, 4)) % 1024
            unfinished, tick = chance(rng, 0.8), chance(rng, 0.7)
            released = chance(rng, 0.02)
            for port, value in (
                (dut.launch, launch),
                (dut.aborting, aborting),
                (dut.complete, complete),
                (dut.complete_dispatch_index, dispatch_index),
                (dut.own, own),
                (dut.issued, issued),
                (dut.unfinished, unfinished),
                (dut.released, released),
                (dut.tick, tick),
            ):
                ctx.set(port, value)
            names = ("oldest", "credit_limit", "done", "reports")
            found = [ctx.get(getattr(dut, name)) for name in names]
            of_model = ("oldest", "credit_limit", "done", "report_due")
            assert found == [window[name] for name in of_model], cycle
            base = int(window["oldest"])
            completed = dispatch_index if complete else -1
            inputs = WindowInputs(
                completed, own, issued, launch, unfinished, released, tick, aborting
            )
            _, changes, expired = step_credit_window(
                state.config, window, state.complete[0], launch_configuration, inputs
            )
            assert launch or ctx.get(dut.changes) == changes, cycle
            assert ctx.get(dut.error.valid) == expired, cycle
            if expired:
                timeouts += 1
                assert ctx.get(dut.error.report.dispatch_index) == min(base, 1023), cycle
            await ctx.tick()
        assert timeouts

    simulate(dut, bench)


def test_criticality(rng):
    p = T3Parameters(**SMALL, channels=3)
    dut = device(Criticality, p)
    state = fresh_state(**SMALL, channels=3)
    config, own = state.contexts[0]["launch"], state.contexts[0]["criticality"]
    dispatcher = Dispatcher(rng, p)
    seen = set()

    def preset(ctx, values):
        for name, value in values.items():
            ctx.set(getattr(dut, name), value)
            own[name] = value

    async def bench(ctx):
        for cycle in range(8000):
            if cycle % 400 == 0 or chance(rng, 0.001):
                configuration = random_configuration(rng, p)
                ctx.set(dut.launch_configuration, configuration)
                for name, value in configuration.items():
                    config[name] = value
            if cycle % 250 == 0:
                dispatcher.change()
            inputs = dispatcher.cycle(int(config["workgroups"]))
            if own["measuring"] and chance(rng, 0.01):
                preset(ctx, far_along(rng, own))
            if own["phase"] == LOAD and chance(rng, 0.6):
                preset(ctx, near_the_verdict(rng, own, config, inputs["finished"]))
            inputs["launch"] = chance(rng, 0.004)
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            step_unit(state, **inputs, aborting=False)
            await ctx.tick()
            for name in REGISTERS:
                assert ctx.get(getattr(dut, name)) == own[name], (cycle, name)
            seen.add(tuple(bool(own[name]) for name in ("late", "active", "relaxed", "critical")))
        # Late or not, while the kernel may dispatch, while it waits, and while no kernel runs.
        for late in (False, True):
            assert (late, True, False, True) in seen and (late, False, False, True) in seen
            assert (late, False, False, False) in seen
        assert {(False, True, True, False), (False, True, True, True)} <= seen

    simulate(dut, bench)


def random_command(rng):
    return {
        "kind": int(rng.integers(0, 2)),
        "marks": int(rng.integers(0, 2)),
        "op": int(rng.integers(0, 3)),
        "dtype": int(rng.integers(0, 3)),
        "atom_offset": int(rng.integers(0, 1 << 23)),
        "granularity": int(rng.integers(0, 2)),
        "group_log2": int(rng.integers(0, 3)),
        "outer_extent": int(rng.integers(0, 6)),
        "outer_extent_edge": int(rng.integers(0, 6)),
        "inner_extent": int(rng.integers(0, 20)),
        "inner_extent_edge": int(rng.integers(0, 20)),
        "stride": int(rng.integers(0, 1 << 24)),
        "region": int(rng.integers(0, 2)),
        "wave_outer_extent": int(rng.integers(0, 4)),
        "wave_inner_log2": int(rng.integers(0, 16)),
        "waves_inner_log2": int(rng.integers(0, 4)),
        "waves": rng.integers(1, 4, 4).tolist(),
    }


def random_region(rng):
    """Return the whole address space of a region, half of it, or none."""
    half, whole = 1 << 22, (1 << 23) - 1
    base, limit = [(0, whole), (0, whole), (half, whole), (0, half)][int(rng.integers(0, 4))]
    return {"enable": int(rng.random() < 0.9), "base": base, "limit": limit}


def set_commands(state, commands):
    for index, command in enumerate(commands):
        for name, value in command.items():
            state.commands[0, index][name] = value


def test_trigger(rng):
    dut = device(Trigger, T3Parameters(**SMALL))
    state = fresh_state(**SMALL)
    own, offered = state.contexts[0], np.zeros(1, COMPLETION)[0]
    commands = [random_command(rng) for _ in range(4)]
    ranges = [
        {
            "enable": int(index != 1),
            "region": 0,
            "first": 7 * index,
            "last": 7 * index + 5,
            "action": [Action.DMA, Action.DMA, Action.DMA, Action.OWN][index].value,
            "command": index,
        }
        for index in range(4)
    ]

    async def bench(ctx):
        ctx.set(dut.maps.commands, commands)
        ctx.set(dut.maps.ranges, ranges)
        set_commands(state, commands)
        for index, entry in enumerate(ranges):
            for name, value in entry.items():
                state.ranges[0, index][name] = value
        ready_seen = 0
        for cycle in range(3000):
            completion = {
                "dispatch_index": int(rng.integers(0, 30)),
                "wavefront": int(rng.integers(0, 4)),
                "start": int(rng.integers(0, 1 << 23)),
                # The workgroup determines the edges of a tile.
                "outer_edge": 0,
                "inner_edge": 1,
            }
            valid, ready, clear = chance(rng, 0.7), chance(rng, 0.9), chance(rng, 0.001)
            ctx.set(dut.completions.valid, valid)
            ctx.set(dut.completions.p, completion)
            ctx.set(dut.ready.ready, ready)
            ctx.set(dut.clear, clear)

            assert ctx.get(dut.ready.valid) == (own["ready"]["checked"] != 0), cycle
            assert ctx.get(dut.tiles) == own["trigger"]["tiles"], cycle
            popped = own["ready"]["checked"] != 0 and ready
            if own["ready"]["checked"]:
                ready_seen += 1
                command = state.ready[0, own["ready"]["head"]]
                found = words(ctx.get(dut.ready.p), command.dtype.names)
                assert found == list(command.tolist()), cycle
            put(offered, completion)
            taken, pushed, complete, mine, *_ = step_trigger(state, 0, valid, offered)
            assert (valid and ctx.get(dut.completions.ready)) == taken, cycle
            assert ctx.get(dut.complete) == (complete >= 0), cycle
            assert ctx.get(dut.own) == mine, cycle
            if complete >= 0:
                assert ctx.get(dut.complete_dispatch_index) == complete, cycle
            step_ready(state, 0, pushed, popped)
            if clear:
                begin_clearing(own["trigger"])
            await ctx.tick()
        assert ready_seen > 100

    simulate(dut, bench)


def commands_of_many_rows(rng):
    """Return commands with fewer and more rows than walkers, and with many rows in one channel."""
    commands = [random_command(rng) for _ in range(4)]
    for command in commands[1:]:
        command["outer_extent"] = int(rng.integers(0, 20))
        command["wave_outer_extent"] = int(rng.integers(0, 8))
        command["stride"] = int(rng.choice([4, 60, 64, command["stride"]]))
    return commands


def program_engine(ctx, dut, state, rng):
    """Set new tables; return commands and regions."""
    regions = [random_region(rng) for _ in range(2)]
    commands = commands_of_many_rows(rng)
    launch_configuration = {"workgroups": 24, "generation": int(rng.integers(0, 16))}
    ranges = [
        {
            "command": int(rng.integers(0, 4)),
            "peers": int(rng.integers(0, 256)),
            "slot_offset": int(rng.choice([rng.integers(0, 12), rng.integers(0, 2048)])),
        }
        for _ in range(4)
    ]
    ctx.set(dut.maps.commands, commands)
    ctx.set(dut.maps.ranges, ranges)
    ctx.set(dut.maps.regions, regions)
    ctx.set(dut.launch_configuration, launch_configuration)
    set_commands(state, commands)
    for index, region in enumerate(regions):
        for name, value in region.items():
            state.regions[0, index][name] = value
    for index, entry in enumerate(ranges):
        put(state.ranges[0, index], entry)
    for name, value in launch_configuration.items():
        state.contexts[0]["launch"][name] = value
    return commands, regions


# Channels, their geometry, and the number of walkers in the quick run.
ENGINES = {
    "all channels": (4, {}, 4),
    "one of four channels": (1, {"first_channel": 2}, 2),
    "five of six channels": (5, {"system_channels": 6, "first_channel": 1}, 2),
    "granules of one atom": (1, {"system_channels": 1, "interleave_atoms": 1}, 1),
}


@pytest.mark.parametrize(
    ("channels", "geometry", "walkers"),
    [
        pytest.param(
            *(channels, geometry, walkers),
            id=f"{name}-{walkers}",
            marks=() if walkers == quick else pytest.mark.verify,
        )
        for name, (channels, geometry, quick) in ENGINES.items()
        for walkers in (1, 2, 4)
    ],
)
def test_engine(rng, channels, geometry, walkers):
    parameters = SMALL | dict(channels=channels, dma_walkers=walkers) | geometry
    dut = device(DmaEngine, T3Parameters(**parameters))
    state = fresh_state(**parameters)
    own, ready, copied_from = state.contexts[0], np.zeros(1, READY)[0], np.zeros(1, COPY)[0]
    report = ErrorReport(T3Parameters(**parameters)).members
    lanes = state.channels["lanes"][:, 0]

    async def bench(ctx):
        moved = dropped = 0
        for cycle in range(700):
            if cycle % 50 == 0:
                commands, regions = program_engine(ctx, dut, state, rng)
            command = {
                "range": int(rng.integers(0, 4)),
                "dispatch_index": int(rng.integers(0, 24)),
                "wavefront": int(rng.integers(0, 4)),
                "start": int(rng.integers(0, 1 << 23)),
                "outer_edge": int(rng.integers(0, 2)),
                "inner_edge": int(rng.integers(0, 2)),
                "last": int(rng.integers(0, 2)),
            }
            copy = {
                "command": commands[int(rng.integers(0, 4))],
                "region": regions[int(rng.integers(0, 2))],
                "start": int(rng.integers(0, 1 << 23)),
                "peers": int(rng.integers(0, 256)),
            }
            has_ready, has_copy = chance(rng, 0.7), chance(rng, 0.2)
            limits = rng.choice([*rng.integers(0, 40, 4), 2047], 4).tolist()
            spaces = [chance(rng, 0.7) for _ in range(channels)]
            ctx.set(dut.ready.valid, has_ready)
            ctx.set(dut.ready.p, command)
            ctx.set(dut.copies.valid, has_copy)
            ctx.set(dut.copies.p, copy)
            ctx.set(dut.limits, limits)
            state.limits[0] = limits
            put(ready, command)
            while own["copies"]["copies_level"]:
                pop_copy(own["copies"])
            if has_copy:
                for part in ("command", "region"):
                    for name, value in copy[part].items():
                        copied_from[part][name] = value
                tables = copied_from["command"], copied_from["region"]
                push_copy(own["copies"], *tables, copy["start"], copy["peers"])
            for index, space in enumerate(spaces):
                ctx.set(dut.segments[index].ready, space)
                lanes[index]["segments_level"] = 0 if space else SEGMENTS
                lanes[index]["segments_pushed"] = lanes[index]["segments_head"] = 0

            idle = engine_is_idle(own["engine"]) and not has_ready and not has_copy
            assert ctx.get(dut.idle) == idle, cycle
            _, popped, issued, failure = step_engine(state, 0, has_ready, ready)
            assert (has_ready and ctx.get(dut.ready.ready)) == popped, cycle
            copied = has_copy and not own["copies"]["copies_level"]
            assert (has_copy and ctx.get(dut.copies.ready)) == copied, cycle
            assert ctx.get(dut.issued) == issued, cycle
            assert ctx.get(dut.error.valid) == (failure != 0), cycle
            if failure:
                dropped += 1
                found = words(ctx.get(dut.error.report), report)
                atom = int(own["engine"]["walk"]["outside_atom"])
                assert found == error_report(failure, atom), cycle
            for index, space in enumerate(spaces):
                pushed = lanes[index]["segments_pushed"] != 0
                assert (space and ctx.get(dut.segments[index].valid)) == pushed, cycle
                if pushed:
                    moved += 1
                    segment = lanes[index]["segments"][0]
                    found = words(ctx.get(dut.segments[index].p), segment.dtype.names)
                    assert found == list(segment.tolist()), cycle
            await ctx.tick()
        assert moved > 50 and dropped > 5

    simulate(dut, bench)
