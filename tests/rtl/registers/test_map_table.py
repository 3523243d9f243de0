"""Accepted and refused commits to the tables, through the register port."""

import random

import pytest

from rtl.interface.encodings import Action, ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT
from tests.support.map_table_bench import ATOM, MAP, SENDS, TOP, P, random_command, simulate
from tests.support.register_bus import outcome, refusal, write


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
        assert await region(1, 1, 0x3000, TOP + ATOM) == ConfigurationError.ADDRESS_OUT_OF_RANGE
        assert await region(1, 1, TOP + ATOM, 0x3000) == ConfigurationError.ADDRESS_OUT_OF_RANGE
        assert await region(1, 1, 0x3000, 1 << 63) == ConfigurationError.ADDRESS_OUT_OF_RANGE
        assert await region(1, 1, 1 << 32, 0x3000) == ConfigurationError.ADDRESS_OUT_OF_RANGE
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
        for action in (Action.REMOTE, Action.DMA):
            assert await range_(1, 1, 9, 9, action, peers=0) == ConfigurationError.EMPTY
            assert await range_(1, 1, 8, 9, action, peers=0) == ConfigurationError.EMPTY
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


def test_receivers_of_a_range():
    """A range names peers of its context, which need not be enabled before the launch."""

    async def bench(driver):
        range_, unknown = driver.range, ConfigurationError.UNKNOWN_INDEX
        await driver.region(0, 1, 0x1000, 0x2000)
        for action in (Action.REMOTE, Action.DMA, Action.OWN):
            for index in range(P.peers, 8):
                for enable in (0, 1):
                    assert await range_(0, enable, 4, 7, action, peers=1 << index) == unknown
            for peers in (*(1 << index for index in range(P.peers)), (1 << P.peers) - 1):
                offset = 5 - peers if peers < 5 else (1 << P.credit_limit_bits) - peers
                found = await range_(0, 1, 4, 7, action, peers=peers, slot_offset=offset)
                assert found == ConfigurationError.NONE
        # Tiles that stay need no receiver.
        assert await range_(1, 1, 8, 9, Action.OWN, peers=0) == ConfigurationError.NONE
        assert await range_(1, 0, 8, 9, Action.DMA, peers=0) == ConfigurationError.NONE

    simulate(bench)


def test_peer_configuration_errors():
    """A peer changes only while the context is idle, since packets to it may wait."""

    async def bench(driver):
        ok, unknown = ConfigurationError.NONE, ConfigurationError.UNKNOWN_INDEX
        for index in (P.peers, 7, 8, 0x80, 255):
            for in_use in (False, True):
                assert await driver.peer(index, in_use=in_use) == unknown
        for index in range(P.peers):
            entry = {"gpu": 127 - index, "rank": 64 + index, "space": index + 3, **SENDS}
            for enable in (1, 0):
                found = await driver.peer(index, enable, in_use=True, **entry)
                assert found == ConfigurationError.IN_USE
            assert await driver.peer(index, **entry) == ok
        assert await driver.peer(2, takes_stores=1) == ok  # replaced
        assert await driver.peer(2, 0) == ok
        assert await driver.peer(4, 0, takes_updates=1) == ok

    simulate(bench)


def test_a_copy_needs_its_peers():
    """Each peer of a copy must take packets of the kind of its command."""

    async def bench(driver):
        rng, error = random.Random(10), ConfigurationError
        await driver.region(0, 1, 0, ATOM)
        for kind in (0, 1):
            await driver.command(kind, 0, **random_command(rng) | {"region": 0, "kind": kind})
        assert await driver.copy(0, 0, 0) == error.EMPTY
        assert await driver.copy(0, TOP + ATOM, 0) == error.ADDRESS_OUT_OF_RANGE
        assert await driver.copy(0, 0, 2) == error.NO_PEER
        for peers in (*(1 << index for index in range(P.peers, 8)), 0xFF):
            assert await driver.copy(0, 8, peers) == error.UNKNOWN_INDEX
        others = {"gpu": 5, "takes_stores": 1, "takes_updates": 1}
        await driver.peer(1, sends_stores=1, **others)
        await driver.peer(3, sends_updates=1, **others)
        await driver.peer(4, **SENDS)
        await driver.peer(2, 0, **SENDS)
        takers = {0: (0b00010, 0b10000, 0b10010), 1: (0b01000, 0b10000, 0b11000)}
        for kind, takes in takers.items():
            for peers in range(1, 1 << P.peers):
                expected = error.NONE if peers in takes else error.NO_PEER
                assert await driver.copy(kind, 0, peers) == expected
                if expected == error.NONE:
                    await driver.take()

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
        await driver.peer(0, **SENDS)
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
        await driver.peer(0, **SENDS)
        await driver.address("COPY_START", 3 * ATOM)
        ctx.set(dut.context[0].drained, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await driver.commit("COPY", ConfigurationError.REGION_DISABLED, command=1, peers=1)
        # The tables may be written meanwhile.
        assert await driver.region(0, 1, 0, TOP) == ConfigurationError.NONE
        await driver.commit("COPY", ConfigurationError.IN_USE, command=1, peers=1)
        await driver.commit("COPY", ConfigurationError.NO_PEER, command=1, peers=3)
        await driver.commit("COPY", ConfigurationError.UNKNOWN_INDEX, command=P.commands, peers=1)
        ctx.set(dut.context[0].drained, 1)
        await ctx.tick().repeat(3)
        assert await driver.copy(1, 3 * ATOM) == ConfigurationError.NONE
        await driver.take()

    simulate(bench)


def test_a_copy_begins_in_the_address_space():
    async def bench(driver):
        await driver.peer(0, **SENDS)
        for start in (TOP + ATOM, 1 << 40 | 0x80, 1 << 63):
            assert await driver.copy(0, start) == ConfigurationError.ADDRESS_OUT_OF_RANGE
        assert await driver.copy(0, TOP + ATOM + 1) == ConfigurationError.MISALIGNED
        await driver.region(0, 1, 0, ATOM)
        for start in (TOP + ATOM, 1 << 63):
            assert await driver.copy(0, start) == ConfigurationError.ADDRESS_OUT_OF_RANGE
        assert await driver.copy(0, TOP) == ConfigurationError.NONE

    simulate(bench)


def test_a_copy_needs_its_commands_region():
    """The region is the one that the command names when the copy is started."""
    rng = random.Random(9)

    async def bench(driver):
        await driver.peer(0, **SENDS)
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


def test_what_touches_the_configuration_error():
    """A write that cannot be refused keeps the result of the one before; an interrupt handler
    makes such writes."""

    async def bench(driver):
        ctx, dut = driver.ctx, driver.dut
        assert await driver.region(1, 1, 0, 0) == ConfigurationError.EMPTY
        await driver.stage("RANGE_ACTION", action=1)
        for name in ("CONTROL", "INTERRUPTS", "INTERRUPT_ENABLE"):
            word = MAP["CONTROL"].pack(clear_error=1, measure=1) if name == "CONTROL" else 1
            await write(ctx, dut, MAP[name].address, word)
            assert await refusal(ctx, dut, CONTEXT) == ConfigurationError.EMPTY
        await driver.stage("TO_SEND", count=1)
        assert await refusal(ctx, dut, CONTEXT) == ConfigurationError.NONE
        status = await outcome(ctx, dut, MAP["STATUS"].address, 0)
        assert status == ConfigurationError.NOT_WRITABLE
        assert await driver.region(1, 1, 0, ATOM) == ConfigurationError.NONE
        partial = await outcome(ctx, dut, MAP["REGION_COMMIT"].address, 0x1, strobes=1)
        assert partial == ConfigurationError.NOT_WRITABLE

    simulate(bench)


# Results of commits and copies that random tables bring about.
RESULTS = {
    "region": {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
        ConfigurationError.ADDRESS_OUT_OF_RANGE,
        ConfigurationError.EMPTY,
        ConfigurationError.OVERLAP,
        ConfigurationError.REGION_IN_USE,
        ConfigurationError.IN_USE,  # a copy may read the region
    },
    "range": {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.EMPTY,
        ConfigurationError.OVERLAP,
        ConfigurationError.REGION_DISABLED,
    },
    "command": {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
    },
    "peer": {
        ConfigurationError.NONE,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.IN_USE,
    },
    "copy": {
        ConfigurationError.NONE,
        ConfigurationError.EMPTY,
        ConfigurationError.NO_PEER,
        ConfigurationError.UNKNOWN_INDEX,
        ConfigurationError.MISALIGNED,
        ConfigurationError.ADDRESS_OUT_OF_RANGE,
        ConfigurationError.REGION_DISABLED,
        ConfigurationError.QUEUE_FULL,
    },
}


def test_random():
    seed = 8
    print("seed", seed)
    rng = random.Random(seed)
    seen = {}

    async def step(driver):
        kinds = {"region": 4, "range": 5, "command": 1, "peer": 1, "copy": 3, "take": 1}
        kind = rng.choices([*kinds], kinds.values())[0]
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
                peers=rng.choice([rng.randrange(1 << P.peers)] * 9 + [rng.getrandbits(8)]),
                slot_offset=rng.getrandbits(P.credit_limit_bits),
            )
        if kind == "peer":
            index = rng.choice([0, 0, *range(P.peers), P.peers])
            fields = {name: rng.random() < 0.8 for name in ("sends_stores", "sends_updates")}
            fields |= {"gpu": rng.getrandbits(7), "rank": rng.getrandbits(7)}
            enable, in_use = rng.random() < 0.8, rng.random() < 0.2
            return kind, await driver.peer(index, int(enable), in_use=in_use, **fields)
        if kind == "command":
            offset = rng.getrandbits(64) & ~(ATOM - 1) | rng.choice([0, 0, 4])
            return kind, await driver.command(rng.randrange(4), offset, **random_command(rng))
        if kind == "copy":
            start = rng.getrandbits(rng.choice([64, 20, 20, 20, 20])) & ~(ATOM - 1)
            start |= rng.choice([0, 0, 0, 1])
            peers = rng.choice([1, 1, 1, 3, 0, rng.getrandbits(P.peers), rng.getrandbits(8)])
            return kind, await driver.copy(rng.choice([0, 1, 2, 2, 3]), start, peers)
        if driver.tables.copies:
            await driver.take()
        return kind, None

    async def bench(driver):
        for _ in range(700):
            kind, configuration_error = await step(driver)
            seen.setdefault(kind, set()).add(configuration_error)

    simulate(bench)
    assert {kind: seen[kind] for kind in RESULTS} == RESULTS


@pytest.mark.parametrize("count", [1, 2, pytest.param(5, marks=pytest.mark.verify)])
def test_last_entry(count):
    """An index reaches the last entry, and no further, whatever the size of the tables."""
    p = T3Parameters(contexts=1, regions=count, ranges=count, commands=count, peers=count)

    async def bench(driver):
        ctx, dut, last = driver.ctx, driver.dut, count - 1

        async def commit(name, index):
            register = MAP[name]
            enable = {"enable": 1} if name != "COMMAND_COMMIT" else {}
            word = register.pack(index=index, **enable)
            return await outcome(ctx, dut, register.address, word)

        await driver.address("REGION_LIMIT", ATOM)
        await driver.stage("RANGE_DISPATCH_INDICES", first=3, last=5)
        await driver.stage("RANGE_ACTION", action=1, region=last, command=last)
        await driver.stage("RANGE_PEERS", peers=1 << last)
        await driver.stage("PEER", gpu=9)
        ctx.set(dut.context[0].idle, 1)
        await driver.stage("COMMAND_STRIDE", stride=9)
        for name in ("REGION_COMMIT", "RANGE_COMMIT", "COMMAND_COMMIT", "PEER_COMMIT"):
            assert await commit(name, count) == ConfigurationError.UNKNOWN_INDEX
            assert await commit(name, last) == ConfigurationError.NONE
        maps = ctx.get(dut.pages[0].table.maps)
        assert [entry.enable for entry in maps.regions] == [0] * last + [1]
        assert [entry.enable for entry in maps.ranges] == [0] * last + [1]
        assert [entry.stride for entry in maps.commands] == [0] * last + [9]
        assert (maps.ranges[last].region, maps.ranges[last].command) == (last, last)
        peers = ctx.get(dut.pages[0].table.peers)
        found = [(peers[index].enable, peers[index].gpu) for index in range(count)]
        assert found == [(0, 0)] * last + [(1, 9)]

    simulate(bench, p)
