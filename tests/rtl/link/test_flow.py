"""Flow of a channel, alone."""

import pytest
from amaranth.hdl import unsigned
from amaranth.sim import Simulator

from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import LinkPacket
from rtl.link.flow import LinkFlow
from rtl.link.layouts import SessionState
from tb.link_endpoint.dut import LINK, PARAMETERS

MOST_CYCLES = 12  # from an arrival to the header that acknowledges it, behind a frame of eight


@pytest.mark.parametrize("begin", range(16))
def test_news_wait_for_a_header(begin):
    """A packet that arrives while a frame leaves is acknowledged by the next header, though the
    channel has no packets left and the other channels have."""
    dut = LinkFlow(
        LinkPacket(PARAMETERS), unsigned(8), LINK, sends=True, receives=True, has_words=False
    )
    headers, lengths = [], []

    async def bench(ctx):
        ctx.set(dut.open, 1)
        ctx.set(dut.flit.ready, 1)
        ctx.set(dut.advance, 1)
        marks = {"first": 1, "last": 1}
        ctx.set(dut.arrives.p, {"body": {"limit": 30}, **marks})
        ctx.set(dut.arrives.valid, 1)
        await ctx.tick()
        ctx.set(dut.arrives.valid, 0)
        await ctx.tick().repeat(6)
        for cycle in range(begin + MOST_CYCLES):
            ctx.set(dut.packets.valid, cycle < 8)
            ctx.set(dut.packets.p, {"kind": PacketKind.UPDATE, "atom": cycle})
            ctx.set(dut.arrives.valid, cycle == begin)
            ctx.set(dut.arrives.p, {"body": {"data": 1, "limit": 30}, **marks})
            if ctx.get(dut.flit.valid):
                flit = ctx.get(dut.flit.p)
                if flit.first:
                    headers.append((cycle, flit.acknowledge))
                    lengths.append(0)
                lengths[-1] += flit.data
                assert flit.data or flit.packet.as_bits() & 3 == SessionState.OPEN.value
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert headers[-1][1] == 1 and headers[-1][0] > begin
    assert max(lengths) == 8
