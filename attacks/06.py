"""06: an issue acknowledgement of context 0 is lost to a double-bit error that hits its owner: the update of context 0 stays
outstanding for ever, and context 1's count falls instead."""
from common import *
from rtl.channel.channel import ISSUE_ACK_EVENTS, Channel
from tests.support.channel_bench import CONTEXTS, FIRST, TIMING, WORKGROUPS, packet as pkt, view
from tests.support.simulation import simulate as sim
from rtl.interface.layouts import IssueAck
OWN, TILES = 30, ISSUE_ACK_EVENTS + 9
dut = Channel(TIMING)
lay = IssueAck(TIMING)
print({n: f.offset for n, f in lay}, lay.size)
def find(dut):
    q = dut.issue_ack_buffer.waiting
    return q
async def bench(ctx):
    views = [view(tables, OWN, OWN + TILES) for tables in CONTEXTS]
    ctx.set(dut.contexts, dut.contexts.shape().const(views))
    ctx.set(dut.dram.ready, 1)
    await ctx.tick().repeat(3)
    for number in range(TILES):
        w = (FIRST + OWN + number % 10) % WORKGROUPS
        ctx.set(dut.link_in.p, pkt(w, wavefront=number // 10, op=Operation.SUM, dtype=Datatype.BF16))
        ctx.set(dut.link_in.valid, 1)
        await ctx.tick().until(dut.link_in.ready)
    ctx.set(dut.link_in.valid, 0)
    await ctx.tick().repeat(10)
    for number in range(TILES):
        tile = {"owner": 0, "dispatch_index": OWN + number % 10, "wavefront": number // 10}
        ctx.set(dut.issue_acks.p, {"access": Access.UPDATE, "atom": 1500} | tile)
        ctx.set(dut.issue_acks.valid, 1)
        await ctx.tick()
    ctx.set(dut.issue_acks.valid, 0)
    await ctx.tick().repeat(5)
    mon = dut.monitor
    print("outstanding", [ctx.get(c.count) for c in mon.outstanding])
    # two bits of a waiting word flip: owner and one other
    n = 0
    for half in dut.issue_ack_buffer.waiting._memories() if hasattr(dut.issue_ack_buffer.waiting, "_memories") else []:
        pass
    size = lay.size
    for half in dut.issue_ack_buffer.waiting.words.storage.halves:
        mem = half.memory
        for row in range(mem.depth):
            word = ctx.get(mem.data[row])
            if word and (word >> lay["dispatch_index"].offset) & 0xFFFF == OWN + (TILES - 1) % 10 and (word >> lay["wavefront"].offset) & 7 == (TILES - 1) // 10:
                ctx.set(mem.data[row], word ^ (1 << lay["owner"].offset) ^ 4); n += 1
    print("flipped", n)
    ctx.set(dut.tile_issue_acks.ready, 1)
    for _ in range(60):
        await ctx.tick()
        for e in dut.errors:
            if ctx.get(e.valid): print("error", ctx.get(e.report.code), "owner", ctx.get(e.report.owner))
    print("outstanding", [ctx.get(c.count) for c in mon.outstanding], "drained", bin(ctx.get(dut.drained)), "stores_drained", bin(ctx.get(dut.stores_drained)))
sim(dut, bench)
