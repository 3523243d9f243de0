"""Registers that only privileged software may write."""

from itertools import permutations

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import ALWAYS, CONTEXT, GLOBAL
from rtl.registers.port import Registers, Response
from tests.support.register_bus import outcome, read, refusal, write
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

OKAY = Response.OKAY.value
NONE, LOCKED = ConfigurationError.NONE, ConfigurationError.LOCKED
MAP = register_map.load()
LOCKS = {GLOBAL: MAP["GPU_LOCK"], CONTEXT: MAP["LOCK"]}
COVERED = {
    "gpu": ["ARBITER", "STARVATION", "MEASURE", "CUTS", "LEVELS"]
    + ["GPU_CONTROL", "GPU_INTERRUPTS", "GPU_INTERRUPT_ENABLE", "INJECT"]
    + ["SCRUB_INTERVAL", "LINK_OFF"],
    "regions": ["REGION_BASE_LO", "REGION_BASE_HI", "REGION_LIMIT_LO", "REGION_LIMIT_HI"]
    + ["REGION_COMMIT"],
    "assignment": ["ADDRESS_SPACE", "WAYS", "INBOUND_KINDS", "EPOCH_RESET"],
}


def simulate(bench):
    dut = device(Registers, T3Parameters(contexts=2))

    async def run(ctx):
        for context in dut.context:
            ctx.set(context.drained, 1)
            ctx.set(context.idle, 1)
        await ctx.tick().repeat(3)
        await bench(ctx, dut)

    simulate_device(dut, run)


def valid(name):
    """A word that is accepted."""
    if name == "REGION_COMMIT":
        return MAP[name].pack(index=0, enable=0)
    return 0


def test_what_is_covered():
    covered = {name: register.lock for name, register in MAP.items() if register.lock}
    expected = {name: lock for lock, names in COVERED.items() for name in names}
    names = ("GPU_LOCK", "LOCK", "CLEAR", "PEER", "PEER_COMMIT", "RANK", "MAY_AWAIT")
    always = dict.fromkeys(names, ALWAYS)
    assert covered == expected | always | {"COPY": "hold"}


def test_everything_is_locked_after_a_reset():
    """The user can program a region or an address space only after privileged software has opened
    the context."""

    async def bench(ctx, dut):
        names = [name for covered in COVERED.values() for name in covered]
        for name in names:
            for context in range(2):
                address = MAP[name].address_in(context)
                assert await outcome(ctx, dut, address, valid(name), privileged=False) == LOCKED
        for lock in LOCKS.values():
            assert await write(ctx, dut, lock.address, 0) == OKAY
        for name in names:
            assert await write(ctx, dut, MAP[name].address, valid(name), privileged=False) == OKAY
        ways = MAP["WAYS"].address_in(1)
        assert await outcome(ctx, dut, ways, 1, privileged=False) == LOCKED

    simulate(bench)


@pytest.mark.parametrize("lock", COVERED)
def test_locked_and_not(lock):
    """Covered registers take privileged writes alone; the others, and the other context, any."""
    page = GLOBAL if lock == "gpu" else CONTEXT

    async def bench(ctx, dut):
        for of_page in LOCKS.values():
            for context in range(2):
                assert await write(ctx, dut, of_page.address_in(context), 0) == OKAY
        only = {field.name: field.name == lock for field in LOCKS[page].fields}
        await write(ctx, dut, LOCKS[page].address, LOCKS[page].pack(**only))
        for name, register in MAP.items():
            if not register.writable or register.lock == ALWAYS or name in ("COPY", "CONTROL"):
                continue
            is_covered = register.lock == lock
            for privileged in (False, True):
                found = await outcome(
                    ctx, dut, register.address, valid(name), privileged=privileged
                )
                expected = LOCKED if is_covered and not privileged else NONE
                assert found == expected, (name, privileged)
            if register.page == CONTEXT:
                address, word = register.address_in(1), valid(name)
                assert await outcome(ctx, dut, address, word, privileged=False) == NONE, name

    simulate(bench)


def test_a_locked_register_stays_as_it_is():
    async def bench(ctx, dut):
        lock, ways = MAP["LOCK"], MAP["WAYS"]
        assert await outcome(ctx, dut, ways.address, 3) == NONE
        await write(ctx, dut, lock.address, lock.pack(assignment=1), privileged=True)
        assert await outcome(ctx, dut, ways.address, 5, privileged=False) == LOCKED
        assert (await read(ctx, dut, ways.address))[0] == 3 == ctx.get(dut.context[0].ways)
        await write(ctx, dut, lock.address, 0, privileged=True)
        assert await outcome(ctx, dut, ways.address, 5, privileged=False) == NONE

    simulate(bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_the_user_neither_locks_nor_unlocks(page):
    lock = LOCKS[page]
    every = sum(field.mask for field in lock.fields)

    async def bench(ctx, dut):
        for word in (0, every):
            await write(ctx, dut, lock.address, word, privileged=True)
            for tried in (0, every):
                found = await outcome(ctx, dut, lock.address, tried, privileged=False)
                assert found == LOCKED
            assert await read(ctx, dut, lock.address) == (word, OKAY)

    simulate(bench)


def test_protection_of_its_own_address():
    """Each address has its own protection, also if the next one is offered while a response
    waits."""

    async def bench(ctx, dut):
        lock = MAP["LOCK"]
        await write(ctx, dut, lock.address, lock.pack(assignment=1), privileged=True)
        bus, ways = dut.bus, MAP["WAYS"]
        # A user's write, and the protection of another one in the next cycle.
        ctx.set(bus.awaddr, ways.address)
        ctx.set(bus.awprot, 0)
        ctx.set(bus.awvalid, 1)
        ctx.set(bus.bready, 0)
        await ctx.tick()
        ctx.set(bus.awprot, 7)
        ctx.set(bus.awvalid, 0)
        ctx.set(bus.wdata, 5)
        ctx.set(bus.wstrb, 15)
        ctx.set(bus.wvalid, 1)
        await ctx.tick().until(bus.wready)
        ctx.set(bus.wvalid, 0)
        await ctx.tick().until(bus.bvalid)
        assert await refusal(ctx, dut, CONTEXT) == LOCKED

    simulate(bench)


@pytest.mark.parametrize("replaced", COVERED["regions"][:4])
def test_a_shared_region_is_privileged_softwares(replaced):
    """A user with an open lock replaces a word of the region that privileged software is about to
    share: the commit is refused until privileged software has written the word again."""
    staged = [("REGION_BASE_LO", 4096), ("REGION_BASE_HI", 0), ("REGION_LIMIT_LO", 8192)]
    staged += [("REGION_LIMIT_HI", 0)]
    share = {"index": 0, "enable": 1, "share": 1}

    async def bench(ctx, dut):
        async def put(name, word, context=0, privileged=True):
            address = MAP[name].address_in(context)
            return await outcome(ctx, dut, address, word, privileged=privileged)

        async def commit(context=0, privileged=True, **fields):
            word = MAP["REGION_COMMIT"].pack(**share | fields)
            return await put("REGION_COMMIT", word, context, privileged)

        assert await put("LOCK", 0) == NONE
        # The other context has memory of its own, which the user would like to reach.
        for name, word in staged:
            assert await put(name, word // 2, 1) == NONE
        assert await commit(1, share=0) == NONE
        for name, word in staged:
            assert await put(name, word) == NONE
        for word in (2048, dict(staged)[replaced]):  # also the same word again
            assert await put(replaced, word, privileged=False) == NONE
            assert await commit() == LOCKED
            assert await commit(enable=0) == NONE
            assert not ctx.get(dut.pages[0].table.maps.regions[0].enable)
        assert await put(replaced, dict(staged)[replaced]) == NONE
        assert await commit() == NONE
        region = ctx.get(dut.pages[0].table.maps.regions[0])
        assert (region.enable, region.base * 32, region.limit * 32) == (1, 4096, 8192)

    simulate(bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_privileged_software_sees_its_own_refusals(page):
    """A user's write between a privileged write and the read of its result neither hides a refusal
    nor invents one; other reads see the last write's result."""
    good = MAP["MEASURE" if page == GLOBAL else "WORKGROUPS"]
    bad = MAP["GPU_STATUS" if page == GLOBAL else "STATUS"]
    results = {good: NONE, bad: ConfigurationError.NOT_WRITABLE}

    async def bench(ctx, dut):
        assert await write(ctx, dut, LOCKS[page].address, 0) == OKAY
        for own, others in permutations((good, bad)):
            for _ in range(2):
                assert await write(ctx, dut, own.address, 0) == OKAY
                assert await refusal(ctx, dut, page) == results[own]
                assert await write(ctx, dut, others.address, 0, privileged=False) == OKAY
                assert await refusal(ctx, dut, page, privileged=True) == results[own]
                assert await refusal(ctx, dut, page) == results[others]

    simulate(bench)
