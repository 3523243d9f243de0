"""Registers of two contexts: neither takes an address space or a region of the other, and epochs
do not restart while tags may still be written.
"""

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers import context_page, port
from tests.support.launch_bench import LAUNCH, MAP, restart
from tests.support.register_bus import outcome
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_neighbours import BUGS_OF_NEIGHBOURS, BUGS_OF_REGISTERS

P = T3Parameters(contexts=2, regions=2, ranges=2, commands=2, address_bits=16, tile_atom_bits=3)
NONE, OVERLAP, IN_USE = (ConfigurationError[name] for name in ("NONE", "OVERLAP", "IN_USE"))


async def write(ctx, dut, context, name, *, privileged=True, **fields):
    """Write a register of a context; return the reason for a refusal."""
    address, word = MAP[name].address_in(context), MAP[name].pack(**fields)
    return await outcome(ctx, dut, address, word, privileged=privileged)


async def region(ctx, dut, context, base, limit, *, privileged=True, **fields):
    """Commit a region of these atoms; return the reason for a refusal."""
    for name, atom in (("REGION_BASE_LO", base), ("REGION_LIMIT_LO", limit)):
        assert await write(ctx, dut, context, name, privileged=privileged, bytes=atom * 32) == NONE
    fields = {"index": 0, "enable": 1} | fields
    return await write(ctx, dut, context, "REGION_COMMIT", privileged=privileged, **fields)


async def running(ctx, dut, context):
    """Begin a launch that does not end."""
    await restart(ctx, dut, context)
    registers = LAUNCH | {"TRACKING": {"generation": 1}}
    for name, fields in registers.items():
        assert await write(ctx, dut, context, name, **fields) == NONE
    assert await write(ctx, dut, context, "CONTROL", launch=1) == NONE


def check():
    """Address spaces, and regions of a context that is idle, runs or aborts; epochs while it runs
    or aborts.
    """

    async def bench(ctx):
        for page in dut.context:
            ctx.set(page.drained, 1)
        for context in range(2):
            await ctx.tick().until(~dut.context[context].aborting)
            assert await write(ctx, dut, context, "LOCK", regions=0) == NONE
        spaces = [{"local": number, "enable": 1} for number in range(2)]
        for context, space in enumerate(spaces):
            assert await write(ctx, dut, context, "ADDRESS_SPACE", **space) == NONE
        for context, space in enumerate(reversed(spaces)):
            assert await write(ctx, dut, context, "ADDRESS_SPACE", **space) == OVERLAP
        assert await region(ctx, dut, 0, 100, 200) == NONE
        assert await region(ctx, dut, 1, 300, 400) == NONE
        for context, other in ((0, 300), (1, 100)):
            own = 400 - other
            assert await region(ctx, dut, context, other + 50, other + 150, index=1) == OVERLAP
            user = dict(index=1, share=1, privileged=False)
            assert await region(ctx, dut, context, other + 50, other + 90, **user) == OVERLAP
            assert await region(ctx, dut, context, own + 10, own + 100, index=0) == NONE
        # The launch's region, which is moved for the next launch, counts until the abort has ended.
        await running(ctx, dut, 1)
        assert await write(ctx, dut, 1, "EPOCH_RESET", restart=1) == IN_USE
        assert await region(ctx, dut, 1, 500, 600) == NONE
        assert await region(ctx, dut, 0, 310, 320, index=1) == OVERLAP
        ctx.set(dut.context[1].drained, 0)
        assert await write(ctx, dut, 1, "CONTROL", abort=1) == NONE
        assert await region(ctx, dut, 0, 310, 320, index=1) == OVERLAP
        assert await write(ctx, dut, 1, "EPOCH_RESET", restart=1) == IN_USE
        ctx.set(dut.context[1].drained, 1)
        await ctx.tick().until(~dut.context[1].aborting)
        assert await region(ctx, dut, 0, 310, 320, index=1) == NONE

    dut = port.Registers(P)
    run_gated(dut, bench)


def test_regions_and_epochs():
    check()


BUGS = [*BUGS_OF_REGISTERS, *(bug for name, bug in BUGS_OF_NEIGHBOURS if name == "registers")]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug, monkeypatch):
    place = port if hasattr(port, bug.block) else context_page
    monkeypatch.setattr(place, bug.block, bug.seeded())
    with pytest.raises(AssertionError):
        check()
