"""Regions that are moved or removed while accesses of their context wait: until these accesses are
over, no other context gets an atom of the region.
"""

from collections import Counter
from dataclasses import replace

import pytest

from rtl.interface.encodings import Access, ConfigurationError, Origin, PacketKind
from tests.rtl.test_names import refused, region
from tests.support.context_traffic import KERNELS, TWO, Traffic, begin, finish
from tests.support.top_bench import (
    Memory,
    abort,
    channel_number,
    launch,
    offer,
    program,
    settle,
    simulate,
    status,
)

NONE, OVERLAP = ConfigurationError.NONE, ConfigurationError.OVERLAP
IN_USE = ConfigurationError.IN_USE
OWN, OTHER = 0, 1
FIRST = KERNELS[OWN]
MOVED = replace(FIRST.again, region=6144)
BASE, LIMIT = FIRST.region, FIRST.region + 256
ROW = 32  # atoms of a copy: more than a lane holds


class Held(Memory):
    """Memory that can stop to accept requests."""

    accepts = True

    def drive(self, ctx, cycle):
        super().drive(ctx, cycle) if self.accepts else self._stop(ctx)

    def _stop(self, ctx):
        ctx.set(self.port.memory_owes, self.owes)
        for stream in (self.port.returns, self.port.issue_acks):
            ctx.set(stream.valid, 0)
        ctx.set(self.port.dram.ready, 0)


class Links(Traffic):
    """Traffic with a link that stops for the first context, and memories that stop."""

    memory = Held

    def stop_link(self, ctx, dut):
        self.link_takes = False
        for port in dut.channel:
            ctx.set(port.link_space, 1 << OTHER)

    def start_link(self, ctx, dut):
        self.link_takes = True
        for port in dut.channel:
            ctx.set(port.link_space, 1 << OWN | 1 << OTHER)

    def of(self, access):
        """Return the accesses of the communication stream to the first buffer."""
        seen = self.accesses(FIRST).items()
        return Counter({k[2]: n for k, n in seen if k[:2] == (access, Origin.COMMUNICATION)})


async def taken(ctx, dut, *, code=NONE):
    """Let the other context ask for the buffer, and for its first and its last atom alone."""
    await refused(ctx, dut, "REGION_COMMIT", {"index": 1, "enable": 0}, OTHER)
    for base, limit in ((BASE, BASE + 1), (LIMIT - 1, LIMIT), (BASE, LIMIT)):
        assert await region(ctx, dut, OTHER, base, limit, index=1) == code, (base, limit)


async def copy(ctx, dut, number):
    start = {"bytes": (BASE + ROW * number) * 32}
    assert await refused(ctx, dut, "COPY_START_LO", start) == NONE
    assert await refused(ctx, dut, "COPY", {"command": 0, "peers": 1}) == NONE
    await ctx.tick().repeat(40)


async def set_up_copies(ctx, dut):
    """Program a buffer and a command for copies, without a launch."""
    await settle(ctx, dut)
    await settle(ctx, dut, OTHER)
    rows = {"outer_extent": 1}, {"inner_extent": ROW}, {"stride": ROW, "region": 0}
    names = "COMMAND_OUTER", "COMMAND_INNER", "COMMAND_STRIDE"
    await program(ctx, dut, [("ADDRESS_SPACE", {"local": 3, "enable": 1})])
    assert await region(ctx, dut, OWN, BASE, LIMIT) == NONE
    transfer = "COMMAND_TRANSFER", {"kind": PacketKind.STORE.value}
    commit = "COMMAND_COMMIT", {"index": 0}
    await program(ctx, dut, [transfer, *zip(names, rows, strict=True), commit])


async def move(ctx, dut):
    return await region(ctx, dut, OWN, MOVED.region, MOVED.region + 256)


async def remove(ctx, dut):
    return await refused(ctx, dut, "REGION_COMMIT", {"index": 0, "enable": 0})


async def end(ctx, dut, traffic, how):
    """End the waiting accesses."""
    if how == "abort":
        await abort(ctx, dut)
    else:
        traffic.start_link(ctx, dut)
        await ctx.tick().repeat(600)


@pytest.mark.parametrize("how", ["link", "abort"])
@pytest.mark.parametrize("copies", [1, 3])
def test_a_copy_keeps_its_region(copies, how):
    """Copies without a launch wait in the lanes, in the engine and in front of it: their region is
    not moved, and if it is removed, no other context gets it until they are over."""
    traffic = Links(copies)

    async def bench(ctx, dut):
        await set_up_copies(ctx, dut)
        traffic.stop_link(ctx, dut)
        for number in range(copies):
            await copy(ctx, dut, number)
        assert await move(ctx, dut) == IN_USE
        # Registers of the address space do not end a copy.
        off = {"local": 3, "enable": 0}
        assert await refused(ctx, dut, "ADDRESS_SPACE", off) == NONE
        assert await remove(ctx, dut) == NONE
        assert await move(ctx, dut) == IN_USE
        await taken(ctx, dut, code=OVERLAP)
        code = await refused(ctx, dut, "COPY", {"command": 0, "peers": 1})
        assert code == ConfigurationError.REGION_DISABLED
        await end(ctx, dut, traffic, how)
        await taken(ctx, dut)
        before = traffic.of(Access.READ)
        traffic.start_link(ctx, dut)
        await ctx.tick().repeat(400)
        assert traffic.of(Access.READ) == before
        if how == "link":
            assert before == Counter(range(BASE, BASE + ROW * copies))
        assert await move(ctx, dut) == NONE

    simulate(bench, TWO, background=traffic)


def test_a_region_that_was_copied_moves_without_a_wait_afterwards():
    traffic = Links(2)

    async def bench(ctx, dut):
        await set_up_copies(ctx, dut)
        await copy(ctx, dut, 0)
        await ctx.tick().repeat(200)
        assert await move(ctx, dut) == NONE
        await taken(ctx, dut)

    simulate(bench, TWO, background=traffic)


async def done_at_the_link(ctx, dut, traffic):
    """Run a launch until it is done, while its packets wait for the link."""
    await settle(ctx, dut, OTHER)
    traffic.stop_link(ctx, dut)
    await begin(ctx, dut, traffic, FIRST)
    ctx.set(dut.context[OWN].finished, 4)
    for _ in range(1000):
        await ctx.tick()
        if ctx.get(dut.context[OWN].done):
            break
    await ctx.tick().repeat(60)
    assert (await status(ctx, dut, "STATUS"))["done"]
    traffic.drop(FIRST)


async def launch_again(ctx, dut):
    tracking = {"generation": MOVED.generation}
    await program(ctx, dut, [("TRACKING", tracking)])
    assert await refused(ctx, dut, "CONTROL", {"launch": 1}) == NONE
    await ctx.tick().repeat(100)
    return (await status(ctx, dut, "LAUNCHES"))["begun"]


@pytest.mark.parametrize("how", ["link", "abort"])
@pytest.mark.parametrize("changes", ["moves", "removes"])
@pytest.mark.parametrize("copies", [0, 2])
def test_a_launch_keeps_its_region(changes, copies, how):
    """A launch is done, and its segments and copies wait for the link: the next launch, which moves
    or removes the region, waits for them, and so does another context that wants the region."""
    traffic = Links(3)

    async def bench(ctx, dut):
        await done_at_the_link(ctx, dut, traffic)
        for number in range(copies):
            await copy(ctx, dut, number)
        if changes == "moves":
            assert await move(ctx, dut) == NONE
        else:
            for index in range(TWO.ranges):
                await refused(ctx, dut, "RANGE_COMMIT", {"index": index, "enable": 0})
            assert await remove(ctx, dut) == NONE
        await taken(ctx, dut, code=OVERLAP)
        assert await launch_again(ctx, dut) == 1
        await taken(ctx, dut, code=OVERLAP)
        await end(ctx, dut, traffic, how)
        assert (await status(ctx, dut, "LAUNCHES"))["begun"] == (1 if how == "abort" else 2)
        await taken(ctx, dut)
        before = traffic.of(Access.READ)
        traffic.start_link(ctx, dut)
        await ctx.tick().repeat(400)
        assert traffic.of(Access.READ) == before
        if how == "link" and not copies:
            assert traffic.sends(FIRST) == FIRST.sends()

    simulate(bench, TWO, background=traffic)


def test_a_launch_that_keeps_its_region_does_not_wait():
    traffic = Links(4)

    async def bench(ctx, dut):
        await done_at_the_link(ctx, dut, traffic)
        assert await region(ctx, dut, OWN, BASE, LIMIT) == NONE
        assert await launch_again(ctx, dut) == 2
        await taken(ctx, dut, code=OVERLAP)

    simulate(bench, TWO, background=traffic)


def test_a_launch_waits_for_copies_of_a_neighbour():
    """Copies from the link wait for the memory: the next launch, which moves their region, waits,
    so that they do not overwrite another context's data. Later copies are refused."""
    traffic = Links(5)
    stores = [FIRST.packet(BASE + 8 * n, 1, 0) | {"kind": PacketKind.STORE} for n in range(8)]

    async def bench(ctx, dut):
        await settle(ctx, dut, OTHER)
        await begin(ctx, dut, traffic, FIRST)
        await finish(ctx, dut, FIRST)
        ctx.set(dut.context[OWN].finished, 4)
        traffic.drop(FIRST)
        for memory in traffic.memories:
            memory.accepts = False
        for item in stores:
            await offer(ctx, copy=(dut.channel[channel_number(item["atom"])].link_in, item))
        assert await move(ctx, dut) == NONE
        assert await launch_again(ctx, dut) == 1
        await taken(ctx, dut, code=OVERLAP)
        before = traffic.of(Access.WRITE)
        for memory in traffic.memories:
            memory.accepts = True
        await ctx.tick().repeat(100)
        assert (await status(ctx, dut, "LAUNCHES"))["begun"] == 2
        await taken(ctx, dut)
        written = traffic.of(Access.WRITE) - before
        assert written and written.keys() <= {item["atom"] for item in stores}
        late = stores[0] | {"generation": MOVED.generation}
        for item in (stores[0], late):
            await offer(ctx, copy=(dut.channel[channel_number(item["atom"])].link_in, item))
        await ctx.tick().repeat(100)
        assert traffic.of(Access.WRITE) - before == written
        assert (await status(ctx, dut, "COUNT_PACKET_UNMAPPED"))["count"] == 2

    simulate(bench, TWO, background=traffic)


def test_copies_of_an_active_region_do_not_hold_its_programming():
    """The next launch is programmed with another region while copies of the current launch's region
    wait: the active tables keep it. A second change waits."""
    traffic = Links(6)

    async def bench(ctx, dut):
        await settle(ctx, dut, OTHER)
        await launch(ctx, dut, [*FIRST.registers])
        traffic.stop_link(ctx, dut)
        for number in range(2):
            await copy(ctx, dut, number)
        assert await region(ctx, dut, OWN, BASE, LIMIT) == NONE
        assert await move(ctx, dut) == NONE
        assert await region(ctx, dut, OWN, 7168, 7168 + 256) == IN_USE
        await taken(ctx, dut, code=OVERLAP)
        traffic.start_link(ctx, dut)
        await ctx.tick().repeat(400)
        assert await region(ctx, dut, OWN, 7168, 7168 + 256) == NONE
        await taken(ctx, dut, code=OVERLAP)

    simulate(bench, TWO, background=traffic)
