"""What may be committed to the tables, programmed through the register port."""

import random
from dataclasses import dataclass, field

import pytest
from amaranth.sim import Simulator
from register_bus import read, start_write, write

from rtl.interface.configuration import CommandEntry
from rtl.interface.encodings import Action, Granularity, PacketKind, Refusal
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response

P = T3Parameters(address_bits=20, workgroup_bits=5, sets=16, windows=3, ranges=5, commands=3)
MAP = register_map.load()
ATOM = P.atom_bytes
TOP = (1 << P.address_bits) - ATOM  # the highest byte address that a window may name
SPACE = 1 << P.atom_address_bits


@dataclass
class Tables:
    """The tables in plain Python, by entry, with windows in bytes."""

    windows: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    copies: list = field(default_factory=list)

    def window(self, index, enable, base, limit, context):
        if index >= P.windows:
            return Refusal.UNKNOWN_INDEX
        if not enable:
            if any(entry["window"] == index for entry in self.ranges.values()):
                return Refusal.WINDOW_IN_USE
            self.windows.pop(index, None)
            return Refusal.NONE
        if base % ATOM or limit % ATOM:
            return Refusal.MISALIGNED
        if base > TOP or limit > TOP:
            return Refusal.OUT_OF_SPACE
        if limit <= base:
            return Refusal.EMPTY
        for number, (start, end, _) in self.windows.items():
            if number != index and max(start, base) < min(end, limit):
                return Refusal.OVERLAP
        self.windows[index] = (base, limit, context)
        return Refusal.NONE

    def range(self, index, enable, **entry):
        if index >= P.ranges or entry["window"] >= P.windows or entry["command"] >= P.commands:
            return Refusal.UNKNOWN_INDEX
        if not enable:
            self.ranges.pop(index, None)
            return Refusal.NONE
        if entry["last"] < entry["first"] or entry["action"] == Action.NONE:
            return Refusal.EMPTY
        if entry["window"] not in self.windows:
            return Refusal.WINDOW_DISABLED
        for number, other in self.ranges.items():
            if number != index and other["window"] == entry["window"]:
                if max(other["first"], entry["first"]) <= min(other["last"], entry["last"]):
                    return Refusal.OVERLAP
        self.ranges[index] = entry
        return Refusal.NONE

    def command(self, index, offset, **entry):
        if index >= P.commands:
            return Refusal.UNKNOWN_INDEX
        if offset % ATOM:
            return Refusal.MISALIGNED
        self.commands[index] = entry | {"atom_offset": offset // ATOM % SPACE}
        return Refusal.NONE

    def copy(self, command, start):
        if command >= P.commands:
            return Refusal.UNKNOWN_INDEX
        if start % ATOM:
            return Refusal.MISALIGNED
        if len(self.copies) == 2:
            return Refusal.QUEUE_FULL
        self.copies.append((command, start // ATOM % SPACE))
        return Refusal.NONE


def entries(ctx, dut):
    """What the hardware's tables hold; of a disabled entry nothing matters."""
    maps = ctx.get(dut.maps)
    windows = {
        index: (entry.base * ATOM, entry.limit * ATOM, entry.context)
        for index, entry in enumerate(maps.windows)
        if entry.enable
    }
    ranges = {
        index: {
            name: getattr(entry, name) for name in ("window", "first", "last", "action", "command")
        }
        for index, entry in enumerate(maps.ranges)
        if entry.enable
    }
    return windows, ranges, [entry.as_bits() for entry in maps.commands]


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
        before, queued = ctx.get(dut.maps), ctx.get(dut.copies.valid)
        start_write(ctx, dut, MAP[name].address, MAP[name].pack(**values))
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        assert ctx.get(dut.maps) == before and ctx.get(dut.copies.valid) == queued
        await ctx.tick()
        assert ctx.get(dut.bus.bvalid)
        response = Response.SLVERR if expected != Refusal.NONE else Response.OKAY
        assert ctx.get(dut.bus.bresp) == response.value, (expected, tables)
        commands = [CommandEntry(P).const(tables.commands.get(i, {})) for i in range(P.commands)]
        assert entries(ctx, dut) == (
            tables.windows,
            tables.ranges,
            [command.as_bits() for command in commands],
        )
        assert ctx.get(dut.copies.valid) == bool(tables.copies)
        after = ctx.get(dut.maps)
        assert after == before or expected == Refusal.NONE
        ctx.set(dut.bus.bready, 1)
        await ctx.tick()
        ctx.set(dut.bus.bready, 0)
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        assert Refusal(MAP["STATUS"].unpack(word)["refusal"]) == expected
        assert self.changes - changes == int(after != before)
        return expected

    async def window(self, index, enable, base, limit, context=1):
        await self.address("WINDOW_BASE", base)
        await self.address("WINDOW_LIMIT", limit)
        await self.stage("WINDOW_CONTEXT", context=context)
        expected = self.tables.window(index, enable, base, limit, context)
        return await self.commit("WINDOW_COMMIT", expected, index=index, enable=enable)

    async def range(self, index, enable, first, last, action=Action.DMA, window=0, command=0):
        await self.stage("RANGE_PLACES", first=first, last=last)
        await self.stage("RANGE_ACTION", window=window, action=action.value, command=command)
        expected = self.tables.range(
            index, enable, window=window, first=first, last=last, action=action, command=command
        )
        return await self.commit("RANGE_COMMIT", expected, index=index, enable=enable)

    async def command(self, index, offset, **entry):
        values = {
            name: value.value if hasattr(value, "value") else value for name, value in entry.items()
        }
        waves = {f"waves{i}": wave for i, wave in enumerate(values.pop("waves"))}
        for name in ("TRANSFER", "ROWS", "RUN", "PITCH", "WAVES"):
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
        assert ctx.get(dut.copies.valid)
        payload = ctx.get(dut.copies.p)
        assert (payload.command, payload.start) == self.tables.copies.pop(0)
        ctx.set(dut.copies.ready, 1)
        await ctx.tick()
        ctx.set(dut.copies.ready, 0)


def random_command(rng):
    return {
        "kind": rng.choice(list(PacketKind)),
        "op": rng.randrange(3),
        "dtype": rng.randrange(3),
        "context": rng.getrandbits(4),
        "granularity": rng.choice(list(Granularity)),
        "group_log2": rng.getrandbits(3),
        "rows": rng.getrandbits(16),
        "rows_edge": rng.getrandbits(16),
        "run": rng.getrandbits(16),
        "run_edge": rng.getrandbits(16),
        "pitch": rng.getrandbits(24),
        "wave_rows": rng.getrandbits(16),
        "wave_run_log2": rng.getrandbits(4),
        "waves_minor_log2": rng.getrandbits(2),
        "waves": [rng.getrandbits(4) for _ in range(4)],
    }


def simulate(bench, p=P):
    dut = Registers(p)
    drivers = []

    async def main(ctx):
        drivers.append(Driver(ctx, dut))
        await bench(drivers[0])

    async def monitor(ctx):
        last = ctx.get(dut.maps)
        async for _, _, maps in ctx.tick().sample(dut.maps):
            if maps != last:
                drivers[0].changes += 1
            last = maps

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(main)
    simulator.add_testbench(monitor, background=True)
    simulator.run()


def test_window_refusals():
    async def bench(driver):
        window = driver.window
        assert await window(0, 1, 0, TOP) == Refusal.NONE
        assert await window(0, 1, 0x1000, 0x2000) == Refusal.NONE  # replaced
        for index in (P.windows, 255):
            assert await window(index, 0, 0, 0) == Refusal.UNKNOWN_INDEX
            assert await window(index, 1, 1, 0) == Refusal.UNKNOWN_INDEX
        for offset in (1, 16, 31):
            assert await window(1, 1, 0x3000 + offset, 0x4000) == Refusal.MISALIGNED
            assert await window(1, 1, 0x3000, 0x4000 + offset) == Refusal.MISALIGNED
        assert await window(1, 1, 1 << 32 | 1, 0) == Refusal.MISALIGNED
        assert await window(1, 1, 0x3000, TOP + ATOM) == Refusal.OUT_OF_SPACE
        assert await window(1, 1, TOP + ATOM, 0x3000) == Refusal.OUT_OF_SPACE
        assert await window(1, 1, 0x3000, 1 << 63) == Refusal.OUT_OF_SPACE
        assert await window(1, 1, 1 << 32, 0x3000) == Refusal.OUT_OF_SPACE
        assert await window(1, 1, 0x3000, 0x3000) == Refusal.EMPTY
        assert await window(1, 1, 0x1800, 0x1000) == Refusal.EMPTY
        for base, limit in ((0, 0x1020), (0x1FE0, 0x3000), (0x1400, 0x1800), (0, TOP)):
            assert await window(1, 1, base, limit) == Refusal.OVERLAP
            assert await window(1, 1, base, limit, context=2) == Refusal.OVERLAP
        assert await window(1, 1, 0x2000, TOP) == Refusal.NONE
        assert await window(2, 1, 0, 0x1000) == Refusal.NONE
        # Removing looks at no address.
        assert await window(1, 0, 1, 0) == Refusal.NONE
        assert await window(1, 0, 0, 0) == Refusal.NONE

    simulate(bench)


def test_range_refusals():
    async def bench(driver):
        window, range_ = driver.window, driver.range
        assert await range_(0, 1, 0, 3) == Refusal.WINDOW_DISABLED
        assert await window(0, 1, 0x1000, 0x2000) == Refusal.NONE
        assert await window(2, 1, 0x2000, 0x3000) == Refusal.NONE
        assert await range_(0, 1, 4, 7) == Refusal.NONE
        assert await range_(0, 1, 4, 8, Action.OWN) == Refusal.NONE  # replaced
        for enable in (0, 1):
            assert await range_(P.ranges, enable, 9, 9) == Refusal.UNKNOWN_INDEX
            assert await range_(1, enable, 9, 9, window=P.windows) == Refusal.UNKNOWN_INDEX
            assert await range_(1, enable, 9, 9, command=P.commands) == Refusal.UNKNOWN_INDEX
            assert await range_(1, enable, 9, 9, window=0x80) == Refusal.UNKNOWN_INDEX
            assert await range_(1, enable, 9, 9, command=0x80) == Refusal.UNKNOWN_INDEX
        assert await range_(1, 1, 9, 8) == Refusal.EMPTY
        assert await range_(1, 1, 9, 9, Action.NONE) == Refusal.EMPTY
        assert await range_(1, 1, 9, 8, window=1) == Refusal.EMPTY
        assert await range_(1, 1, 9, 9, window=1) == Refusal.WINDOW_DISABLED
        for first, last in ((0, 4), (8, 31), (5, 6), (0, 31)):
            assert await range_(1, 1, first, last) == Refusal.OVERLAP
        assert await range_(1, 1, 9, 31) == Refusal.NONE
        assert await range_(2, 1, 0, 3, Action.REMOTE, command=2) == Refusal.NONE
        assert await range_(3, 1, 0, 31, window=2) == Refusal.NONE
        # A window in use may be replaced, but not removed.
        assert await window(2, 0, 0, 0) == Refusal.WINDOW_IN_USE
        assert await window(2, 1, 0x2000, 0x4000) == Refusal.NONE
        assert await range_(3, 0, 9, 8, Action.NONE) == Refusal.NONE
        assert await window(2, 0, 0, 0) == Refusal.NONE
        assert await window(0, 0, 0, 0) == Refusal.WINDOW_IN_USE
        assert await window(1, 0, 0, 0) == Refusal.NONE

    simulate(bench)


def test_command_refusals():
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)

    async def bench(driver):
        for offset in (0, ATOM, -ATOM, (1 << 63) + ATOM, 5 << P.address_bits):
            for index in range(P.commands):
                offset %= 1 << 64
                assert await driver.command(index, offset, **random_command(rng)) == Refusal.NONE
        for index, offset, refusal in (
            (P.commands, 1, Refusal.UNKNOWN_INDEX),
            (255, 0, Refusal.UNKNOWN_INDEX),
            (1, 1, Refusal.MISALIGNED),
            (1, -1 % (1 << 64), Refusal.MISALIGNED),
        ):
            assert await driver.command(index, offset, **random_command(rng)) == refusal

    simulate(bench)


def test_copies():
    """Two copies wait; a third is refused until one is taken. They leave in order."""

    async def bench(driver):
        assert await driver.copy(P.commands, 1) == Refusal.UNKNOWN_INDEX
        assert await driver.copy(1, 8) == Refusal.MISALIGNED
        assert await driver.copy(1, 0x40) == Refusal.NONE
        assert await driver.copy(2, 0xFFFE0) == Refusal.NONE
        assert await driver.copy(0, 8) == Refusal.MISALIGNED
        assert await driver.copy(0, 0x80) == Refusal.QUEUE_FULL
        await driver.take()
        assert await driver.copy(0, 1 << 40 | 0x80) == Refusal.NONE
        for _ in range(2):
            await driver.take()
        assert not driver.ctx.get(driver.dut.copies.valid)

    simulate(bench)


def test_only_commits_touch_the_refusal():
    async def bench(driver):
        assert await driver.window(1, 1, 0, 0) == Refusal.EMPTY
        status = MAP["STATUS"].address
        before = await read(driver.ctx, driver.dut, status)
        await driver.stage("SHIFT", places=1)
        await write(driver.ctx, driver.dut, status, 0)
        await write(driver.ctx, driver.dut, MAP["CONTROL"].address, 0xF)
        await write(driver.ctx, driver.dut, MAP["WINDOW_COMMIT"].address, 0x1, strobes=1)
        assert await read(driver.ctx, driver.dut, status) == before
        assert await driver.copy(0, 0) == Refusal.NONE

    simulate(bench)


def test_random():
    seed = 8
    print("seed", seed)
    rng = random.Random(seed)
    seen = {}

    async def step(driver):
        kind = rng.choices(("window", "range", "command", "copy", "take"), (4, 5, 1, 2, 1))[0]
        if kind == "window":
            base, limit = (rng.randrange(12) * (TOP // 10 // ATOM) * ATOM for _ in range(2))
            if rng.random() < 0.1:
                limit += rng.randrange(ATOM)
            index = rng.randrange(P.windows + 1)
            enable = int(rng.random() < 0.7)
            return kind, await driver.window(index, enable, base, limit, rng.randrange(4))
        if kind == "range":
            return kind, await driver.range(
                rng.choice([*range(P.ranges), 200]),
                int(rng.random() < 0.6),
                *sorted(rng.choices(range(32), k=2), reverse=rng.random() < 0.1),
                rng.choice(list(Action)),
                rng.choice([*range(P.windows), 100]),
                rng.choice([*range(P.commands), 101]),
            )
        if kind == "command":
            offset = rng.getrandbits(64) & ~(ATOM - 1) | rng.choice([0, 0, 4])
            return kind, await driver.command(rng.randrange(4), offset, **random_command(rng))
        if kind == "copy":
            start = rng.getrandbits(64) & ~(ATOM - 1) | rng.choice([0, 0, 0, 1])
            return kind, await driver.copy(rng.choice([0, 1, 2, 2, 3]), start)
        if driver.tables.copies:
            await driver.take()
        return kind, None

    async def bench(driver):
        for _ in range(300):
            kind, refusal = await step(driver)
            seen.setdefault(kind, set()).add(refusal)

    simulate(bench)
    assert seen["window"] == {
        Refusal.NONE,
        Refusal.UNKNOWN_INDEX,
        Refusal.MISALIGNED,
        Refusal.OUT_OF_SPACE,
        Refusal.EMPTY,
        Refusal.OVERLAP,
        Refusal.WINDOW_IN_USE,
    }
    assert seen["range"] == {
        Refusal.NONE,
        Refusal.UNKNOWN_INDEX,
        Refusal.EMPTY,
        Refusal.OVERLAP,
        Refusal.WINDOW_DISABLED,
    }
    assert seen["command"] == {Refusal.NONE, Refusal.UNKNOWN_INDEX, Refusal.MISALIGNED}
    assert seen["copy"] == {
        Refusal.NONE,
        Refusal.UNKNOWN_INDEX,
        Refusal.MISALIGNED,
        Refusal.QUEUE_FULL,
    }


@pytest.mark.parametrize("count", [1, 2, 17])
def test_last_entry(count):
    """An index reaches the last entry, and no further, whatever the size of the tables."""
    p = T3Parameters(windows=count, ranges=count, commands=count)

    async def bench(driver):
        ctx, dut, last = driver.ctx, driver.dut, count - 1

        async def commit(name, index):
            register = MAP[name]
            enable = {"enable": 1} if name != "COMMAND_COMMIT" else {}
            word = register.pack(index=index, **enable)
            return Response(await write(ctx, dut, register.address, word))

        await driver.address("WINDOW_LIMIT", ATOM)
        await driver.stage("RANGE_PLACES", first=3, last=5)
        await driver.stage("RANGE_ACTION", action=1, window=last, command=last)
        await driver.stage("COMMAND_PITCH", pitch=9)
        for name in ("WINDOW_COMMIT", "RANGE_COMMIT", "COMMAND_COMMIT"):
            assert await commit(name, count) == Response.SLVERR
            assert await commit(name, last) == Response.OKAY
        maps = ctx.get(dut.maps)
        assert [entry.enable for entry in maps.windows] == [0] * last + [1]
        assert [entry.enable for entry in maps.ranges] == [0] * last + [1]
        assert [entry.pitch for entry in maps.commands] == [0] * last + [9]
        assert (maps.ranges[last].window, maps.ranges[last].command) == (last, last)

    simulate(bench, p)
