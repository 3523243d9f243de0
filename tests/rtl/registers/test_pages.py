"""The pages of the register port: each context's registers are its own."""

import random
from collections import Counter

import pytest

from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from rtl.registers.port import Registers, Response
from tests.support.register_bus import is_storage, outcome, read, write
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

OKAY, SLVERR = Response.OKAY.value, Response.SLVERR.value
NONE = ConfigurationError.NONE
MAP = register_map.load()
# Registers whose fields are all stored, in full width.
STORAGE = [
    register
    for register in register_map.page(CONTEXT).values()
    if is_storage(register)
    and register.name not in {"LOCK", "WAYS", "INBOUND_KINDS", "RANGE_ACTION"}
]
# Registers that a launch needs, beside tables.
LAUNCHABLE = [
    ("WORKGROUPS", "count"),
    ("TRACKED_END", "dispatch_index"),
    ("CREDIT_WINDOW", "workgroups"),
    ("COMMAND_WINDOW", "workgroups"),
]
PAGES = 1 << 16 - PAGE_BITS


def simulate(p, bench, *, background=None):
    dut = device(Registers, p)

    async def run(ctx):
        # The reset has left no work.
        for context in dut.context:
            ctx.set(context.drained, 1)
            ctx.set(context.launch_drained, 1)
        await ctx.tick().repeat(3)
        await bench(ctx, dut)

    async def run_background(ctx):
        await background(ctx, dut)

    simulate_device(dut, run, background=None if background is None else run_background)


async def put(ctx, dut, context, name, **fields):
    register = MAP[name]
    return await outcome(ctx, dut, register.address_in(context), register.pack(**fields))


@pytest.mark.parametrize("contexts", [1, 2, 3, pytest.param(8, marks=pytest.mark.verify)])
def test_number_of_contexts(contexts):
    async def bench(ctx, dut):
        assert await read(ctx, dut, MAP["CONTEXTS"].address) == (contexts, OKAY)
        found = await outcome(ctx, dut, MAP["CONTEXTS"].address, 1)
        assert found == ConfigurationError.NOT_WRITABLE

    simulate(T3Parameters(contexts=contexts), bench)


@pytest.mark.parametrize("contexts", [1, 3])
def test_storage_is_of_one_context(contexts):
    """Random words into all pages, in random order, read back in another."""
    seed = contexts
    print(f"seed {seed}")
    rng = random.Random(seed)
    expected = {}
    # Gates exist if there is another context, and may name any context that exists.
    narrow = {"RANGE_GATE": 31, "RANGE_BAND": 31, "MAY_AWAIT": contexts}
    if contexts == 1:
        narrow = dict.fromkeys(narrow, 0)

    async def bench(ctx, dut):
        places = [(context, register) for context in range(contexts) for register in STORAGE]
        for context, register in rng.sample(places, len(places)):
            fields = {
                field.name: rng.getrandbits(min(field.width, narrow.get(register.name, 32)))
                for field in register.fields
                if field.writable
            }
            expected[context, register.name] = word = register.pack(**fields)
            assert await write(ctx, dut, register.address_in(context), word) == OKAY
        for context, register in rng.sample(places, len(places)):
            address = register.address_in(context)
            assert await read(ctx, dut, address) == (expected[context, register.name], OKAY)
        for context, port in enumerate(dut.context):
            to_send = MAP["TO_SEND"].unpack(expected[context, "TO_SEND"])["count"]
            assert ctx.get(dut.pages[context].programmed.to_send) == to_send
            spaces = MAP["ADDRESS_SPACE"].unpack(expected[context, "ADDRESS_SPACE"])
            assert ctx.get(port.address_space) == port.address_space.shape().const(spaces)
            assert ctx.get(port.rank) == expected[context, "RANK"]

    simulate(T3Parameters(contexts=contexts), bench)


def test_ways_have_a_bit_for_each_way():
    async def bench(ctx, dut):
        address = MAP["WAYS"].address_in
        ctx.set(dut.context[1].idle, 1)  # so that the context may lose ways
        assert await read(ctx, dut, address(0)) == (0b00011, OKAY)
        assert await write(ctx, dut, address(1), 0xFFFF_FFEA) == OKAY
        assert [ctx.get(port.ways) for port in dut.context] == [0b00011, 0b01010]
        assert await read(ctx, dut, address(0)) == (0b00011, OKAY)
        assert await read(ctx, dut, address(1)) == (0b01010, OKAY)

    simulate(T3Parameters(contexts=2, ways=5), bench)


@pytest.mark.parametrize("contexts", [1, 2, 8])
def test_no_register_beyond_the_last_context(contexts):
    """An access is answered only at the offsets of registers, in the pages that exist."""
    p = T3Parameters(contexts=contexts)
    offsets = {
        page: {r.offset for r in register_map.page(page).values()} for page in (GLOBAL, CONTEXT)
    }
    readable = sorted(offsets[GLOBAL] | offsets[CONTEXT])
    pages = {0, 1, contexts, contexts + 1, 9, PAGES - 1}

    async def bench(ctx, dut):
        for page in sorted(pages):
            known = offsets[GLOBAL] if page == 0 else offsets[CONTEXT] if page <= contexts else ()
            for offset in readable:
                word, response = await read(ctx, dut, page << PAGE_BITS | offset)
                assert response == (OKAY if offset in known else SLVERR), (page, offset)
                assert word == 0 or offset in known
        before = [ctx.get(page.programmed).as_bits() for page in dut.pages]
        for page in range(contexts + 1, PAGES):
            address = page << PAGE_BITS | MAP["TO_SEND"].offset
            assert await write(ctx, dut, address, 0xFFFF) == SLVERR
            address = page << PAGE_BITS | MAP["CONTROL"].offset
            assert await write(ctx, dut, address, MAP["CONTROL"].pack(abort=1)) == SLVERR
            assert not any(ctx.get(port.abort) for port in dut.context)
        assert before == [ctx.get(page.programmed).as_bits() for page in dut.pages]

    simulate(p, bench)


@pytest.mark.parametrize("context", range(3))
def test_tables_are_of_one_context(context):
    """Staged entries of all contexts are committed in one; shared ones may overlap others'."""

    async def bench(ctx, dut):
        for number in range(3):
            await put(ctx, dut, number, "REGION_BASE_LO", bytes=4096 * (number + 1))
            await put(ctx, dut, number, "REGION_LIMIT_LO", bytes=4096 * 9)
        for number in (context, (context + 1) % 3):
            before = [ctx.get(page.table.maps).as_bits() for page in dut.pages]
            fields = {"index": 1, "enable": 1, "share": 1}
            assert await put(ctx, dut, number, "REGION_COMMIT", **fields) == NONE
            after = [ctx.get(page.table.maps) for page in dut.pages]
            entry, base = after[number].regions[1], 128 * (number + 1)
            assert (entry.enable, entry.base, entry.limit) == (1, base, 128 * 9)
            changed = [one.as_bits() != other for one, other in zip(after, before, strict=True)]
            assert changed == [one == number for one in range(3)]

    simulate(T3Parameters(contexts=3), bench)


def test_a_refusal_is_of_one_context():
    async def bench(ctx, dut):
        unknown = ConfigurationError.UNKNOWN_INDEX
        assert await put(ctx, dut, 1, "REGION_COMMIT", index=7, enable=1) == unknown
        words = [(await read(ctx, dut, MAP["STATUS"].address_in(c)))[0] for c in range(2)]
        codes = [MAP["STATUS"].unpack(word)["configuration_error"] for word in words]
        assert codes == [0, unknown.value]
        assert await put(ctx, dut, 0, "REGION_COMMIT", index=0, enable=0) == NONE
        word, _ = await read(ctx, dut, MAP["STATUS"].address_in(1))
        assert MAP["STATUS"].unpack(word)["configuration_error"] == codes[1]

    simulate(T3Parameters(contexts=2), bench)


@pytest.mark.parametrize("context", range(2))
def test_strobes_and_copies_are_of_one_context(context):
    """A launch, a measurement, an abort and a copy: each once, and none of the other context."""
    names = ("launch", "start", "abort")
    seen = Counter()

    async def record(ctx, dut):
        while True:
            for number, port in enumerate(dut.context):
                seen.update((number, name) for name in names if ctx.get(getattr(port, name)))
            await ctx.tick()

    async def bench(ctx, dut):
        ctx.set(dut.context[context].idle, 1)
        await put(ctx, dut, context, "PEER", sends_stores=1)
        assert await put(ctx, dut, context, "PEER_COMMIT", index=3, enable=1) == NONE
        await put(ctx, dut, context, "COPY_START_LO", bytes=64)
        await put(ctx, dut, context, "COMMAND_STRIDE", stride=77)
        await put(ctx, dut, context, "COMMAND_COMMIT", index=2)
        await put(ctx, dut, context, "REGION_LIMIT_LO", bytes=128)
        await put(ctx, dut, context, "REGION_COMMIT", index=0, enable=1)
        assert await put(ctx, dut, context, "COPY", command=2, peers=8) == NONE
        await ctx.tick()
        copies = [port.copies for port in dut.context]
        assert [ctx.get(copy.valid) for copy in copies] == [context == 0, context == 1]
        copy = ctx.get(copies[context].p)
        assert (copy.command.stride, copy.start, copy.peers) == (77, 2, 8)
        for name, field in LAUNCHABLE:
            assert await put(ctx, dut, context, name, **{field: 4}) == NONE
        for number in range(2):
            assert await put(ctx, dut, number, "EPOCH_RESET", restart=1) == NONE
        assert await put(ctx, dut, context, "CONTROL", launch=1, measure=1) == NONE
        # The other one has no window.
        found = await put(ctx, dut, 1 - context, "CONTROL", launch=1, measure=1)
        assert found == ConfigurationError.WINDOW
        # One launch runs already, and one waits.
        assert await put(ctx, dut, context, "TRACKING", generation=1) == NONE
        assert await put(ctx, dut, context, "CONTROL", launch=1) == NONE
        found = await put(ctx, dut, context, "CONTROL", launch=1, measure=1)
        assert found == ConfigurationError.IN_USE
        aborting = MAP["STATUS"]["aborting"].mask
        ctx.set(dut.context[context].drained, 0)
        await put(ctx, dut, context, "CONTROL", abort=1)
        words = [await read(ctx, dut, MAP["STATUS"].address_in(number)) for number in range(2)]
        assert [bool(word & aborting) for word, _ in words] == [context == 0, context == 1]
        await ctx.tick().repeat(4)
        assert seen == {(context, name): 1 for name in names}

    simulate(T3Parameters(contexts=2), bench, background=record)


def test_errors_in_one_cycle():
    """Each context keeps and counts its own errors; clearing those of one context leaves the
    others'."""

    async def state(ctx, dut):
        found = []
        for context in range(2):
            error, _ = await read(ctx, dut, MAP["ERROR"].address_in(context))
            count, _ = await read(ctx, dut, MAP["ERRORS"].address_in(context))
            found.append((MAP["ERROR"].unpack(error)["code"], count))
        return found

    async def bench(ctx, dut):
        codes = [ErrorCode.STORE_LATE, ErrorCode.OVERRUN]
        for context, code in zip(dut.context, codes, strict=True):
            ctx.set(context.error.report.code, code)
            ctx.set(context.error.valid, 1)
        await ctx.tick()
        ctx.set(dut.context[0].error.valid, 0)
        assert [ctx.get(context.irq) for context in dut.context] == [1, 1]
        await ctx.tick()
        ctx.set(dut.context[1].error.valid, 0)
        assert await state(ctx, dut) == [(codes[0].value, 1), (codes[1].value, 2)]
        await put(ctx, dut, 1, "CONTROL", clear_error=1)
        await ctx.tick().repeat(2)
        assert [ctx.get(context.irq) for context in dut.context] == [1, 0]
        assert await state(ctx, dut) == [(codes[0].value, 1), (0, 0)]

    simulate(T3Parameters(contexts=2), bench)
