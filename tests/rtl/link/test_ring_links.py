"""Links of a ring, from one top's ports to the next one's."""

from dataclasses import replace

from amaranth.hdl import Module
from amaranth.sim import Simulator

from rtl.interface.encodings import PacketKind
from rtl.link.ring import RingLinks
from tb.link_endpoint.dut import LINK, PARAMETERS

P = replace(PARAMETERS, contexts=LINK.contexts)
SESSION = 4 * LINK.lifetime_cycles  # most cycles until a session is open


def simulate(bench):
    """Run a bench with the links of two GPUs, of which the second is the first one's downstream
    neighbour."""
    m = Module()
    here, there = RingLinks(P, LINK), RingLinks(P, LINK)
    m.submodules.here, m.submodules.there = here, there
    for mine, yours in zip(here.wires, there.wires, strict=True):
        for sender, receiver in (
            (mine.downstream, yours.upstream),
            (yours.upstream, mine.downstream),
        ):
            m.d.comb += [
                receiver.receive.valid.eq(sender.send.valid),
                receiver.receive.p.eq(sender.send.p),
                sender.send.ready.eq(1),
            ]
    simulator = Simulator(m)
    simulator.add_clock(1e-9)

    async def run(ctx):
        await bench(ctx, here, there)

    simulator.add_testbench(run)
    simulator.run()


def test_the_downstream_gpu_is_the_first_peer():
    """Its control words are those of peer 0, and those of the other peers are 0."""
    words = {"generation": 9, "credit_limit_out": 5, "aborted": 3}
    shown = {"generation_in": 9, "credit_limit_in": 5, "aborted_in": 3}

    async def bench(ctx, here, there):
        for number, context in enumerate(there.context):
            for name, value in words.items():
                ctx.set(getattr(context, name), value + number)
        for _ in range(SESSION):
            await ctx.tick()
            if ctx.get(here.context[-1].aborted_in[0]):
                break
        for _ in range(2 * LINK.contexts * LINK.control_interval):
            await ctx.tick()
        for number, context in enumerate(here.context):
            for name, value in shown.items():
                port = getattr(context, name)
                found = [ctx.get(port[peer]) for peer in range(P.peers)]
                assert found == [value + number] + [0] * (P.peers - 1)
        for context in there.context:  # the upstream GPU shows no word
            assert not any(ctx.get(getattr(context, name)).as_bits() for name in shown)

    simulate(bench)


def test_packets_leave_downstream():
    """A packet arrives with all of its fields, whatever its destination."""

    async def bench(ctx, here, there):
        source, sink = here.channel[0].link_out, there.channel[0].link_in
        ctx.set(sink.ready, 1)
        for destination in (0, 77, 127):
            packet = {
                "destination": destination,
                "source": 100,
                "context": 1,
                "kind": PacketKind.UPDATE,
                "atom": 5,
                "slot": 3,
            }
            ctx.set(source.p, packet)
            ctx.set(source.valid, 1)
            for _ in range(SESSION):
                if ctx.get(source.ready):
                    break
                await ctx.tick()
            await ctx.tick()
            ctx.set(source.valid, 0)
            for _ in range(SESSION):
                if ctx.get(sink.valid):
                    break
                await ctx.tick()
            found = ctx.get(sink.p)
            assert {name: found[name] for name in packet} == packet
            await ctx.tick()

    simulate(bench)
