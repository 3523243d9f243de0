"""What may be committed to the tables, programmed through the register port."""

import random
from dataclasses import dataclass, field

import pytest
from register_bus import read, start_write, write
from reused import device
from reused import simulate as simulate_device

from rtl.interface.configuration import CommandEntry, RegionEntry
from rtl.interface.encodings import Action, ConfigurationError, Granularity, PacketKind
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response

P = T3Parameters(
    contexts=1, address_bits=20, workgroup_bits=5, sets=16, regions=3, ranges=5, commands=3
)
MAP = register_map.load()
ATOM = P.atom_bytes
TOP = (1 << P.address_bits) - ATOM  # the highest byte address that a region may name
SPACE = 1 << P.atom_address_bits


@dataclass
class Tables:
    """The tables in plain Python, by entry, with regions in bytes."""

    regions: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    copies: list = field(default_factory=list)

    def region(self, index, enable, base, limit):
        if index >= P.regions:
            return ConfigurationError.UNKNOWN_INDEX
        if not enable:
            if any(entry["region"] == index for entry in self.ranges.values()):
                return ConfigurationError.REGION_IN_USE
            self.regions.pop(index, None)
            return ConfigurationError.NONE
        if base % ATOM or limit % ATOM:
            return ConfigurationError.MISALIGNED
        if base > TOP or limit > TOP:
            return ConfigurationError.OUT_OF_SPACE
        if limit <= base:
            return ConfigurationError.EMPTY
        for number, (start, end) in self.regions.items():
            if number != index and max(start, base) < min(end, limit):
                return ConfigurationError.OVERLAP
        self.regions[index] = (base, limit)
        return ConfigurationError.NONE

    def range(self, index, enable, **entry):
        if index >= P.ranges or entry["region"] >= P.regions or entry["command"] >= P.commands:
            return ConfigurationError.UNKNOWN_INDEX
        if not enable:
            self.ranges.pop(index, None)
            return ConfigurationError.NONE
        if entry["last"] < entry["first"] or entry["action"] == Action.NONE:
            return ConfigurationError.EMPTY
        if entry["region"] not in self.regions:
            return ConfigurationError.REGION_DISABLED
        for number, other in self.ranges.items():
            if number != index and other["region"] == entry["region"]:
                if max(other["first"], entry["first"]) <= min(other["last"], entry["last"]):
                    return ConfigurationError.OVERLAP
        self.ranges[index] = entry
        return ConfigurationError.NONE

    def command(self, index, offset, **entry):
        if index >= P.commands or entry["region"] >= P.regions:
            return ConfigurationError.UNKNOWN_INDEX
        if offset % ATOM:
            return ConfigurationError.MISALIGNED
        self.commands[index] = entry | {"atom_offset": offset // ATOM % SPACE}
        return ConfigurationError.NONE

    def copy(self, command, start):
        if command >= P.commands:
            return ConfigurationError.UNKNOWN_INDEX
        if start % ATOM:
            return ConfigurationError.MISALIGNED
        if start > TOP:
            return ConfigurationError.OUT_OF_SPACE
        entry = self.commands.get(command, {"region": 0})
        if entry["region"] not in self.regions:
            return ConfigurationError.REGION_DISABLED
        if len(self.copies) == 2:
            return ConfigurationError.QUEUE_FULL
        base, limit = (end // ATOM for end in self.regions[entry["region"]])
        region = {"base": base, "limit": limit}
        self.copies.append((entry, region, start // ATOM))
        return ConfigurationError.NONE


def entries(ctx, dut):
    """What the hardware's tables hold; of a disabled entry nothing matters."""
    maps = ctx.get(dut.pages[0].table.maps)
    regions = {
        index: (entry.base * ATOM, entry.limit * ATOM)
        for index, entry in enumerate(maps.regions)
        if entry.enable
    }
    ranges = {
        index: {
            name: getattr(entry, name) for name in ("region", "first", "last", "action", "command")
        }
        for index, entry in enumerate(maps.ranges)
        if entry.enable
    }
    return regions, ranges, [entry.as_bits() for entry in maps.commands]


class Driver:
    """Programs the tables, and checks each commit against the reference."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.tables = Tables()
        self.changes = 0  # counted by the monitor

    async def stage(self, name, **values):
        register = MAP[name]
        assert await write(self.ctx, self.dut, register.address, register.pack(**values)) == 0

    async def address(self, name, value):
        await self.stage(f"{name}_LO", bytes=value & 0xFFFFFFFF)
        await self.stage(f"{name}_HI", bytes=value >> 32 & 0xFFFFFFFF)

    async def commit(self, name, expected, **values):
        """The register that commits; the tables change once, with the response, or not at all."""
        ctx, dut, tables, changes = self.ctx, self.dut, self.tables, self.changes
        before, queued = ctx.get(dut.pages[0].table.maps), ctx.get(dut.context[0].copies.valid)
        start_write(ctx, dut, MAP[name].address, MAP[name].pack(**values))
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        assert (
            ctx.get(dut.pages[0].table.maps) == before
            and ctx.get(dut.context[0].copies.valid) == queued
        )
        await ctx.tick()
        assert ctx.get(dut.bus.bvalid)
        response = Response.SLVERR if expected != ConfigurationError.NONE else Response.OKAY
        assert ctx.get(dut.bus.bresp) == response.value, (expected, tables)
        commands = [CommandEntry(P).const(tables.commands.get(i, {})) for i in range(P.commands)]
        assert entries(ctx, dut) == (
            tables.regions,
            tables.ranges,
            [command.as_bits() for command in commands],
        )
        assert ctx.get(dut.context[0].copies.valid) == bool(tables.copies)
        after = ctx.get(dut.pages[0].table.maps)
        assert after == before or expected == ConfigurationError.NONE
        ctx.set(dut.bus.bready, 1)
        await ctx.tick()
        ctx.set(dut.bus.bready, 0)
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        assert ConfigurationError(MAP["STATUS"].unpack(word)["configuration_error"]) == expected
        assert self.changes - changes == int(after != before)
        return expected

    async def region(self, index, enable, base, limit):
        await self.address("REGION_BASE", base)
        await self.address("REGION_LIMIT", limit)
        expected = self.tables.region(index, enable, base, limit)
        return await self.commit("REGION_COMMIT", expected, index=index, enable=enable)

    async def range(self, index, enable, first, last, action=Action.DMA, region=0, command=0):
        await self.stage("RANGE_DISPATCH_INDICES", first=first, last=last)
        await self.stage("RANGE_ACTION", region=region, action=action.value, command=command)
        expected = self.tables.range(
            index, enable, region=region, first=first, last=last, action=action, command=command
        )
        return await self.commit("RANGE_COMMIT", expected, index=index, enable=enable)

    async def command(self, index, offset, **entry):
        values = {
            name: value.value if hasattr(value, "value") else value for name, value in entry.items()
        }
        waves = {f"waves{i}": wave for i, wave in enumerate(values.pop("waves"))}
        for name in ("TRANSFER", "OUTER", "INNER", "STRIDE", "WAVES"):
            register = MAP[f"COMMAND_{name}"]
            names = [part.name for part in register.fields]
            await self.stage(
                register.name,
                **{name: value for name, value in (values | waves).items() if name in names},
            )
        await self.address("COMMAND_OFFSET", offset)
        expected = self.tables.command(index, offset, **entry)
        return await self.commit("COMMAND_COMMIT", expected, index=index)

    async def copy(self, command, start):
        await self.address("COPY_START", start)
        expected = self.tables.copy(command, start)
        return await self.commit("COPY", expected, command=command)

    async def take(self):
        """One copy leaves the queue."""
        ctx, dut = self.ctx, self.dut
        assert ctx.get(dut.context[0].copies.valid)
        payload = ctx.get(dut.context[0].copies.p)
        command, region, start = self.tables.copies.pop(0)
        assert (payload.command, payload.start) == (CommandEntry(P).const(command), start)
        assert payload.region == RegionEntry(P).const(region | {"enable": 1})
        ctx.set(dut.context[0].copies.ready, 1)
        await ctx.tick()
        ctx.set(dut.context[0].copies.ready, 0)


def random_command(rng):
    return {
        "kind": rng.choice(list(PacketKind)),
        "op": rng.randrange(3),
        "dtype": rng.randrange(3),
        "granularity": rng.choice(list(Granularity)),
        "group_log2": rng.getrandbits(3),
        "outer_extent": rng.getrandbits(16),
        "outer_extent_edge": rng.getrandbits(16),
        "inner_extent": rng.getrandbits(16),
        "inner_extent_edge": rng.getrandbits(16),
        "stride": rng.getrandbits(24),
        "region": rng.randrange(P.regions),
        "wave_outer_extent": rng.getrandbits(16),
        "wave_inner_log2": rng.getrandbits(4),
        "waves_inner_log2": rng.getrandbits(2),
        "waves": [rng.getrandbits(4) for _ in range(4)],
    }


def simulate(bench, p=P):
    dut = device(Registers, p)
    drivers = []

    async def main(ctx):
        ctx.set(dut.context[0].gone, 1)  # so that the reset ends
        await ctx.tick().repeat(3)
        drivers.append(Driver(ctx, dut))
        await bench(drivers[0])

    async def monitor(ctx):
        last = ctx.get(dut.pages[0].table.maps)
        async for _, _, maps in ctx.tick().sample(dut.pages[0].table.maps):
            if maps != last:
                drivers[0].changes += 1
            last = maps

    simulate_device(dut, main, background=monitor)


def test_region_configuration_errors():
    async def bench(driver):
        region = driver.region
        assert await region(0, 1, 0, TOP) == ConfigurationError.NONE
        assert await region(0, 1, 0x1000, 0x2000) == ConfigurationError.NONE  # replaced
        for index in (P.regions, 255):
            assert await region(index, 0, 0, 0) == ConfigurationError.UNKNOWN_INDEX
            assert await region(index, 1, 1, 0) == ConfigurationError.UNKNOWN_INDEX
        for offset in (1, 16, 31):
            assert await region(1, 1, 0x3000 + offset, 0x4000) == ConfigurationError.MISALIGNED
            assert await region(1, 1, 0x3000, 0x4000 + offset) == ConfigurationError.MISALIGNED
        assert await region(1, 1, 1 << 32 | 1, 0) == ConfigurationError.MISALIGNED
        assert await region(1, 1, 0x3000, TOP + ATOM) == ConfigurationError.OUT_OF_SPACE
        assert await region(1, 1, TOP + ATOM, 0x3000) == ConfigurationError.OUT_OF_SPACE
        assert await region(1, 1, 0x3000, 1 << 63) == ConfigurationError.OUT_OF_SPACE
        assert await region(1, 1, 1 << 32, 0x3000) == ConfigurationError.OUT_OF_SPACE
        assert await region(1, 1, 0x3000, 0x3000) == ConfigurationError.EMPTY
        assert await region(1, 1, 0x1800, 0x1000) == ConfigurationError.EMPTY
        for base, limit in ((0, 0x1020), (0x1FE0, 0x3000), (0x1400, 0x1800), (0, TOP)):
            assert await region(1, 1, base, limit) == ConfigurationError.OVERLAP
        assert await region(1, 1, 0x2000, TOP) == ConfigurationError.NONE
        assert await region(2, 1, 0, 0x1000) == ConfigurationError.NONE
        # Removing looks at no address.
        assert await region(1, 0, 1, 0) == ConfigurationError.NONE
        assert await region(1, 0, 0, 0) == ConfigurationError.NONE

    simulate(bench)


def test_range_configuration_errors():
    async def bench(driver):
        region, range_ = driver.region, driver.range
        assert await range_(0, 1, 0, 3) == ConfigurationError.REGION_DISABLED
        assert await region(0, 1, 0x1000, 0x2000) == ConfigurationError.NONE
        assert await region(2, 1, 0x2000, 0x3000) == ConfigurationError.NONE
        assert await range_(0, 1, 4, 7) == ConfigurationError.NONE
        assert await range_(0, 1, 4, 8, Action.OWN) == ConfigurationError.NONE  # replaced
        for enable in (0, 1):
            assert await range_(P.ranges, enable, 9, 9) == ConfigurationError.UNKNOWN_INDEX
            assert (
                await range_(1, enable, 9, 9, region=P.regions) == ConfigurationError.UNKNOWN_INDEX
            )
            assert (
                await range_(1, enable, 9, 9, command=P.commands)
                == ConfigurationError.UNKNOWN_INDEX
            )
            assert await range_(1, enable, 9, 9, region=0x80) == ConfigurationError.UNKNOWN_INDEX
            assert await range_(1, enable, 9, 9, command=0x80) == ConfigurationError.UNKNOWN_INDEX
        assert await range_(1, 1, 9, 8) == ConfigurationError.EMPTY
        assert await range_(1, 1, 9, 9, Action.NONE) == ConfigurationError.EMPTY
        assert await range_(1, 1, 9, 8, region=1) == ConfigurationError.EMPTY
        assert await range_(1, 1, 9, 9, region=1) == ConfigurationError.REGION_DISABLED
        for first, last in ((0, 4), (8, 31), (5, 6), (0, 31)):
            assert await range_(1, 1, first, last) == ConfigurationError.OVERLAP
        assert await range_(1, 1, 9, 31) == ConfigurationError.NONE
        assert await range_(2, 1, 0, 3, Action.REMOTE, command=2) == ConfigurationError.NONE
        assert await range_(3, 1, 0, 31, region=2) == ConfigurationError.NONE
        # A region in use may be replaced, but not removed.
        assert await region(2, 0, 0, 0) == ConfigurationError.REGION_IN_USE
        assert await region(2, 1, 0x2000, 0x4000) == ConfigurationError.NONE
        assert await range_(3, 0, 9, 8, Action.NONE) == ConfigurationError.NONE
        assert await region(2, 0, 0, 0) == ConfigurationError.NONE
        assert await region(0, 0, 0, 0) == ConfigurationError.REGION_IN_USE
        assert await region(1, 0, 0, 0) == ConfigurationError.NONE

    simulate(bench)


def test_command_configuration_errors():
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(driver):
        for offset in (0, ATOM, -ATOM, (1 << 63) + ATOM, 5 << P.address_bits):
            for index in range(P.commands):
                offset %= 1 << 64
                assert (
                    await driver.command(index, offset, **random_command(rng))
                    == ConfigurationError.NONE
                )
        for index, offset, configuration_error in (
            (P.commands, 1, ConfigurationError.UNKNOWN_INDEX),
            (255, 0, ConfigurationError.UNKNOWN_INDEX),
            (1, 1, ConfigurationError.MISALIGNED),
            (1, -1 % (1 << 64), ConfigurationError.MISALIGNED),
        ):
            assert await driver.command(index, offset, **random_command(rng)) == configuration_error
        for region in (P.regions, 255):
            command = random_command(rng) | {"region": region}
            assert await driver.command(1, 1, **command) == ConfigurationError.UNKNOWN_INDEX

    simulate(bench)


def test_copies():
    """Two copies wait; a third is refused until one is taken. They leave in order."""

    async def bench(driver):
        assert await driver.copy(0, 0) == ConfigurationError.REGION_DISABLED
        await driver.region(0, 1, 0, ATOM)
        assert await driver.copy(P.commands, 1) == ConfigurationError.UNKNOWN_INDEX
        assert await driver.copy(1, 8) == ConfigurationError.MISALIGNED
        assert await driver.copy(1, 0x40) == ConfigurationError.NONE
        assert await driver.copy(2, 0xFFFE0) == ConfigurationError.NONE
        assert await driver.copy(0, 8) == ConfigurationError.MISALIGNED
        assert await driver.copy(0, 0x80) == ConfigurationError.QUEUE_FULL
        await driver.take()
        assert await driver.copy(0, 0x80) == ConfigurationError.NONE
        for _ in range(2):
            await driver.take()
        assert not driver.ctx.get(driver.dut.context[0].copies.valid)

    simulate(bench)


def test_no_copy_begins_during_an_abort():
    async def bench(driver):
        ctx, dut, control = driver.ctx, driver.dut, MAP["CONTROL"]
        await driver.address("COPY_START", 3 * ATOM)
        ctx.set(dut.context[0].gone, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await driver.commit("COPY", ConfigurationError.REGION_DISABLED, command=1)
        # The tables may be written meanwhile.
        assert await driver.region(0, 1, 0, TOP) == ConfigurationError.NONE
        await driver.commit("COPY", ConfigurationError.IN_USE, command=1)
        await driver.commit("COPY", ConfigurationError.UNKNOWN_INDEX, command=P.commands)
        ctx.set(dut.context[0].gone, 1)
        await ctx.tick().repeat(3)
        assert await driver.copy(1, 3 * ATOM) == ConfigurationError.NONE
        await driver.take()

    simulate(bench)


def test_a_copy_begins_in_the_address_space():
    async def bench(driver):
        for start in (TOP + ATOM, 1 << 40 | 0x80, 1 << 63):
            assert await driver.copy(0, start) == ConfigurationError.OUT_OF_SPACE
        assert await driver.copy(0, TOP + ATOM + 1) == ConfigurationError.MISALIGNED
        await driver.region(0, 1, 0, ATOM)
        for start in (TOP + ATOM, 1 << 63):
            assert await driver.copy(0, start) == ConfigurationError.OUT_OF_SPACE
        assert await driver.copy(0, TOP) == ConfigurationError.NONE

    simulate(bench)


def test_a_copy_needs_its_commands_region():
    """The one that the command names, as it is when the copy is started."""
    rng = random.Random(9)

    async def bench(driver):
        await driver.region(0, 1, 0, ATOM)
        for index in range(P.commands):
            await driver.command(index, 0, **random_command(rng) | {"region": index})
        assert await driver.copy(0, 0) == ConfigurationError.NONE
        for index in (1, 2):
            assert await driver.copy(index, 0) == ConfigurationError.REGION_DISABLED
            await driver.region(index, 1, index * 0x1000, index * 0x1000 + ATOM)
        assert await driver.copy(2, 0) == ConfigurationError.NONE
        await driver.region(1, 0, 0, 0)
        assert await driver.copy(1, 0) == ConfigurationError.REGION_DISABLED
        assert await driver.copy(2, 0) == ConfigurationError.QUEUE_FULL

    simulate(bench)


def test_only_commits_touch_the_configuration_error():
    async def bench(driver):
        assert await driver.region(1, 1, 0, 0) == ConfigurationError.EMPTY
        status = MAP["STATUS"].address
        before = await read(driver.ctx, driver.dut, status)
        await driver.stage("SHIFT", dispatch_indices=1)
        await write(driver.ctx, driver.dut, status, 0)
        await write(driver.ctx, driver.dut, MAP["CONTROL"].address, 0xC)
        await write(driver.ctx, driver.dut, MAP["REGION_COMMIT"].address, 0x1, strobes=1)
        assert await read(driver.ctx, driver.dut, status) == before
        assert await driver.region(1, 1, 0, ATOM) == ConfigurationError.NONE

    simulate(bench)


def test_random():
    seed = 8
    print("seed", seed)
    rng = random.Random(seed)
    seen = {}

    async def step(driver):
        kind = rng.choices(("region", "range", "command", "copy", "take"), (4, 5, 1, 2, 1))[0]
        if kind == "region":
            base, limit = (rng.randrange(12) * (TOP // 10 // ATOM) * ATOM for _ in range(2))
            if rng.random() < 0.1:
                limit += rng.randrange(ATOM)
            index = rng.randrange(P.regions + 1)
            enable = int(rng.random() < 0.7)
            return kind, await driver.region(index, enable, base, limit)
        if kind == "range":
            return kind, await driver.range(
                rng.choice([*range(P.ranges), 200]),
                int(rng.random() < 0.6),
                *sorted(rng.choices(range(32), k=2), reverse=rng.random() < 0.1),
                rng.choice(list(Action)),
                rng.choice([*range(P.regions), 100]),
                rng.choice([*range(P.commands), 101]),
            )
        if kind == "command":
            offset = rng.getrandbits(64) & ~(ATOM - 1) | rng.choice([0, 0, 4])
            return kind, await driver.command(rng.randrange(4), offset, **random_command(rng))
        if kind == "copy":
            start = rng.getrandbits(rng.choice([64, 20, 20, 20, 20])) & ~(ATOM - 1)
            start |= rng.choice([0, 0, 0, 1])
            return kind, await driver.copy(rng.choice([0, 1, 2, 2, 3]), start)
        if driver.tables.copies:
            await driver.take()
        return kind, None

    async def bench(driver):
        for _ in range(500):
            kind, configuration_error = await step(driver)
            seen.setdefault(kind, set()).add(configuration_error)

    simulate(bench)
    assert seen["region"] == {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
        ConfigurationError.OUT_OF_SPACE,
        ConfigurationError.EMPTY,
        ConfigurationError.OVERLAP,
        ConfigurationError.REGION_IN_USE,
    }
    assert seen["range"] == {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.EMPTY,
        ConfigurationError.OVERLAP,
        ConfigurationError.REGION_DISABLED,
    }
    assert seen["command"] == {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
    }
    assert seen["copy"] == {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
        ConfigurationError.OUT_OF_SPACE,
        ConfigurationError.REGION_DISABLED,
        ConfigurationError.QUEUE_FULL,
    }


@pytest.mark.parametrize("count", [1, 2, 17])
def test_last_entry(count):
    """An index reaches the last entry, and no further, whatever the size of the tables."""
    p = T3Parameters(contexts=1, regions=count, ranges=count, commands=count)

    async def bench(driver):
        ctx, dut, last = driver.ctx, driver.dut, count - 1

        async def commit(name, index):
            register = MAP[name]
            enable = {"enable": 1} if name != "COMMAND_COMMIT" else {}
            word = register.pack(index=index, **enable)
            return Response(await write(ctx, dut, register.address, word))

        await driver.address("REGION_LIMIT", ATOM)
        await driver.stage("RANGE_DISPATCH_INDICES", first=3, last=5)
        await driver.stage("RANGE_ACTION", action=1, region=last, command=last)
        await driver.stage("COMMAND_STRIDE", stride=9)
        for name in ("REGION_COMMIT", "RANGE_COMMIT", "COMMAND_COMMIT"):
            assert await commit(name, count) == Response.SLVERR
            assert await commit(name, last) == Response.OKAY
        maps = ctx.get(dut.pages[0].table.maps)
        assert [entry.enable for entry in maps.regions] == [0] * last + [1]
        assert [entry.enable for entry in maps.ranges] == [0] * last + [1]
        assert [entry.stride for entry in maps.commands] == [0] * last + [9]
        assert (maps.ranges[last].region, maps.ranges[last].command) == (last, last)

    simulate(bench, p)
