"""An issue acknowledgement that is lost to bit errors ends its update, so that an abort can end."""

import pytest

from rtl.channel.channel import ISSUE_ACK_EVENTS, Channel
from rtl.interface.encodings import Access, Datatype, ErrorCode, Operation
from tests.support.channel_bench import CONTEXTS, FIRST, TIMING, WORKGROUPS, packet, view
from tests.support.simulation import simulate
from verification.seeded_bugs.bug import SeededBug

OWN = 30  # first dispatch index of the range whose tiles stay
TILES = ISSUE_ACK_EVENTS + 3


def check(kind=Channel):
    """Send updates of several tiles, lose the acknowledgement of one, and wait until the context
    has drained."""
    dut = kind(TIMING)

    async def bench(ctx):
        views = [view(tables, OWN, OWN + TILES) for tables in CONTEXTS]
        ctx.set(dut.contexts, dut.contexts.shape().const(views))
        ctx.set(dut.dram.ready, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.drained) == 3
        update = {"op": Operation.SUM, "dtype": Datatype.BF16}
        for number in range(TILES):
            workgroup = (FIRST + OWN + number % 10) % WORKGROUPS
            ctx.set(dut.link_in.p, packet(workgroup, wavefront=number // 10, **update))
            ctx.set(dut.link_in.valid, 1)
            await ctx.tick().until(dut.link_in.ready)
        ctx.set(dut.link_in.valid, 0)
        for _ in range(10):
            assert not any(ctx.get(one.valid) for one in dut.errors)
            await ctx.tick()
        assert ctx.get(dut.drained) == 2
        # The tracker takes nothing, so that the last acknowledgements wait in the memory.
        for number in range(TILES):
            if number == TILES - 1:
                ctx.set(dut.issue_acks.valid, 0)
                for name in ("set", "select", "double"):
                    ctx.set(getattr(dut.inject, name), 1)
                await ctx.tick()
                ctx.set(dut.inject.set, 0)
            tile = {"owner": 0, "dispatch_index": OWN + number % 10, "wavefront": number // 10}
            ctx.set(dut.issue_acks.p, {"access": Access.UPDATE, "atom": 1500} | tile)
            ctx.set(dut.issue_acks.valid, 1)
            await ctx.tick()
        ctx.set(dut.issue_acks.valid, 0)
        ctx.set(dut.tile_issue_acks.ready, 1)
        codes = []
        for _ in range(40):
            await ctx.tick()
            codes += [ctx.get(one.report.code) for one in dut.errors if ctx.get(one.valid)]
        assert codes == [ErrorCode.TRACKER_CORRUPT]
        assert ctx.get(dut.drained) == ctx.get(dut.idle) == ctx.get(dut.stores_drained) == 3

    simulate(dut, bench)


def test_a_lost_acknowledgement_is_not_outstanding():
    check()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("monitor.lost.eq(Cat(lost.valid, lost.report.owner))", "monitor.lost.eq(0)"),
        ("causes.eq(buffer.error.valid)", "causes.eq(0)"),
    ],
)
def test_a_seeded_bug_is_noticed(right, wrong):
    bug = SeededBug(
        module="rtl.channel.channel",
        block="Channel",
        fault="a lost acknowledgement stays outstanding, or is not reported",
        right=right,
        wrong=wrong,
    )
    with pytest.raises(AssertionError):
        check(bug.seeded())
