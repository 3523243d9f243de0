"""Launches through the register port: checks, waiting launches, and epochs."""

from dataclasses import replace

import pytest

from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response
from tests.support.register_bus import outcome, read, start_write, write
from tests.support.simulation import device, simulate

P = T3Parameters(contexts=1)
MAP = register_map.load()


NO_EPOCH = 256
LAUNCH = {
    "WORKGROUPS": {"count": 9},
    "TRACKED_END": {"dispatch_index": 9},
    "CREDIT_WINDOW": {"workgroups": 1},
    "COMMAND_WINDOW": {"workgroups": 1},
}


async def restart(ctx, dut, context=0):
    """Restart the epochs, once the reset is over."""
    ctx.set(dut.context[context].drained, 1)
    ctx.set(dut.context[context].launch_drained, 1)
    await ctx.tick().until(~dut.context[context].aborting)
    scrub = MAP["EPOCH_RESET"]
    response = await write(ctx, dut, scrub.address_in(context), scrub.pack(restart=1))
    assert response == Response.OKAY.value


async def write_launch(ctx, dut, **registers):
    """Program a launch that is accepted, with further registers; the generation is the one behind
    the last launch's.
    """
    ctx.set(dut.context[0].drained, 1)  # so that the reset, or an abort, ends
    ctx.set(dut.context[0].launch_drained, 1)
    if (await read(ctx, dut, MAP["EPOCHS"].address))[0] == NO_EPOCH:
        await restart(ctx, dut)
    generation = (ctx.get(dut.context[0].launch_configuration.generation) + 1) % 16
    registers["TRACKING"] = {"generation": generation} | registers.get("TRACKING", {})
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


@pytest.mark.parametrize(
    "waves, action, ways, credit_window",
    [
        ((3, 1, 2, 0), Action.DMA, 0b1111_1111, 16),
        ((1, 1, 3, 1), Action.OWN, 0b0111_0110, 8),
        ((0, 0, 0, 3), Action.DMA, 0b0010_1001, 8),
        ((3, 3, 3, 3), Action.OWN, 0b0000_0011, 0),
        # Stores that leave are not tracked.
        ((3, 3, 3, 3), Action.REMOTE, 0b0000_0010, 8),
        ((15, 15, 15, 15), Action.REMOTE, 0, 0),
        ((4, 3, 2, 1), Action.DMA, 0b1111_0000, 8),
        ((4, 3, 2, 1), Action.DMA, 0b1110_0000, 0),
        # As many as the bitmap has, although the ways hold more.
        ((1, 1, 1, 1), Action.DMA, 0b1111_1111, 32),
    ],
)
def test_ways_hold_the_credit_window(waves, action, ways, credit_window):
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
        "RANGE_ACTION": {"action": action.value, "command": 2},
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


_GENERATION = ConfigurationError.GENERATION


async def try_generation(ctx, dut, generation):
    """Return whether a launch of this generation is accepted; if so, it is done."""
    await write_launch(ctx, dut, TRACKING={"updates_per_atom": 2, "generation": generation})
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
        ctx.set(dut.context[0].downstream.generation, 11)  # without a launch there
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


@pytest.mark.parametrize("hung", [0, 3, 15])
def test_a_launch_is_not_far_ahead_of_the_downstream_gpu(hung):
    """The downstream GPU hangs. Its generation would be taken for that of a later launch from nine
    launches behind it on; no launch is that far ahead, whatever the steps are."""
    dut = device(Registers, P)

    async def bench(ctx):
        downstream = dut.context[0].downstream
        ctx.set(downstream.generation, hung)
        ctx.set(downstream.admits, 1)
        ahead = 0
        assert await try_generation(ctx, dut, hung)
        for step in (3, 1, 2, 1):
            for beyond in range(8 - ahead, 8):
                assert not await try_generation(ctx, dut, (hung + ahead + beyond) % 16)
            ahead += step
            assert await try_generation(ctx, dut, (hung + ahead) % 16)
        for step in range(16):
            assert not await try_generation(ctx, dut, (hung + ahead + step) % 16)
        # The downstream GPU goes on, and overtakes.
        for at, step in ((hung + 7, 7), (hung + 16, 3), (hung + 18, 5)):
            ctx.set(downstream.generation, at % 16)
            ahead += step
            await ctx.tick()
            assert await try_generation(ctx, dut, (hung + ahead) % 16), at

    simulate(dut, bench)


@pytest.mark.parametrize("admits", [0, 1])
def test_first_generation_after_a_reset(admits):
    """A downstream GPU that is at a launch is at most 7 behind; a GPU that seems ahead may be far
    behind."""

    for lead in range(16):
        dut = device(Registers, P)

        async def bench(ctx, dut=dut, lead=lead):
            ctx.set(dut.context[0].downstream.generation, 5)
            ctx.set(dut.context[0].downstream.admits, admits)
            assert await try_generation(ctx, dut, (5 + lead) % 16) == (not admits or lead < 8)

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
            await write_launch(ctx, dut)
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
        page = dut.pages[0]
        for count in (0, 0xFFFE, 0xFFFF):
            ctx.set(page.begun, count)
            ctx.set(page.done, count)
            for waiting in range(3):  # nothing, a launch that runs, and one behind it
                for number in range(waiting):
                    await write_launch(ctx, dut)
                    assert await launch_error(ctx, dut) == ConfigurationError.NONE
                    assert await shown(ctx) == (1, number, 0)
                before = await shown(ctx)
                await write(ctx, dut, control.address, control.pack(abort=1))
                await ctx.tick().repeat(3)
                # An abort without a launch keeps what the abort before it left.
                assert await shown(ctx) == (0, 0, 1 if waiting else before[2])
            await write_launch(ctx, dut)
            assert await launch_error(ctx, dut) == ConfigurationError.NONE
            assert await shown(ctx) == (1, 0, 0)
            ctx.set(ports.done, 1)
            await ctx.tick().repeat(2)
            ctx.set(ports.done, 0)
            assert await shown(ctx) == (0, 0, 0)
        # The launch before is done, and the one that waits is dropped.
        await write_launch(ctx, dut)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        await write_launch(ctx, dut)
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

        for number in range(2):
            await write_launch(ctx, dut)
            ctx.set(ports.launch_drained, int(number == 0))
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


async def launches_of(ctx, dut, context, count):
    """Do launches without a kernel, each with the next generation; return their epochs."""
    epochs, ports = [], dut.context[context]
    for name in ("drained", "launch_drained", "done"):
        ctx.set(getattr(ports, name), 1)
    for name in ("CREDIT_WINDOW", "COMMAND_WINDOW"):
        await write(ctx, dut, MAP[name].address_in(context), MAP[name].pack(workgroups=1))
    tracking, control = MAP["TRACKING"], MAP["CONTROL"]
    for number in range(count):
        word = tracking.pack(generation=number % 16)
        await write(ctx, dut, tracking.address_in(context), word)
        response = await write(ctx, dut, control.address_in(context), control.pack(launch=1))
        assert response == Response.OKAY.value, number
        await ctx.tick().repeat(3)
        epochs.append(ctx.get(ports.launch_configuration.epoch))
    return epochs


def test_each_context_has_its_epochs():
    """After 255 launches the epoch tags in memory must be cleared, of this context only: the other
    one goes on, and holds nothing up."""
    dut = device(Registers, T3Parameters(contexts=2))
    epochs = MAP["EPOCHS"]

    async def bench(ctx):
        for context in (0, 1):
            await restart(ctx, dut, context)
        assert await launches_of(ctx, dut, 0, 255) == [*range(1, 256)]
        word = MAP["TRACKING"].pack(generation=255 % 16)
        await write(ctx, dut, MAP["TRACKING"].address, word)
        assert await launch_error(ctx, dut) == ConfigurationError.EPOCH
        # A launch of the other context waits in mid-run.
        assert await launches_of(ctx, dut, 1, 1) == [1]
        ctx.set(dut.context[1].done, 0)
        assert await launches_of(ctx, dut, 1, 0) == []
        assert (await read(ctx, dut, epochs.address_in(1)))[0] == 2
        await restart(ctx, dut, 0)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE
        assert ctx.get(dut.context[0].launch_configuration.epoch) == 1

    simulate(dut, bench)


def test_no_epoch_is_left_after_a_reset():
    """The memory may hold tags of launches before the reset."""
    dut = device(Registers, P)
    scrub = MAP["EPOCH_RESET"]

    async def bench(ctx):
        assert (await read(ctx, dut, MAP["EPOCHS"].address))[0] == NO_EPOCH
        # A restart waits for the end of the reset.
        assert ctx.get(dut.context[0].aborting)
        found = await outcome(ctx, dut, scrub.address, scrub.pack(restart=1))
        assert found == ConfigurationError.IN_USE
        ctx.set(dut.context[0].drained, 1)
        await ctx.tick().until(~dut.context[0].aborting)
        for name, fields in LAUNCH.items():
            await write(ctx, dut, MAP[name].address, MAP[name].pack(**fields))
        assert await launch_error(ctx, dut) == ConfigurationError.EPOCH
        await restart(ctx, dut)
        assert await launch_error(ctx, dut) == ConfigurationError.NONE

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
