import random

from amaranth.sim import Simulator

from rtl.link.parameters import LinkParameters
from rtl.link.receiver import LinkReceiver

LINK = LinkParameters(
    replay_depth=4,
    receive_depth=4,
    sequence_bits=4,
    timeout_cycles=4,
    idle_cycles=2,
    down_cycles=16,
    lifetime_cycles=4,
)
NUMBERS = 1 << LINK.sequence_bits


def test_every_flit_at_every_number():
    """Only an intact flit with a packet of the awaited number is taken. After an intact flit with a
    later number, a packet counts as missing until the awaited one arrives."""
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    taken = [0] * NUMBERS
    dut = LinkReceiver(8, LINK)

    async def bench(ctx):
        awaited, limit, missing = 0, LINK.receive_depth, False
        for _ in range(6000):
            valid, data, leave = (rng.random() < 0.7 for _ in range(3))
            corrupt = rng.random() < 0.3
            near = rng.random() < 0.2
            sequence = awaited if near else rng.randrange(NUMBERS)
            packet = rng.randrange(256)
            ctx.set(dut.i.valid, valid)
            ctx.set(
                dut.i.p,
                {
                    "body": {"data": data, "packet": packet, "sequence": sequence},
                    "corrupt": corrupt,
                },
            )
            ctx.set(dut.leave, leave)
            assert ctx.get(dut.state.acknowledge) == awaited
            assert ctx.get(dut.state.limit) == limit
            assert ctx.get(dut.state.missing) == missing
            intact = valid and not corrupt
            takes = intact and data and sequence == awaited
            assert ctx.get(dut.o.valid) == takes
            if takes:
                assert ctx.get(dut.o.p) == packet
                taken[awaited] += 1
            misses = intact and 0 < (sequence - awaited) % NUMBERS < NUMBERS // 2
            changes = takes or leave or (misses and not missing)
            assert ctx.get(dut.changes) == changes
            missing = (missing or misses) and not takes
            awaited = (awaited + takes) % NUMBERS
            limit = (limit + leave) % NUMBERS
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-9)
    sim.add_testbench(bench)
    sim.run()
    assert min(taken) > 10
