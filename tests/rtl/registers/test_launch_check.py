"""Check of a launch: ranges, windows, ways and generations."""

from dataclasses import replace

import pytest

from rtl.interface.encodings import Action, ConfigurationError, Granularity, PacketKind
from rtl.registers.port import Registers
from tests.support.launch_bench import MAP, TO_PEER, P, launch_error, write_launch
from tests.support.register_bus import read, start_write, write
from tests.support.simulation import device, simulate

_RANGE, _WINDOW = ConfigurationError.LAUNCH_RANGE, ConfigurationError.WINDOW


@pytest.mark.parametrize(
    "registers, error",
    [
        ({}, ConfigurationError.NONE),
        ({"TRACKED_FIRST": {"dispatch_index": 9}}, ConfigurationError.NONE),
        ({"CREDIT_WINDOW": {"workgroups": P.credit_window}}, ConfigurationError.NONE),
        ({"COMMAND_WINDOW": {"workgroups": P.command_depth}}, ConfigurationError.NONE),
        ({"WORKGROUPS": {"count": 1 << 16}}, ConfigurationError.NONE),
        (
            {
                "WORKGROUPS": {"count": 1 << 16},
                "TRACKED_FIRST": {"dispatch_index": 0xFFFF},
                "TRACKED_END": {"dispatch_index": 1 << 16},
            },
            ConfigurationError.NONE,
        ),
        # A launch without a kernel admits copies.
        (
            {"WORKGROUPS": {"count": 0}, "TRACKED_END": {"dispatch_index": 0}},
            ConfigurationError.NONE,
        ),
        # Slots may be tracked that are no dispatch index of the kernel.
        ({"WORKGROUPS": {"count": 0}}, ConfigurationError.NONE),
        ({"TRACKED_END": {"dispatch_index": 10}}, ConfigurationError.NONE),
        ({"TRACKED_END": {"dispatch_index": 1 << 16}}, ConfigurationError.NONE),
        (
            {"TRACKED_FIRST": {"dispatch_index": 40}, "TRACKED_END": {"dispatch_index": 50}},
            ConfigurationError.NONE,
        ),
        ({"WORKGROUPS": {"count": (1 << 16) + 1}}, _RANGE),
        ({"TRACKED_FIRST": {"dispatch_index": 10}}, _RANGE),
        # Values with more bits than the workgroups.
        ({"WORKGROUPS": {"count": (1 << 17) - 1}}, _RANGE),
        ({"TRACKED_FIRST": {"dispatch_index": 1 << 16}}, _RANGE),
        ({"TRACKED_END": {"dispatch_index": (1 << 16) + 1}}, _RANGE),
        ({"TRACKED_END": {"dispatch_index": (1 << 17) - 1}}, _RANGE),
        # Beyond the bitmap, where dispatch indices share a bit.
        ({"CREDIT_WINDOW": {"workgroups": P.credit_window + 1}}, _WINDOW),
        ({"CREDIT_WINDOW": {"workgroups": 1 << 16}}, _WINDOW),
        ({"CREDIT_WINDOW": {"workgroups": (1 << 17) - 1}}, _WINDOW),
        ({"COMMAND_WINDOW": {"workgroups": 1 << 16}}, _WINDOW),
        ({"CREDIT_WINDOW": {"workgroups": 0}}, _WINDOW),
        ({"COMMAND_WINDOW": {"workgroups": P.command_depth + 1}}, _WINDOW),
        ({"COMMAND_WINDOW": {"workgroups": 0}}, _WINDOW),
    ],
    ids=str,
)
def test_launch_is_checked(registers, error):
    dut = device(Registers, P)

    async def bench(ctx):
        strobes = []
        await write_launch(ctx, dut, **registers)
        start_write(ctx, dut, MAP["CONTROL"].address, MAP["CONTROL"].pack(launch=1, measure=1))
        for cycle in range(6):
            strobes.append((ctx.get(dut.context[0].launch), ctx.get(dut.context[0].start)))
            await ctx.tick()
            if cycle == 0:
                ctx.set(dut.bus.awvalid, 0)
                ctx.set(dut.bus.wvalid, 0)
        # The launch is pending for a cycle.
        accepted = [(0, 0), (0, 0), (0, 1), (1, 0), (0, 0), (0, 0)]
        assert strobes == (accepted if error == ConfigurationError.NONE else [(0, 0)] * 6)
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        assert MAP["STATUS"].unpack(word)["configuration_error"] == error.value

    simulate(dut, bench)


@pytest.mark.parametrize(
    "granularity, group_log2, waves, action, most",
    [
        # By wavefront, a workgroup has as many commands as wavefronts that write at all.
        (
            Granularity.WAVEFRONT,
            0,
            (4, 7, 1, 0),
            Action.DMA,
            (P.credit_window, P.command_depth // 7),
        ),
        (Granularity.WAVEFRONT, 3, (0, 0, 1, 0), Action.DMA, (P.credit_window, P.command_depth)),
        (Granularity.WORKGROUP, 0, (4, 7, 1, 0), Action.DMA, (P.credit_window, P.command_depth)),
        # A group's first workgroup waits for its last one.
        (
            Granularity.WORKGROUP,
            3,
            (4, 4, 4, 4),
            Action.DMA,
            (P.credit_window - 7, P.command_depth),
        ),
        (
            Granularity.WORKGROUP,
            7,
            (1, 1, 1, 1),
            Action.DMA,
            (P.credit_window - 127, P.command_depth),
        ),
        (Granularity.WAVEFRONT, 0, (8, 8, 8, 8), Action.OWN, (P.credit_window, P.command_depth)),
        (
            Granularity.WAVEFRONT,
            0,
            (1, 1, 1, 8),
            Action.DMA,
            (P.credit_window, P.command_depth // 8),
        ),
    ],
)
def test_windows_that_fit(granularity, group_log2, waves, action, most):
    # Enough ways for the largest windows.
    dut = device(Registers, replace(P, ways=30))
    writes = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_TRANSFER": {"granularity": granularity.value, "group_log2": group_log2},
        "COMMAND_WAVES": {f"waves{edge}": count for edge, count in enumerate(waves)},
        "COMMAND_COMMIT": {"index": 2},
        "RANGE_DISPATCH_INDICES": {"first": 3, "last": 5},
        "RANGE_ACTION": {"action": action.value, "command": 2, "shares": action != Action.REMOTE},
        **TO_PEER,
        "RANGE_COMMIT": {"index": 1, "enable": 1},
    }

    async def bench(ctx):
        await write_launch(ctx, dut, **writes)
        for window, command in ((1, 1), (1, 0), (0, 1), (0, 0)):
            await write_launch(
                ctx,
                dut,
                CREDIT_WINDOW={"workgroups": most[0] + window},
                COMMAND_WINDOW={"workgroups": most[1] + command},
            )
            expected = _WINDOW if window or command else ConfigurationError.NONE
            assert await launch_error(ctx, dut) == expected
        # Sums and products that have more bits than the registers.
        for name in ("CREDIT_WINDOW", "COMMAND_WINDOW"):
            for workgroups in (1 << 14, 1 << 15, 1 << 16, (1 << 17) - 1):
                await write_launch(ctx, dut, **{name: {"workgroups": workgroups}})
                assert await launch_error(ctx, dut) == _WINDOW

    simulate(dut, bench)


@pytest.mark.parametrize(
    "waves, action, shares, ways, credit_window",
    [
        ((3, 1, 2, 0), Action.DMA, 1, 0b1111_1111, 16),
        ((1, 1, 3, 1), Action.OWN, 1, 0b0111_0110, 8),
        ((0, 0, 0, 3), Action.DMA, 1, 0b0010_1001, 8),
        ((3, 3, 3, 3), Action.OWN, 1, 0b0000_0011, 0),
        # Stores that leave are not tracked, unless others arrive in the slots.
        ((3, 3, 3, 3), Action.REMOTE, 1, 0b0000_0011, 0),
        ((1, 1, 3, 1), Action.REMOTE, 2, 0b0111_0110, 8),
        ((3, 3, 3, 3), Action.REMOTE, 0, 0b0000_0010, 8),
        ((15, 15, 15, 15), Action.REMOTE, 0, 0, 0),
        ((4, 3, 2, 1), Action.DMA, 1, 0b1111_0000, 8),
        ((4, 3, 2, 1), Action.DMA, 1, 0b1110_0000, 0),
        # As many as the bitmap has, although the ways hold more.
        ((1, 1, 1, 1), Action.DMA, 1, 0b1111_1111, 32),
    ],
)
def test_ways_hold_the_credit_window(waves, action, shares, ways, credit_window):
    """The capacity in workgroups is the number of sets times the workgroups that a set's ways
    hold."""
    p = replace(P, sets=8, banks=2, credit_window=32, command_depth=32)
    dut = device(Registers, p)
    registers = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_TRANSFER": {"granularity": Granularity.WORKGROUP.value},
        "COMMAND_WAVES": {f"waves{edge}": count for edge, count in enumerate(waves)},
        "COMMAND_COMMIT": {"index": 2},
        "RANGE_DISPATCH_INDICES": {"first": 3, "last": 5},
        "RANGE_ACTION": {"action": action.value, "command": 2, "shares": shares},
        **TO_PEER,
        "RANGE_COMMIT": {"index": 1, "enable": 1},
        "WAYS": {"mask": ways},
    }

    async def bench(ctx):
        for window in range(credit_window + 1, 34):
            registers["CREDIT_WINDOW"] = {"workgroups": window}
            await write_launch(ctx, dut, **registers)
            assert await launch_error(ctx, dut) == _WINDOW, window
        for window in range(credit_window, 0, -1):
            registers["CREDIT_WINDOW"] = {"workgroups": window}
            await write_launch(ctx, dut, **registers)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE, window
            ctx.set(dut.context[0].done, 1)
            await ctx.tick().repeat(2)

    simulate(dut, bench)


@pytest.mark.parametrize("contexts, ways", [(1, 8), (2, 8), (2, 5), (3, 8), (3, 2)])
def test_contexts_divide_the_ways(contexts, ways):
    """After a reset no way belongs to two contexts, and each way to one."""
    dut = device(Registers, replace(P, contexts=contexts, ways=ways))

    async def bench(ctx):
        masks = []
        for context in range(contexts):
            word, _ = await read(ctx, dut, MAP["WAYS"].address_in(context))
            assert word == ctx.get(dut.context[context].ways)
            masks.append(word)
        assert sum(masks) == (1 << ways) - 1
        counts = [mask.bit_count() for mask in masks]
        assert sum(counts) == ways and max(counts) - min(counts) <= 1

    simulate(dut, bench)


_NO_PEER = ConfigurationError.NO_PEER


@pytest.mark.parametrize("kind", [PacketKind.STORE, PacketKind.UPDATE])
@pytest.mark.parametrize("action", [Action.REMOTE, Action.DMA, Action.OWN])
def test_a_launch_needs_the_peers_of_its_ranges(action, kind):
    """Each peer of an enabled range that sends is enabled, and takes packets of the kind of the
    range's command; the other kinds, and those that the context takes of the peer, do not matter.
    """
    dut = device(Registers, P)
    allows = ["sends_stores", "sends_updates"]
    takes, others = allows[kind.value], [allows[1 - kind.value], "takes_stores", "takes_updates"]
    ranges = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_TRANSFER": {"kind": kind.value},
        "COMMAND_WAVES": {"waves0": 1},
        "COMMAND_COMMIT": {"index": 2},
        "RANGE_DISPATCH_INDICES": {"first": 3, "last": 5},
        "RANGE_ACTION": {"action": action.value, "command": 2, "shares": 1},
    }

    async def bench(ctx):
        async def error(peers, *tables):
            for index, enable, *allowed in tables:
                entry = dict.fromkeys(allowed, 1)
                table = {"PEER": entry, "PEER_COMMIT": {"index": index, "enable": enable}}
                await write_launch(ctx, dut, **table)
            receivers = {"RANGE_PEERS": {"peers": peers}}
            await write_launch(ctx, dut, **ranges, **receivers, RANGE_COMMIT=range_commit)
            found = await launch_error(ctx, dut)
            for done in (1, 0):
                await ctx.tick().repeat(3)
                ctx.set(dut.context[0].done, done)
            await ctx.tick().repeat(3)
            return found

        for number in (0, P.ranges - 1):
            range_commit = {"index": number, "enable": 1}
            sends = _NO_PEER if action != Action.OWN else ConfigurationError.NONE
            last = P.peers - 1
            none = [(index, 0, *allows) for index in range(P.peers)]
            assert await error(1 << last, *none) == sends
            assert await error(1 << last, (last, 1, *others), (0, 1, *allows)) == sends
            assert await error(1 << last, (last, 1, takes)) == ConfigurationError.NONE
            assert await error(1 << last | 2, (1, 0, *allows)) == sends
            assert await error(1 << last | 2, (1, 1, *others)) == sends
            assert await error(1 << last | 2, (1, 1, takes)) == ConfigurationError.NONE
            await error(1 << last | 2, *none)
            disabled = {"index": number, "enable": 0}
            await write_launch(ctx, dut, RANGE_COMMIT=disabled)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            ctx.set(dut.context[0].done, 1)
            await ctx.tick().repeat(3)
            ctx.set(dut.context[0].done, 0)

    simulate(dut, bench)


@pytest.mark.parametrize(
    "registers, error",
    [
        ({"TRACKED_FIRST": {"dispatch_index": 10}}, _RANGE),
        ({"COMMAND_WAVES": {}, "COMMAND_COMMIT": {"index": 0}}, ConfigurationError.EMPTY),
        ({"CREDIT_WINDOW": {"workgroups": 0}}, _NO_PEER),
    ],
    ids=str,
)
def test_priority_of_a_missing_peer(registers, error):
    dut = device(Registers, P)
    tables = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_WAVES": {"waves0": 1},
        "COMMAND_COMMIT": {"index": 0},
        "RANGE_ACTION": {"action": Action.DMA.value, "shares": 1},
        "RANGE_PEERS": {"peers": 1},
        "RANGE_COMMIT": {"index": 0, "enable": 1},
    }

    async def bench(ctx):
        await write_launch(ctx, dut, **tables)
        await write_launch(ctx, dut, **registers)
        assert await launch_error(ctx, dut) == error

    simulate(dut, bench)


_GENERATION = ConfigurationError.GENERATION


async def try_generation(ctx, dut, generation):
    """Return whether a launch of this generation is accepted; if so, it is done."""
    await write_launch(ctx, dut, TRACKING={"generation": generation})
    error = await launch_error(ctx, dut)
    assert error in (ConfigurationError.NONE, _GENERATION)
    for done in (1, 0) if error == ConfigurationError.NONE else ():
        await ctx.tick().repeat(3)
        ctx.set(dut.context[0].done, done)
    await ctx.tick().repeat(3)
    return error == ConfigurationError.NONE


@pytest.mark.parametrize("aborts", [False, True])
def test_a_generation_follows_the_one_before(aborts):
    """A launch is 1 to 7 generations behind the launch before, whether that one was done or
    aborted, since something may still carry the old generation."""
    dut, control = device(Registers, P), MAP["CONTROL"]

    async def bench(ctx):
        for peer in range(P.peers):
            ctx.set(dut.context[0].peer_launches[peer].generation, 11)  # without a launch there
        before = 12
        assert await try_generation(ctx, dut, before)
        for step in (1, 7, 2, 6, 3, 5, 4):
            for wrong in (0, *range(8, 16)):
                assert not await try_generation(ctx, dut, (before + wrong) % 16), wrong
            before = (before + step) % 16
            assert await try_generation(ctx, dut, before)
            if aborts:
                await write(ctx, dut, control.address, control.pack(abort=1))
                await ctx.tick().repeat(4)

    simulate(dut, bench)


@pytest.mark.parametrize("peer, hung", [(0, 0), (3, 3), (P.peers - 1, 15)])
def test_a_launch_is_not_far_ahead_of_a_peer(peer, hung):
    """A peer hangs. Its generation would be taken for that of a later launch from nine launches
    behind it on; no launch is that far ahead, whatever the steps are, and whatever the generations
    of peers that admit nothing are."""
    dut = device(Registers, P)

    async def bench(ctx):
        others = [one for one in range(P.peers) if one != peer]
        for one in others:
            ctx.set(dut.context[0].peer_launches[one].generation, (hung + 3 * one) % 16)
        hanging = dut.context[0].peer_launches[peer]
        ctx.set(hanging.generation, hung)
        ctx.set(hanging.admits, 1)
        ahead = 0
        assert await try_generation(ctx, dut, hung)
        for step in (3, 1, 2, 1):
            for beyond in range(8 - ahead, 8):
                assert not await try_generation(ctx, dut, (hung + ahead + beyond) % 16)
            ahead += step
            assert await try_generation(ctx, dut, (hung + ahead) % 16)
        for step in range(16):
            assert not await try_generation(ctx, dut, (hung + ahead + step) % 16)
        # The peer goes on, and overtakes.
        for at, step in ((hung + 7, 7), (hung + 16, 3), (hung + 18, 5)):
            ctx.set(hanging.generation, at % 16)
            ahead += step
            await ctx.tick()
            assert await try_generation(ctx, dut, (hung + ahead) % 16), at

    simulate(dut, bench)


@pytest.mark.parametrize("admits", [0, 1])
def test_first_generation_after_a_reset(admits):
    """A peer that is at a launch is at most 7 behind; a peer that seems ahead may be far behind."""

    for lead in range(16):
        dut = device(Registers, P)

        async def bench(ctx, dut=dut, lead=lead):
            peer = dut.context[0].peer_launches[lead % P.peers]
            ctx.set(peer.generation, 5)
            ctx.set(peer.admits, admits)
            assert await try_generation(ctx, dut, (5 + lead) % 16) == (not admits or lead < 8)

        simulate(dut, bench)
