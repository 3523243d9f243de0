"""Bench of the trigger unit: completions of few workgroups, compared with the golden model in every
cycle.
"""

import random

import cocotb

from rtl.interface.configuration import MapConfiguration
from rtl.interface.encodings import Action, Granularity, InjectTarget
from rtl.interface.layouts import Completion, ErrorReport, ReadyCommand
from rtl.trigger.trigger import Trigger
from sysmodel.engine.golden.protected_queue import can_push
from sysmodel.engine.golden.registers.injection import is_armed
from sysmodel.engine.golden.trigger.trigger import GROUP
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import arm_bit_errors, error_report, set_maps, strobe_scrubber
from tb.inside import BLOCK_BITS, blocks_of_a_count, fill, preset
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer
from tb.trigger.flips import corrected_by_the_scrubber, double_bit_error, single_bit_error
from tb.trigger.model import Model
from tb.trigger.tables import (
    DISPATCH_INDICES,
    PARAMETERS,
    random_completion,
    random_maps,
    wide_maps,
)

__all__ = ["corrected_by_the_scrubber", "make_dut", "single_bit_error", "double_bit_error"]

_MAPS = Fields(MapConfiguration(PARAMETERS))
_COMPLETION = Fields(Completion(PARAMETERS))
_READY, _REPORT = Fields(ReadyCommand(PARAMETERS)), Fields(ErrorReport(PARAMETERS))
_COLUMN = {name: column for column, name in enumerate(_READY.names)}
_CYCLES = 4000
_TABLES = 30
_ALL_DISPATCH_INDICES = 1 << PARAMETERS.dispatch_index_bits
# Commands of tiles that are accepted but not counted, and of a tile that is offered.
_COMING = 3 * 8
# Memories of the injection ports, in their order.
_MEMORIES = {
    "row": InjectTarget.TILES,
    "group": InjectTarget.GROUPS,
    "command": InjectTarget.COMMANDS,
}

expect(
    *(f"injected: {count} in a {memory}" for memory in _MEMORIES for count in ("one", "two")),
    "lost group while a tile waits",
    "the scrubber corrects",
    "edge tile",
    "workgroup of one tile",
    "consecutive tiles of one workgroup",
    "tile in no range",
    "own workgroup complete",
    "remote range",
    "tile of a DMA wavefront",
    "group of one released",
    "group of several released",
    "group cut short released",
    "tile waits while a group is released",
    "tile follows at once",
    "command blocked",
    "command table full",
    "clear while idle",
    "clear while a tile is worked off",
    "clear while a tile is taken",
    "clear while clearing",
    "clear with commands waiting",
    "tables change under a tile",
)


def make_dut(block: type = Trigger):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """Unit, and its model."""

    def __init__(self, dut, rng: random.Random):
        self.dut, self.model = dut, Model(PARAMETERS)
        self.checker = StreamChecker(dut, ("completions", "ready"))
        self.completion: dict[str, int] | None = None
        self.commands: list[list[int]] = []  # commands that have left
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self._last: dict[str, int] | None = None
        self._bits = "none"
        self.configure(random_maps(rng))

    def configure(self, maps: dict[str, list]) -> None:
        """Set new tables; ranges that are not given are disabled."""
        off = [{"enable": 0}] * (PARAMETERS.ranges - len(maps["ranges"]))
        self.maps = maps = maps | {"ranges": [*maps["ranges"], *off]}
        self.dut.maps.value = _MAPS.pack(maps, rest=self._rest)
        set_maps(self.model.state, maps)

    async def cycle(
        self,
        *,
        ready: bool,
        clear: bool = False,
        inject: tuple[int, int] | None = None,
        scrub: bool = False,
    ) -> bool:
        """One cycle; the completion is offered until it is taken. ``inject`` is the port's number
        and that of the bit errors to come, None without the strobe. Return whether the completion
        is taken."""
        dut, model = self.dut, self.model
        completion = self.completion
        offer(dut, "completions", None if completion is None else _COMPLETION.pack(completion))
        dut.ready__ready.value, dut.clear.value = int(ready), int(clear)
        self._drive_injection(inject)
        dut.scrub.value = int(scrub)
        await settled()
        self.checker.sample()
        assert bool(dut.clearing.value) == model.clearing
        assert int(dut.tiles.value) == model.own["tiles"]
        assert bool(dut.empty.value) == model.empty
        assert bool(dut.idle.value) == (model.empty and model.at_rest)
        command = model.ready()
        assert bool(dut.ready__valid.value) == (command is not None)
        if command is not None:
            assert _READY.unpack(int(dut.ready__payload.value)) == command
            if ready:
                self.commands.append(command)
        self._cover_before(ready, clear, command)
        popped = ready and command is not None
        armed = self._armed()
        ports = [getattr(dut, f"inject__{number}__armed") for number in range(len(armed))]
        assert [bool(port.value) for port in ports] == armed
        in_group = model.own["state"] == GROUP
        strobe_scrubber(model.state, scrub)
        if inject is not None:
            arm_bit_errors(model.state, [*_MEMORIES.values()][inject[0]], inject[1])
        taken = model.step(completion, popped, clear)
        scrubbed = model.state.gpu["scrubber"]["scrubbed_before"]
        assert int(dut.scrub_corrected.value) == scrubbed
        cover("the scrubber corrects", scrubbed)
        self._compare_bit_errors()
        # The one that came behind the lost group's tile must not be blamed.
        error = model.outputs["corrupt"]
        cover("lost group while a tile waits", error and in_group and model.own["taken"])
        for memory, was, now in zip(_MEMORIES, armed, self._armed(), strict=True):
            if was and not now and inject is None:
                cover(f"injected: {self._bits} in a {memory}")
        if inject is not None:
            self._bits = ("none", "one", "two")[inject[1]]
        complete = model.outputs["complete_index"]
        assert (completion is not None and bool(dut.completions__ready.value)) == taken
        assert bool(dut.complete.value) == (complete >= 0)
        assert bool(dut.own.value) == model.outputs["own_complete"]
        if complete >= 0:
            assert int(dut.complete_dispatch_index.value) == complete
        self._cover_after(taken, clear)
        if taken:
            self._last, self.completion = completion, None
        await next_cycle(dut)
        return taken

    def has_space(self) -> bool:
        """Return whether the commands of another completion fit, whatever leaves."""
        return self.model.queue["inner"] + _COMING < PARAMETERS.command_depth

    def _armed(self) -> list[bool]:
        """Return for each memory whether its next word gets bit errors."""
        injection = self.model.state.gpu["injection"]
        return [is_armed(injection, target.value, 0) for target in _MEMORIES.values()]

    def _drive_injection(self, inject: tuple[int, int] | None) -> None:
        port, bits = inject or (0, 0)
        for number in range(len(_MEMORIES)):
            values = {
                "set": inject is not None,
                "select": bits and number == port,
                "double": bits == 2,
            }
            for name, value in values.items():
                getattr(self.dut, f"inject__{number}__{name}").value = int(bool(value))

    def _compare_bit_errors(self) -> None:
        dut, model = self.dut, self.model
        assert int(dut.corrected.value) == model.state.gpu["corrections"]["corrected_before"]
        error = int(model.outputs["corrupt"])
        assert bool(dut.error__valid.value) == (error != 0)
        if error:
            assert _REPORT.unpack(int(dut.error__report.value)) == error_report(error)

    def _cover_before(self, ready: bool, clear: bool, command: list[int] | None) -> None:
        model = self.model
        cover("command blocked", command is not None and not ready)
        cover("command table full", not can_push(model.queue, PARAMETERS.command_depth))
        if clear:
            cover("clear while idle", model.at_rest and self.completion is None)
            cover("clear while clearing", model.clearing)
            cover("clear while a tile is worked off", not model.at_rest and not model.clearing)
            cover("clear with commands waiting", not model.empty)

    def _cover_after(self, taken: bool, clear: bool) -> None:
        names = ("ready_pushed", "complete_index", "own_complete")
        pushed, complete, needs_none = (int(self.model.outputs[name]) for name in names)
        if taken:
            tile, last = self.completion, self._last
            cover("edge tile", tile["outer_edge"] or tile["inner_edge"])
            same = last is not None and tile["dispatch_index"] == last["dispatch_index"]
            cover("consecutive tiles of one workgroup", same)
            cover("clear while a tile is taken", clear)
        if not pushed and complete < 0:
            return
        own = self.model.own
        action, waves, size = own["tile_action"], own["tile_waves"], own["group_size"]
        by_group = own["tile_granularity"] == Granularity.WORKGROUP.value
        releases = pushed and by_group
        cover("workgroup of one tile", complete >= 0 and waves == 1)
        cover("tile follows at once", taken)
        cover("own workgroup complete", needs_none and action == Action.OWN.value)
        cover("remote range", needs_none and action == Action.REMOTE.value)
        cover("tile of a DMA wavefront", pushed and not by_group)
        cover("group of one released", releases and size == 1)
        cover("group of several released", releases and size > 1)
        cover("group cut short released", releases and size not in (1, 2, 4, 8))
        waits = self.completion is not None and not taken
        cover("tile waits while a group is released", releases and waits)


async def _start(dut, rng: random.Random) -> _Bench:
    """Start a bench with empty memories."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut, rng)
    for _ in range(PARAMETERS.credit_window):
        assert bench.model.clearing
        await bench.cycle(ready=True)
    assert not bench.model.clearing
    return bench


async def _work_off(bench: _Bench, *, ready: bool = True) -> None:
    """Run until nothing is in flight, in a bounded time."""
    for _ in range(200):
        await bench.cycle(ready=ready)
        if bench.completion is None and bench.model.at_rest and (bench.model.empty or not ready):
            return
    raise AssertionError("What was taken does not come out")


@cocotb.test()
async def random_traffic(dut):
    """Random completions agree with the model while the tables change and the memories are
    cleared.
    """
    await _random(dut, random.Random(cocotb.RANDOM_SEED))


@cocotb.test()
async def random_injections(dut):
    """Random completions agree with the model when words have one or two bit errors and the
    scrubber runs.
    """
    await _random(dut, random.Random(cocotb.RANDOM_SEED + 9), injections=0.05)


async def _random(dut, rng: random.Random, *, injections: float = 0) -> None:
    bench = await _start(dut, rng)
    pace = Pace(rng, ("put", "take"))
    for cycle in range(scaled(_CYCLES)):
        if cycle % 60 == 0:
            first = rng.randrange(DISPATCH_INDICES - 1)
            dispatch_indices = range(first, min(first + rng.choice([1, 2, 8]), DISPATCH_INDICES))
        if rng.random() < 0.02:
            cover("tables change under a tile", not bench.model.at_rest)
            bench.configure(random_maps(rng))
        acts = pace.acts()
        # The number of ready commands is bounded, as by the command window.
        if bench.completion is None and acts["put"] and bench.has_space():
            bench.completion = random_completion(rng, dispatch_indices)
        tile = bench.completion
        clear, inject = rng.random() < 0.005, None
        if injections and rng.random() < injections:
            inject = rng.randrange(len(_MEMORIES)), rng.choice([0, 1, 1, 2])
        scrub = injections > 0 and rng.random() < 0.4
        taken = await bench.cycle(ready=acts["take"], clear=clear, inject=inject, scrub=scrub)
        if tile and taken:
            in_range = any(
                entry["enable"] and entry["first"] <= tile["dispatch_index"] <= entry["last"]
                for entry in bench.maps["ranges"]
            )
            cover("tile in no range", not in_range)
    await _work_off(bench)


@cocotb.test()
async def any_table(dut):
    """Ranges, groups and numbers of tiles are right at full width, with dispatch indices near the
    edges of the ranges.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = await _start(dut, rng)
    for _ in range(scaled(_TABLES)):
        bench.configure(wide_maps(rng))
        entry = rng.choice(bench.maps["ranges"])
        dispatch_indices = range(
            max(entry["first"] - 1, 0), min(entry["last"] + 2, _ALL_DISPATCH_INDICES)
        )
        for _ in range(120):
            if bench.completion is None and bench.has_space():
                bench.completion = random_completion(rng, dispatch_indices)
            await bench.cycle(ready=rng.random() < 0.9)
        await _work_off(bench)


@cocotb.test()
async def every_range_cuts_its_last_group(dut):
    """Ranges that end within a group are right, at indices with a single bit set."""
    rng = random.Random(cocotb.RANDOM_SEED + 8)
    bench = await _start(dut, rng)
    for entry in range(PARAMETERS.ranges):
        for bit in range(PARAMETERS.dispatch_index_bits):
            last = 1 << bit
            first = max(last - 2, 0)
            maps = _plain_maps(granularity=Granularity.WORKGROUP.value, group_log2=3, waves=[1] * 4)
            ranges = [{"enable": 0} for _ in range(entry)]
            maps["ranges"] = [*ranges, maps["ranges"][0] | {"first": first, "last": last}]
            bench.configure(maps)
            bench.commands.clear()
            members = range(first, last + 1)
            await _complete(bench, [random_completion(rng, range(w, w + 1)) for w in members])
            found = [command[_COLUMN["dispatch_index"]] for command in bench.commands]
            assert found == list(members)


@cocotb.test()
async def many_tiles(dut):
    """The count of tiles is right in all of its bits."""
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bench = await _start(dut, rng)
    bits = 32
    for number in range(scaled(bits)):
        count = (1 << number % bits) - rng.randint(1, 2) & (1 << bits) - 1
        preset(dut, "tile_count", count)
        bench.model.own["tiles"] = count
        for _ in range(4):
            bench.completion = bench.completion or random_completion(rng, range(DISPATCH_INDICES))
            await bench.cycle(ready=True)
        await _work_off(bench)
    for at, block in blocks_of_a_count(bits):
        # Two tiles: a block becomes full, or nearly full; with ones below, it then carries or does
        # not.
        count = rng.getrandbits(7) << at + BLOCK_BITS | block << at | (1 << at) - 1
        preset(dut, "tile_count", count - (1 << at))
        bench.model.own["tiles"] = count - (1 << at)
        for _ in range(2):
            bench.completion = random_completion(rng, range(DISPATCH_INDICES))
            await _work_off(bench)
            bench.model.own["tiles"] = fill(dut, "tile_count", at)


def _plain_maps(**command) -> dict:
    """Make a map with one range of all dispatch indices and one command."""
    entry = {"enable": 1, "first": 0, "last": DISPATCH_INDICES, "action": Action.DMA.value}
    return {"ranges": [entry | {"command": 0}], "commands": [{"group_log2": 0} | command]}


async def _complete(bench: _Bench, tiles: list[dict[str, int]]) -> None:
    for tile in tiles:
        assert bench.completion is None
        bench.completion = tile
        for _ in range(200):  # the command may wait until the largest group is released
            if await bench.cycle(ready=True):
                break
    await _work_off(bench)


@cocotb.test()
async def the_table_fills_and_empties(dut):
    """No command is lost while the output is not ready, at any level up to full; then the commands
    leave in order.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await _start(dut, rng)
    bench.configure(_plain_maps(granularity=Granularity.WAVEFRONT.value, waves=[2] * 4))
    depth = PARAMETERS.command_depth
    for most in (2 * depth, *rng.sample(range(2, depth), 5)):
        starts = []
        bench.commands.clear()
        while can_push(bench.model.queue, depth) and len(starts) < most:
            bench.completion = random_completion(rng, range(DISPATCH_INDICES))
            starts.append(bench.completion["start"])
            await _work_off(bench, ready=False)
        assert depth <= len(starts) < most or len(starts) == most < depth
        await _work_off(bench)
        assert [command[_COLUMN["start"]] for command in bench.commands] == starts


@cocotb.test()
async def a_group_is_released_once(dut):
    """Groups of four workgroups, with a shorter last group, are released once, with tiles in any
    order.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = await _start(dut, rng)
    for _ in range(4):
        bench.configure(
            _plain_maps(granularity=Granularity.WORKGROUP.value, group_log2=2, waves=[2] * 4)
        )
        bench.maps["ranges"][0] |= {"first": 3, "last": 13}
        bench.configure(bench.maps)
        bench.commands.clear()
        tiles = [
            random_completion(rng, range(dispatch_index, dispatch_index + 1))
            | {"wavefront": wavefront}
            for dispatch_index in range(3, 14)
            for wavefront in range(2)
        ]
        rng.shuffle(tiles)
        await _complete(bench, tiles)
        found = {
            command[_COLUMN["dispatch_index"]]: command[_COLUMN["start"]]
            for command in bench.commands
        }
        least = {}
        for tile in tiles:
            least[tile["dispatch_index"]] = min(
                tile["start"], least.get(tile["dispatch_index"], tile["start"])
            )
        assert found == least and len(bench.commands) == len(least)
        for first in (3, 7, 11):
            at = [command[_COLUMN["dispatch_index"]] for command in bench.commands].index(first)
            group = bench.commands[at : at + min(4, 14 - first)]
            assert [command[_COLUMN["dispatch_index"]] - first for command in group] == [
                *range(len(group))
            ]


@cocotb.test()
async def groups_of_every_size(dut):
    """A whole group and a shorter group are released, in the order of their workgroups."""
    rng = random.Random(cocotb.RANDOM_SEED + 7)
    bench = await _start(dut, rng)
    for number in range(scaled(8)):
        size = 1 << number % 8
        rest = rng.randrange(size)
        first = rng.randrange(_ALL_DISPATCH_INDICES - size - rest + 1)
        maps = _plain_maps(
            granularity=Granularity.WORKGROUP.value, group_log2=number % 8, waves=[1] * 4
        )
        maps["ranges"][0] |= {"first": first, "last": first + size + rest - 1}
        bench.configure(maps)
        bench.commands.clear()
        dispatch_indices = [*range(first, first + size + rest)]
        order = rng.sample(dispatch_indices[:size], size) + rng.sample(
            dispatch_indices[size:], rest
        )
        await _complete(bench, [random_completion(rng, range(at, at + 1)) for at in order])
        assert [
            command[_COLUMN["dispatch_index"]] for command in bench.commands
        ] == dispatch_indices


@cocotb.test()
async def a_clear_forgets(dut):
    """After a clear, a workgroup that lacked one tile needs all of its tiles again; the same holds
    for a group.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    bench = await _start(dut, rng)
    bench.configure(
        _plain_maps(granularity=Granularity.WORKGROUP.value, group_log2=1, waves=[3] * 4)
    )
    tiles = [
        random_completion(rng, range(dispatch_index, dispatch_index + 1))
        for dispatch_index in (0, 1)
        for _ in range(3)
    ]
    await _complete(bench, tiles[:-1])
    for _ in range(3):  # the second and third workgroup begin the group anew
        await bench.cycle(ready=True, clear=True)
    await _complete(bench, tiles[-1:])
    assert not bench.commands
    await _complete(bench, tiles[:-1])
    assert [command[_COLUMN["dispatch_index"]] for command in bench.commands] == [0, 1]


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
