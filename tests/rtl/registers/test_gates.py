"""Gates of ranges at the register port: which contexts a launch may await."""

from dataclasses import replace

import pytest

from rtl.interface.encodings import Action, ConfigurationError
from rtl.registers.port import Registers
from tests.support.launch_bench import MAP, P, launch_error, write_launch
from tests.support.register_bus import outcome, read
from tests.support.simulation import device, simulate

P3 = replace(P, contexts=3)
NONE, NO_CONTEXT = ConfigurationError.NONE, ConfigurationError.NO_CONTEXT
TABLES = {
    "REGION_LIMIT_LO": {"bytes": 1 << 20},
    "REGION_COMMIT": {"index": 0, "enable": 1},
    "COMMAND_WAVES": {"waves0": 1},
    "COMMAND_COMMIT": {"index": 0},
    "RANGE_DISPATCH_INDICES": {"first": 3, "last": 5},
}
COMMIT = {"index": 1, "enable": 1}


@pytest.mark.parametrize("action", [Action.NONE, Action.OWN])
@pytest.mark.parametrize(
    ("context", "mask", "error"),
    [
        (1, 0b010, NONE),
        (2, 0b110, NONE),
        (1, 0, NO_CONTEXT),
        (1, 0b101, NO_CONTEXT),
        (2, 0b011, NO_CONTEXT),
        # Itself, and contexts that do not exist.
        (0, 0b111, NO_CONTEXT),
        (3, 0xFF, NO_CONTEXT),
        (6, 0xFF, NO_CONTEXT),
    ],
)
def test_a_launch_awaits_only_contexts_that_it_may_await(context, mask, error, action):
    dut = device(Registers, P3)

    async def bench(ctx):
        of_range = {"action": action.value, "shares": int(action != Action.NONE)}
        gate = {"enable": 1, "context": context, "slot": 7}
        registers = TABLES | {"RANGE_ACTION": of_range, "RANGE_GATE": gate}
        registers |= {"RANGE_COMMIT": COMMIT, "MAY_AWAIT": {"contexts": mask}}
        await write_launch(ctx, dut, **registers)
        assert await launch_error(ctx, dut) == error
        entry = ctx.get(dut.pages[0].table.maps).ranges[1]
        assert (entry.gate.context, entry.gate.slot) == (context, 7)
        assert ctx.get(dut.context[0].may_await) == mask & 0b110

    simulate(dut, bench)


def test_ranges_without_a_gate_or_an_enable_await_nothing():
    dut = device(Registers, P3)

    async def bench(ctx):
        of_range = {"action": Action.OWN.value, "shares": 1}
        for gate, commit in (({"context": 1}, 1), ({"context": 1, "enable": 1}, 0)):
            registers = TABLES | {"RANGE_ACTION": of_range, "RANGE_GATE": gate}
            registers["RANGE_COMMIT"] = {"index": 1, "enable": commit}
            await write_launch(ctx, dut, **registers)
            assert await launch_error(ctx, dut) == NONE
            ctx.set(dut.context[0].done, 1)
            await ctx.tick().repeat(3)
            ctx.set(dut.context[0].done, 0)

    simulate(dut, bench)


@pytest.mark.parametrize("contexts", [1, 3])
def test_a_range_without_an_action_needs_a_gate(contexts):
    """Without another context there is no gate."""
    dut = device(Registers, replace(P, contexts=contexts))

    async def bench(ctx):
        for enable in (0, 1):
            registers = TABLES | {"RANGE_ACTION": {}, "RANGE_GATE": {"enable": enable}}
            await write_launch(ctx, dut, **registers)
            register = MAP["RANGE_COMMIT"]
            error = await outcome(ctx, dut, register.address, register.pack(**COMMIT))
            is_gated = enable and contexts > 1
            assert error == (NONE if is_gated else ConfigurationError.EMPTY)
            word, _ = await read(ctx, dut, MAP["RANGE_GATE"].address)
            assert bool(word) == bool(is_gated)

    simulate(dut, bench)


def test_only_privileged_software_permits_and_a_clear_ends_it():
    dut = device(Registers, P3)

    async def bench(ctx):
        async def put(name, *, privileged=True, **fields):
            register = MAP[name]
            address = register.address_in(1)
            return await outcome(ctx, dut, address, register.pack(**fields), privileged=privileged)

        for name in ("drained", "launch_drained", "idle"):
            ctx.set(getattr(dut.context[1], name), 1)
        await ctx.tick().repeat(5)
        locked = await put("MAY_AWAIT", privileged=False, contexts=1)
        assert locked == ConfigurationError.LOCKED
        assert ctx.get(dut.context[1].may_await) == 0
        assert await put("MAY_AWAIT", contexts=7) == NONE
        assert ctx.get(dut.context[1].may_await) == 0b101
        assert await put("CLEAR", tables=1) == NONE
        assert ctx.get(dut.context[1].may_await) == 0
        word, _ = await read(ctx, dut, MAP["MAY_AWAIT"].address_in(1))
        assert word == 0

    simulate(dut, bench)
