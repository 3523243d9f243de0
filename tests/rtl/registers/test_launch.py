"""Launches through the register port: checks, waiting launches, and epochs."""

import pytest

from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response
from tests.support.register_bus import outcome, read, start_write, write
from tests.support.simulation import device, simulate

P = T3Parameters(contexts=1)
MAP = register_map.load()


LAUNCH = {
    "WORKGROUPS": {"count": 9},
    "TRACKED_END": {"dispatch_index": 9},
    "CREDIT_WINDOW": {"workgroups": 1},
    "COMMAND_WINDOW": {"workgroups": 1},
}


async def write_launch(ctx, dut, **registers):
    """Program and start a launch that is accepted, with further registers."""
    ctx.set(dut.context[0].drained, 1)  # so that the reset, or an abort, ends
    ctx.set(dut.context[0].launch_drained, 1)
    for name, fields in (LAUNCH | registers).items():
        word = MAP[name].pack(**fields)
        assert await write(ctx, dut, MAP[name].address, word) == Response.OKAY.value


async def launch_error(ctx, dut):
    """Launch, and measure; return why the launch was refused."""
    word = MAP["CONTROL"].pack(launch=1, measure=1)
    return await outcome(ctx, dut, MAP["CONTROL"].address, word)


_RANGE, _WINDOW = ConfigurationError.LAUNCH_RANGE, ConfigurationError.WINDOW


@pytest.mark.parametrize(
    "registers, error",
    [
        ({}, ConfigurationError.NONE),
        ({"FIRST_WORKGROUP": {"workgroup": 8}}, ConfigurationError.NONE),
        ({"TRACKED_FIRST": {"dispatch_index": 9}}, ConfigurationError.NONE),
        ({"CREDIT_WINDOW": {"workgroups": P.credit_window}}, ConfigurationError.NONE),
        ({"COMMAND_WINDOW": {"workgroups": P.command_depth}}, ConfigurationError.NONE),
        ({"WORKGROUPS": {"count": 1 << 16}}, ConfigurationError.NONE),
        (
            {
                "WORKGROUPS": {"count": 1 << 16},
                "FIRST_WORKGROUP": {"workgroup": 0xFFFF},
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
        ({"WORKGROUPS": {"count": 0}}, _RANGE),
        ({"WORKGROUPS": {"count": (1 << 16) + 1}}, _RANGE),
        ({"FIRST_WORKGROUP": {"workgroup": 9}}, _RANGE),
        ({"TRACKED_FIRST": {"dispatch_index": 10}}, _RANGE),
        ({"TRACKED_END": {"dispatch_index": 10}}, _RANGE),
        # Values with more bits than the workgroups.
        ({"WORKGROUPS": {"count": (1 << 17) - 1}}, _RANGE),
        ({"FIRST_WORKGROUP": {"workgroup": 0x8000}}, _RANGE),
        ({"TRACKED_FIRST": {"dispatch_index": 1 << 16}}, _RANGE),
        ({"TRACKED_END": {"dispatch_index": 1 << 16}}, _RANGE),
        ({"TRACKING": {"updates_per_atom": 0}}, _RANGE),
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
        (Granularity.WAVEFRONT, 3, (0, 0, 0, 0), Action.DMA, (P.credit_window, P.command_depth)),
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
    dut = device(Registers, P)
    writes = {
        "REGION_LIMIT_LO": {"bytes": 1 << 20},
        "REGION_COMMIT": {"index": 0, "enable": 1},
        "COMMAND_TRANSFER": {"granularity": granularity.value, "group_log2": group_log2},
        "COMMAND_WAVES": {f"waves{edge}": count for edge, count in enumerate(waves)},
        "COMMAND_COMMIT": {"index": 2},
        "RANGE_DISPATCH_INDICES": {"first": 3, "last": 5},
        "RANGE_ACTION": {"action": action.value, "command": 2},
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


async def launches(ctx, dut):
    """Numbers of launches begun and done, and whether a launch waits."""
    word, _ = await read(ctx, dut, MAP["LAUNCHES"].address)
    counts = MAP["LAUNCHES"].unpack(word)
    word, _ = await read(ctx, dut, MAP["STATUS"].address)
    return counts["begun"], counts["done"], MAP["STATUS"].unpack(word)["pending"]


def test_a_launch_waits_for_the_one_before():
    dut = device(Registers, P)
    ports = dut.context[0]

    async def bench(ctx):
        await write_launch(ctx, dut, SHIFT={"dispatch_indices": 7})
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await launches(ctx, dut) == (1, 0, 0)
        await write_launch(ctx, dut, SHIFT={"dispatch_indices": 8})
        assert ctx.get(ports.launch_configuration.shift) == 7
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await launches(ctx, dut) == (1, 0, 1)
        # A waiting launch is kept unchanged.
        assert await launch_error(ctx, dut) == ConfigurationError.IN_USE
        for name, fields in {"SHIFT": {}, "REGION_COMMIT": {"index": 1}}.items():
            word = MAP[name].pack(**fields)
            found = await outcome(ctx, dut, MAP[name].address, word)
            assert found == ConfigurationError.IN_USE
        # A launch that is done has not drained yet.
        ctx.set(ports.launch_drained, 0)
        ctx.set(ports.done, 1)
        assert await launches(ctx, dut) == (1, 1, 1)
        assert ctx.get(ports.launch_configuration.shift) == 7
        ctx.set(ports.launch_drained, 1)
        await ctx.tick()
        assert ctx.get(ports.launch) and ctx.get(ports.launch_configuration.shift) == 8
        ctx.set(ports.done, 0)
        assert await launches(ctx, dut) == (2, 1, 0)

    simulate(dut, bench)


def test_tables_are_those_of_the_launch():
    """Commits during a launch take effect with the next one."""
    dut = device(Registers, P)
    ports = dut.context[0]

    async def bench(ctx):
        for number in range(1, 4):
            limit = {
                "REGION_LIMIT_LO": {"bytes": number << 12},
                "REGION_COMMIT": {"index": 0, "enable": 1},
            }
            await write_launch(ctx, dut, **limit)
            region = ctx.get(ports.maps.regions[0])
            assert region.limit * P.atom_bytes == (number - 1) << 12
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            await ctx.tick().repeat(3)
            assert ctx.get(ports.maps.regions[0].limit) * P.atom_bytes == number << 12
            ctx.set(ports.done, 1)
            await ctx.tick()
            ctx.set(ports.done, 0)

    simulate(dut, bench)


def test_an_abort_forgets_what_waits():
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        for number in range(2):
            await write_launch(ctx, dut, TRACKING={"updates_per_atom": 2, "generation": number})
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert ctx.get(ports.launched) and not ctx.get(ports.former.valid)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await ctx.tick().repeat(3)
        assert await launches(ctx, dut) == (1, 0, 0)
        assert not ctx.get(ports.launched)
        both = control.pack(launch=1, abort=1)
        assert await outcome(ctx, dut, control.address, both) == ConfigurationError.IN_USE
        for busy, left in (("clearing", 1), ("drained", 0)):
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            # An abort does not end before all work has drained.
            ctx.set(getattr(ports, busy), left)
            await write(ctx, dut, control.address, control.pack(abort=1))
            await ctx.tick().repeat(5)
            assert await launch_error(ctx, dut) == ConfigurationError.IN_USE
            ctx.set(getattr(ports, busy), 1 - left)
            await ctx.tick().repeat(3)

    simulate(dut, bench)


def test_an_abort_leaves_no_launch_to_wait_for():
    """STATUS shows no launch as running or pending after an abort, whatever the abort ended; the
    next launch is shown as before, also as the counters of launches wrap."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def shown(ctx):
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        status = MAP["STATUS"].unpack(word)
        return status["running"], status["pending"], status["aborted"]

    async def bench(ctx):
        await write_launch(ctx, dut)
        page = dut.pages[0]
        for count in (0, 0xFFFE, 0xFFFF):
            ctx.set(page.begun, count)
            ctx.set(page.done, count)
            for waiting in range(3):  # nothing, a launch that runs, and one behind it
                for number in range(waiting):
                    assert await launch_error(ctx, dut) == ConfigurationError.NONE
                    assert await shown(ctx) == (1, number, 0)
                before = await shown(ctx)
                await write(ctx, dut, control.address, control.pack(abort=1))
                await ctx.tick().repeat(3)
                # An abort without a launch keeps what the abort before it left.
                assert await shown(ctx) == (0, 0, 1 if waiting else before[2])
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            assert await shown(ctx) == (1, 0, 0)
            ctx.set(ports.done, 1)
            await ctx.tick().repeat(2)
            ctx.set(ports.done, 0)
            assert await shown(ctx) == (0, 0, 0)
        # The launch before is done, and the one that waits is dropped.
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        ctx.set(ports.launch_drained, 0)
        ctx.set(ports.done, 1)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert await shown(ctx) == (0, 1, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        assert await shown(ctx) == (0, 0, 1)

    simulate(dut, bench)


def test_an_abort_lasts_until_what_it_clears_can_be_seen():
    """Idle is low for two cycles at least: blocks become busy in the cycle after the strobe."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        for busy, left in (("drained", 0), ("clearing", 1), (None, 0)):
            await write_launch(ctx, dut)
            await ctx.tick().repeat(3)
            assert not ctx.get(ports.aborting)
            start_write(ctx, dut, control.address, control.pack(abort=1))
            ctx.set(dut.bus.bready, 1)
            await ctx.tick()
            ctx.set(dut.bus.awvalid, 0)
            ctx.set(dut.bus.wvalid, 0)
            await ctx.tick().until(ports.abort)
            seen = []
            for step in range(8):
                # The context is busy from two cycles behind the strobe on.
                if busy:
                    ctx.set(getattr(ports, busy), left if step == 1 else 1 - left)
                seen.append(ctx.get(ports.aborting))
                await ctx.tick()
            assert seen == ([1, 1, 1, 0, 0, 0, 0, 0] if busy else [1, 1, 0, 0, 0, 0, 0, 0])

    simulate(dut, bench)


def test_no_scrub_while_a_launch_or_an_abort_goes_on():
    """A scrub is refused while a launch runs, while one waits although none runs, and until nothing
    of a launch is left."""
    dut = device(Registers, P)
    ports, control, scrub = dut.context[0], MAP["CONTROL"], MAP["EPOCH_RESET"]

    async def bench(ctx):
        async def scrubs():
            found = await outcome(ctx, dut, scrub.address, scrub.pack(restart=1))
            assert found in (ConfigurationError.NONE, ConfigurationError.IN_USE)
            return found == ConfigurationError.NONE

        await write_launch(ctx, dut)
        assert await scrubs()
        for _ in range(2):
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            assert not await scrubs()
            # The next one waits for the rest of the first.
            ctx.set(ports.launch_drained, 0)
            ctx.set(ports.done, 1)
        assert await launches(ctx, dut) == (1, 1, 1)
        assert not await scrubs()
        ctx.set(ports.drained, 0)
        await write(ctx, dut, control.address, control.pack(abort=1))
        await ctx.tick().repeat(3)
        assert not await scrubs()
        ctx.set(ports.drained, 1)
        await ctx.tick().repeat(3)
        assert await scrubs()
        assert (await read(ctx, dut, MAP["EPOCHS"].address))[0] == 1

    simulate(dut, bench)


def test_former_launch():
    """The generation of the previous launch is kept until the next launch or an abort."""
    dut = device(Registers, P)
    ports, control = dut.context[0], MAP["CONTROL"]

    async def bench(ctx):
        ctx.set(ports.done, 1)
        for number in range(3):
            tracking = {"updates_per_atom": 2, "generation": 5 + number}
            await write_launch(ctx, dut, TRACKING=tracking)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            await ctx.tick().repeat(4)
            former = ctx.get(ports.former)
            assert (former.valid, former.generation) == ((1, 4 + number) if number else (0, 0))
        await write(ctx, dut, control.address, control.pack(abort=1))
        assert not ctx.get(ports.former.valid)

    simulate(dut, bench)


def test_each_launch_has_an_epoch_until_none_is_left():
    """After 255 launches of both contexts the epoch tags in memory must be cleared."""
    dut = device(Registers, T3Parameters(contexts=2))
    control, scrub = MAP["CONTROL"], MAP["EPOCH_RESET"]

    async def bench(ctx):
        for context in (0, 1):
            ports = dut.context[context]
            for name in ("drained", "launch_drained", "done"):
                ctx.set(getattr(ports, name), 1)
            for name, fields in LAUNCH.items():
                await write(ctx, dut, MAP[name].address_in(context), MAP[name].pack(**fields))
        epochs = []
        for number in range(255):
            address = control.address_in(number % 2)
            found = await outcome(ctx, dut, address, control.pack(launch=1))
            assert found == ConfigurationError.NONE
            await ctx.tick().repeat(3)
            epochs.append(ctx.get(dut.context[number % 2].launch_configuration.epoch))
        assert epochs == [*range(1, 256)]
        assert await launch_error(ctx, dut) == ConfigurationError.EPOCH
        ctx.set(dut.context[1].done, 0)
        restart, launch = scrub.pack(restart=1), control.pack(launch=1)
        assert await outcome(ctx, dut, scrub.address, restart) == ConfigurationError.NONE
        address = control.address_in(1)
        assert await outcome(ctx, dut, address, launch) == ConfigurationError.NONE
        # The memory is in use.
        assert await outcome(ctx, dut, scrub.address, restart) == ConfigurationError.IN_USE
        assert (await read(ctx, dut, MAP["EPOCHS"].address))[0] == 2

    simulate(dut, bench)


@pytest.mark.parametrize("bit, name", [(1, "abort"), (2, "start")])
def test_strobes(bit, name):
    """The strobe is high for one cycle after the write takes effect, whatever becomes of the
    response."""
    dut = device(Registers, P)
    others = [other for other in ("launch", "abort", "start") if other != name]

    async def bench(ctx):
        await write_launch(ctx, dut)
        start_write(ctx, dut, MAP["CONTROL"].address, 1 << bit)
        seen = []
        for cycle in range(8):
            seen.append(ctx.get(getattr(dut.context[0], name)))
            assert not any(ctx.get(getattr(dut.context[0], other)) for other in others)
            await ctx.tick()
            if cycle == 0:
                ctx.set(dut.bus.awvalid, 0)
                ctx.set(dut.bus.wvalid, 0)
        assert seen == [0, 0, 1, 0, 0, 0, 0, 0]

    simulate(dut, bench)
