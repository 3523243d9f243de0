"""Register port: bus, storage, strobes, status and errors."""

import random

import pytest

from rtl.interface.encodings import ConfigurationError, Policy
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import PAGE_BITS
from rtl.registers.port import Registers, Response
from tests.support.register_bus import is_storage, outcome, read, start_write, write
from tests.support.simulation import device, simulate

P = T3Parameters(contexts=1)
NARROW = T3Parameters(contexts=1, workgroup_bits=10, context_bits=2, sets=64, address_bits=32)
MAP = register_map.load()
FREE = max(register.address for register in MAP.values()) + 4
STILL_RESETTING = MAP["STATUS"].pack(aborting=1)
STORAGE = [r for r in MAP.values() if is_storage(r) and r.name not in ("LOCK", "GPU_LOCK")]


@pytest.mark.parametrize("p", [None, 3])
def test_parameters_type(p):
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not"):
        Registers(p)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"regions": 257}, r"regions must be at most 256 to fit REGION_COMMIT\.index, not 257"),
        ({"ranges": 257}, r"ranges must be at most 256 to fit RANGE_COMMIT\.index, not 257"),
        ({"commands": 257}, r"commands must be at most 256 to fit COMMAND_COMMIT\.index, not 257"),
    ],
)
def test_parameters_value(values, message):
    with pytest.raises(ValueError, match=message):
        Registers(T3Parameters(**values))


def test_parameters_at_the_limit():
    Registers(
        T3Parameters(
            contexts=1, regions=256, ranges=256, commands=256, context_bits=4, wavefronts=8
        )
    )


def test_resets():
    dut = device(Registers, P)

    async def bench(ctx):
        # The existing ways and contexts; the reset is still in progress.
        shown = {"WAYS": (1 << P.ways) - 1, "CONTEXTS": P.contexts, "STATUS": STILL_RESETTING}
        shown["EPOCHS"] = 256  # no epoch is left
        for register in MAP.values():
            word = shown.get(register.name, register.reset)
            assert await read(ctx, dut, register.address) == (word, Response.OKAY.value)
        launch_configuration, arbiter = (
            ctx.get(dut.context[0].launch_configuration),
            ctx.get(dut.arbiter),
        )
        assert launch_configuration.as_bits() == 0
        assert arbiter.policy == Policy.ROUND_ROBIN
        assert arbiter.threshold == MAP["ARBITER"]["threshold"].reset == 127
        assert arbiter.starvation_limit == 0xFFFF
        assert [arbiter.levels[i] for i in range(3)] == [127] * 3
        assert ctx.get(dut.context[0].maps).as_bits() == 0

    simulate(dut, bench)


# Bits that a narrower destination cuts off.
CUT = {
    ("WORKGROUPS", "count"): NARROW.credit_limit_bits,
    ("TRACKED_FIRST", "dispatch_index"): NARROW.credit_limit_bits,
    ("TRACKED_END", "dispatch_index"): NARROW.credit_limit_bits,
    ("TO_SEND", "count"): NARROW.credit_limit_bits,
    ("CREDIT_WINDOW", "workgroups"): NARROW.credit_limit_bits,
    ("COMMAND_WINDOW", "workgroups"): NARROW.credit_limit_bits,
    ("RANGE_DISPATCH_INDICES", "first"): NARROW.dispatch_index_bits,
    ("RANGE_DISPATCH_INDICES", "last"): NARROW.dispatch_index_bits,
    ("RANGE_PEERS", "slot_offset"): NARROW.credit_limit_bits,
    ("ADDRESS_SPACE", "local"): NARROW.context_bits,
    ("PEER", "space"): NARROW.context_bits,
}


@pytest.mark.parametrize("p", [P, NARROW], ids=["default", "narrow"])
def test_storage(p):
    """Every field keeps the bits of its destination, and a write changes no other one."""
    seed = 5
    print("seed", seed)
    rng, dut = random.Random(seed), device(Registers, p)
    cut = {("WAYS", "mask"): p.ways, ("RANGE_ACTION", "shares"): p.share_bits}
    cut[("LINK_OFF", "links")] = p.channels
    # A context without others has no gates.
    cut |= {
        (name, field.name): 0
        for name in ("RANGE_GATE", "RANGE_BAND", "MAY_AWAIT")
        for field in MAP[name].fields
    }
    cut |= CUT if p is NARROW else {}

    def kept(register, word):
        value = 0
        for field in register.fields:
            width = cut.get((register.name, field.name), field.width)
            value |= (word >> field.low & (1 << width) - 1) << field.low
        return value

    async def bench(ctx):
        for name in ("drained", "idle"):  # so that the context may lose ways
            ctx.set(getattr(dut.context[0], name), 1)
        await ctx.tick().repeat(3)
        expected = {register.name: kept(register, register.reset) for register in STORAGE}
        for _ in range(3):
            for register in rng.sample(STORAGE, len(STORAGE)):
                word = rng.choice([rng.getrandbits(32), 0xFFFFFFFF])
                assert await write(ctx, dut, register.address, word) == Response.OKAY.value
                expected[register.name] = kept(register, word)
            for register in STORAGE:
                assert await read(ctx, dut, register.address) == (
                    expected[register.name],
                    Response.OKAY.value,
                ), register.name

    simulate(dut, bench)


def test_configuration_comes_from_its_registers():
    """Each output field changes with its own register, and keeps its value."""
    dut = device(Registers, P)
    words = {
        "WORKGROUPS": {"count": 65536},
        "TRACKED_FIRST": {"dispatch_index": 13},
        "TRACKED_END": {"dispatch_index": 65535},
        "TO_SEND": {"count": 15},
        "CREDIT_WINDOW": {"workgroups": 16},
        "COMMAND_WINDOW": {"workgroups": 17},
        "TRACKING": {"generation": 11},
        "TIMEOUT": {"ticks": 0xFEDCBA98},
        "ARBITER": {"policy": 2, "automatic": 1, "threshold": 19},
        "STARVATION": {"cycles": 20},
        "MEASURE": {"log2": 21},
        "CUTS": {"cut0": 22, "cut1": 23, "cut2": 24},
        "LEVELS": {"level0": 25, "level1": 26, "level2": 27},
    }
    launch_configuration = {
        "workgroups": 65536,
        "tracked_first": 13,
        "tracked_end": 65535,
        "to_send": 15,
        "credit_window": 16,
        "command_window": 17,
        "timeout": 0xFEDCBA98,
        "generation": 11,
        "epoch": 1,
    }
    arbiter = {
        "policy": Policy.MCA,
        "automatic": 1,
        "threshold": 19,
        "starvation_limit": 20,
        "measure_log2": 21,
        "cuts": [22, 23, 24],
        "levels": [25, 26, 27],
    }

    async def bench(ctx):
        ctx.set(dut.context[0].drained, 1)  # so that the reset ends
        ctx.set(dut.context[0].launch_drained, 1)
        await ctx.tick().repeat(3)
        for name, fields in (words | {"EPOCH_RESET": {"restart": 1}}).items():
            await write(ctx, dut, MAP[name].address, MAP[name].pack(**fields))
        # A launch keeps the values of its beginning.
        assert ctx.get(dut.context[0].launch_configuration).as_bits() == 0
        await write(ctx, dut, MAP["CONTROL"].address, MAP["CONTROL"].pack(launch=1))
        await ctx.tick().repeat(2)
        assert ctx.get(dut.context[0].launch_configuration) == dut.context[
            0
        ].launch_configuration.shape().const(launch_configuration)
        assert ctx.get(dut.arbiter) == dut.arbiter.shape().const(arbiter)

    simulate(dut, bench)


def test_write_timing():
    """A write that is accepted in t acts in t + 1, and its effect and response are visible in t +
    2, not earlier.
    """
    dut = device(Registers, P)
    address = MAP["MEASURE"].address

    async def bench(ctx):
        assert ctx.get(dut.bus.awready) and ctx.get(dut.bus.wready)
        start_write(ctx, dut, address, 7)
        await ctx.tick()
        # The second write waits in the address and data registers.
        start_write(ctx, dut, address, 9)
        assert not ctx.get(dut.bus.awready) and not ctx.get(dut.bus.wready)
        assert not ctx.get(dut.bus.bvalid) and ctx.get(dut.arbiter.measure_log2) == 0
        await ctx.tick()
        assert ctx.get(dut.bus.bvalid) and ctx.get(dut.arbiter.measure_log2) == 7
        assert ctx.get(dut.bus.awready) and ctx.get(dut.bus.wready)
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        for _ in range(5):  # a response that waits holds the next write back
            assert ctx.get(dut.bus.bvalid) and ctx.get(dut.arbiter.measure_log2) == 7
            assert not ctx.get(dut.bus.awready) and not ctx.get(dut.bus.wready)
            await ctx.tick()
        ctx.set(dut.bus.bready, 1)
        await ctx.tick()
        assert not ctx.get(dut.bus.bvalid) and ctx.get(dut.arbiter.measure_log2) == 7
        await ctx.tick()
        assert ctx.get(dut.bus.bvalid) and ctx.get(dut.arbiter.measure_log2) == 9
        await ctx.tick()
        assert not ctx.get(dut.bus.bvalid)

    simulate(dut, bench)


@pytest.mark.parametrize("first", ["address", "data"])
def test_address_and_data_apart(first):
    dut = device(Registers, P)

    async def bench(ctx):
        start_write(ctx, dut, MAP["MEASURE"].address, 7)
        ctx.set(dut.bus.wvalid if first == "address" else dut.bus.awvalid, 0)
        await ctx.tick()
        assert ctx.get(dut.bus.awready) == (first == "data")
        assert ctx.get(dut.bus.wready) == (first == "address")
        start_write(ctx, dut, MAP["MEASURE"].address, 7)
        ctx.set(dut.bus.awvalid if first == "address" else dut.bus.wvalid, 0)
        for _ in range(3):
            assert not ctx.get(dut.bus.bvalid)
            late = dut.bus.wvalid if first == "address" else dut.bus.awvalid
            ctx.set(late, 0)
            await ctx.tick()
        ctx.set(late, 1)
        await ctx.tick()
        ctx.set(late, 0)
        assert ctx.get(dut.arbiter.measure_log2) == 0
        await ctx.tick()
        assert ctx.get(dut.arbiter.measure_log2) == 7

    simulate(dut, bench)


def test_read_timing():
    """A read that is accepted in t samples the values of t + 1, and is answered in t + 2."""
    dut = device(Registers, P)

    async def bench(ctx):
        ctx.set(dut.bus.araddr, MAP["TILES"].address)
        ctx.set(dut.bus.arvalid, 1)
        ctx.set(dut.context[0].tiles, 1)
        assert ctx.get(dut.bus.arready)
        await ctx.tick()
        ctx.set(dut.context[0].tiles, 2)
        assert not ctx.get(dut.bus.arready) and not ctx.get(dut.bus.rvalid)
        await ctx.tick()
        ctx.set(dut.context[0].tiles, 3)
        assert ctx.get(dut.bus.arready)
        await ctx.tick()
        ctx.set(dut.bus.arvalid, 0)
        for tiles in range(4, 8):
            assert ctx.get(dut.bus.rvalid) and ctx.get(dut.bus.rdata) == 2
            assert not ctx.get(dut.bus.arready)
            ctx.set(dut.context[0].tiles, tiles)
            await ctx.tick()
        ctx.set(dut.bus.rready, 1)
        await ctx.tick()
        assert not ctx.get(dut.bus.rvalid)
        ctx.set(dut.context[0].tiles, 8)
        await ctx.tick()
        assert ctx.get(dut.bus.rvalid) and ctx.get(dut.bus.rdata) == 8
        await ctx.tick()
        assert not ctx.get(dut.bus.rvalid)

    simulate(dut, bench)


def test_read_and_write_together():
    """A read that acts with a write sees the register before it."""
    dut = device(Registers, P)

    async def bench(ctx):
        ctx.set(dut.bus.araddr, MAP["MEASURE"].address)
        ctx.set(dut.bus.arvalid, 1)
        start_write(ctx, dut, MAP["MEASURE"].address, 5)
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        ctx.set(dut.bus.arvalid, 0)
        await ctx.tick()
        assert ctx.get(dut.bus.rvalid) and ctx.get(dut.bus.rdata) == 0
        assert ctx.get(dut.arbiter.measure_log2) == 5

    simulate(dut, bench)


def test_no_register():
    dut = device(Registers, P)
    okay, error = Response.OKAY.value, Response.SLVERR.value
    refused = ConfigurationError.NOT_WRITABLE
    measure = MAP["MEASURE"].address

    async def bench(ctx):
        await write(ctx, dut, measure, 0x14)
        for strobes in range(15):
            assert await outcome(ctx, dut, measure, 0x0F, strobes) == refused
            assert await outcome(ctx, dut, MAP["CONTROL"].address, 0xF, strobes) == refused
            assert not any(
                map(ctx.get, (dut.context[0].launch, dut.context[0].abort, dut.context[0].start))
            )
        assert await read(ctx, dut, measure) == (0x14, okay)
        for register in MAP.values():
            if not register.writable:
                assert await outcome(ctx, dut, register.address, 0) == refused, register.name
            word, response = await read(ctx, dut, register.address)
            assert response == okay and (register.readable or word == 0)
            for misplaced in (1, 2, 3):
                assert await read(ctx, dut, register.address + misplaced) == (0, error)
                address = register.address + misplaced
                assert await outcome(ctx, dut, address, 0xFFFFFFFF) == refused
        assert await read(ctx, dut, measure) == (0x14, okay)
        for address in (0x0F8, 0x1078, FREE, 0x8000 | measure, 0xFFFC):
            assert await read(ctx, dut, address) == (0, error)
            if address >> PAGE_BITS <= P.contexts:
                assert await outcome(ctx, dut, address, 0xFFFFFFFF) == refused
            else:
                assert await write(ctx, dut, address, 0xFFFFFFFF) == error
        assert await read(ctx, dut, measure) == (0x14, okay)

    simulate(dut, bench)


def test_status():
    dut = device(Registers, P)
    rng = random.Random(6)

    async def bench(ctx):
        ctx.set(dut.context[0].clearing, 1)  # the reset does not end
        for _ in range(20):
            flags = {name: rng.randrange(2) for name in ("done", "idle")}
            numbers = {"TILES": rng.getrandbits(32)}
            numbers |= {name: rng.getrandbits(17) for name in ("OLDEST", "CREDIT_LIMIT")}
            for name, value in flags.items():
                ctx.set(getattr(dut.context[0], name), value)
            for name, value in numbers.items():
                ctx.set(getattr(dut.context[0], name.lower()), value)
            word, _ = await read(ctx, dut, MAP["STATUS"].address)
            others = dict.fromkeys(("pending", "running", "aborted", "error"), 0)
            others |= {"aborting": 1, "configuration_error": 0}
            assert MAP["STATUS"].unpack(word) == flags | others
            for name, value in numbers.items():
                assert await read(ctx, dut, MAP[name].address) == (value, Response.OKAY.value)

    simulate(dut, bench)
