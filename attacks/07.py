"""07: a GPU in INBOUND_STORES only (not in INBOUND_UPDATES) overwrites a partial sum: tile is sent, launch done, no error."""
from common import *
t = Traffic(7); K = KERNELS[0]
async def bench(ctx, dut):
    await launch(ctx, dut, [*K.registers, ("INBOUND_UPDATES", {"sources": 0b1}), ("INBOUND_STORES", {"sources": 0b11})], 0)
    ctx.set(dut.context[0].credit_limit_in, 100)
    atom = atoms_of(K.order[1], K.region)[3][0]
    port = dut.channel[channel_number(atom)]
    # local update and remote one in, before the tile's last update
    await offer(ctx, s=(port.stores, K.store(atom, K.order[1], 0)))
    await ctx.tick().repeat(30)
    await offer(ctx, p=(port.link_in, K.packet(atom, K.order[1], 0) | {"kind": PacketKind.UPDATE, "source": 1}))
    await ctx.tick().repeat(30)
    print("update from GPU 1: FORBIDDEN", await errors(ctx, dut, ErrorCode.PACKET_FORBIDDEN))
    await offer(ctx, p=(port.link_in, K.packet(atom, K.order[1], 0) | {"kind": PacketKind.STORE, "source": 1}))
    await ctx.tick().repeat(30)
    print("accesses of the atom", {(a.name,o.name): n for m in t.memories for (a,o,x),n in m.seen.items() if x == atom})
    rest = Counter()
    class Rest(Kernel):
        def stores(self):
            first = True
            for s in super().stores():
                if first and s["atom"] == atom and s["kind"] == StoreKind.STORE: first = False; continue
                yield s
    t.add(Rest(**vars(K)))
    ctx.set(dut.context[0].finished, 4)
    await finish(ctx, dut, K)
    print("done", ctx.get(dut.context[0].done), "tiles", ctx.get(dut.context[0].tiles), "sent as launch", t.sends(K) == K.sends(), "errors beyond FORBIDDEN:", (await status(ctx, dut, "ERRORS"))["count"] - 1)
simulate(bench, TWO, background=t)
