"""Peers of a context's unit: what they admit, and how their aborts are reported."""

import pytest

from rtl.context.unit import UNIT_ERRORS, ContextUnit
from rtl.interface.encodings import Action, ErrorCode
from rtl.parameters import T3Parameters
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

P = T3Parameters(
    contexts=1, system_channels=1, address_bits=24, sets=4, credit_window=8, command_depth=8
)
MOST = (1 << P.credit_limit_bits) - 1
GENERATION = 5
SETTLES = 2 * P.ranges + 6  # cycles after which a change is in all limits
ABORTS = UNIT_ERRORS.index((ErrorCode.PEER_ABORTED,))


def peers(**enabled):
    """Return the table with these peers, by their ranks."""
    entries = [{"enable": 0, "rank": 99} for _ in range(P.peers)]
    for name, rank in enabled.items():
        entries[int(name[1:])] = {"enable": 1, "rank": rank}
    return entries


def simulate(bench, table, ranges=()):
    """Run ``bench(ctx, unit)`` with a launch that has begun, of 20 workgroups."""
    unit = device(ContextUnit, P, 0)

    async def run(ctx):
        registers = unit.registers
        ctx.set(registers.peers, table)
        for index, entry in enumerate(ranges):
            ctx.set(registers.maps.ranges[index], {"enable": 1} | entry)
        launch = {"workgroups": 20, "tracked_end": 20, "credit_window": 6, "command_window": 8}
        ctx.set(registers.launch_configuration, launch | {"generation": GENERATION})
        ctx.set(registers.launched, 1)
        ctx.set(registers.aborting, 0)
        for index in range(P.peers):
            ctx.set(unit.outside.generation_in[index], GENERATION)
        ctx.set(registers.launch, 1)
        await ctx.tick()
        ctx.set(registers.launch, 0)
        await bench(ctx, unit)

    simulate_device(unit, run)


@pytest.mark.parametrize(
    ("aborted", "source"),
    [([2], 20), ([6], 60), ([2, 6], 20), ([6, 7], 60), ([7], None), ([], None)],
)
def test_the_lowest_peer_that_aborts_is_named(aborted, source):
    """An abort that a peer without an entry shows is none."""

    async def bench(ctx, unit):
        await ctx.tick().repeat(2)
        for index in aborted:
            ctx.set(unit.outside.aborted_in[index], 1)
        seen = []
        for _ in range(10):
            await ctx.tick()
            error = unit.errors[ABORTS]
            if ctx.get(error.valid):
                report = ctx.get(error.report)
                assert report.code == ErrorCode.PEER_ABORTED
                seen.append(report.source)
        assert seen == ([] if source is None else [source])

    simulate(bench, peers(_2=20, _6=60))


def test_a_later_abort_of_another_peer_is_reported_too():
    async def bench(ctx, unit):
        seen = []
        for index in (6, 2):
            ctx.set(unit.outside.aborted_in[index], 1)
            for _ in range(5):
                await ctx.tick()
                if ctx.get(unit.errors[ABORTS].valid):
                    seen.append(ctx.get(unit.errors[ABORTS].report.source))
        assert seen == [60, 20]

    simulate(bench, peers(_2=20, _6=60))


def test_all_peers_of_a_range_admit_its_workgroups():
    """Peers that are not of the range, and peers without an entry, do not count."""
    remote = {"action": Action.REMOTE, "first": 0, "last": 9, "peers": 0b1000100}
    own = {"action": Action.OWN, "first": 10, "last": 19}

    async def bench(ctx, unit):
        async def dispatch_limit(**limits):
            for name, limit in limits.items():
                ctx.set(unit.outside.credit_limit_in[int(name[1:])], limit)
            await ctx.tick().repeat(SETTLES)
            return ctx.get(unit.outside.dispatch_limit)

        assert await dispatch_limit() == 0
        assert await dispatch_limit(_2=8, _0=3, _5=100) == 0
        assert await dispatch_limit(_6=5) == 5
        assert await dispatch_limit(_6=30) == 8
        assert await dispatch_limit(_2=30) == 10  # what stays waits for its own window
        ctx.set(unit.registers.aborting, 1)
        assert await dispatch_limit() == 0

    simulate(bench, peers(_0=7, _2=20, _6=60), [remote, own])


def test_state_of_the_peers_for_the_launch_check():
    async def bench(ctx, unit):
        for index, limit in ((2, 4), (6, 0), (7, 4)):
            ctx.set(unit.outside.credit_limit_in[index], limit)
            ctx.set(unit.outside.generation_in[index], index)
        await ctx.tick()
        launches = ctx.get(unit.registers.peer_launches)
        found = [(launches[index].admits, launches[index].generation) for index in (2, 6, 7)]
        assert found == [(1, 2), (0, 0), (0, 0)]

    simulate(bench, peers(_2=20, _6=60))
