"""Assignments of spaces, ways and tables to contexts, which no tenant takes from another."""

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers
from tests.support.register_bus import outcome, read
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

P = T3Parameters(contexts=2, ways=4)
MAP = register_map.load()
NONE, OVERLAP = ConfigurationError.NONE, ConfigurationError.OVERLAP
IN_USE, LOCKED = ConfigurationError.IN_USE, ConfigurationError.LOCKED
SPACES = [{"local": 3, "enable": 1}, {"local": 9, "enable": 1}]
WAYS = [0b0101, 0b1010]
PEERS = [
    {
        "gpu": 100 - index,
        "rank": 71 + index,
        "space": 4 + index,
        "sends_stores": 1,
        "sends_updates": index,
        "takes_stores": 1 - index,
        "takes_updates": 1,
    }
    for index in range(2)
]
EITHER = pytest.mark.parametrize("own", [0, 1])


class Page:
    """Page of a context behind the register port."""

    def __init__(self, ctx, dut, number):
        self._ctx, self._dut, self._number = ctx, dut, number
        self.port, self._table = dut.context[number], dut.pages[number].table

    async def write(self, name, *, privileged=True, **fields):
        """Return the reason for which the write is refused, or NONE."""
        address, word = MAP[name].address_in(self._number), MAP[name].pack(**fields)
        return await outcome(self._ctx, self._dut, address, word, privileged=privileged)

    async def user(self, name, **fields):
        """Write as unprivileged software."""
        return await self.write(name, privileged=False, **fields)

    async def read(self, name):
        word, _ = await read(self._ctx, self._dut, MAP[name].address_in(self._number))
        return MAP[name].unpack(word)

    def entries(self):
        """Return which regions, ranges and peers are enabled."""
        maps = self._ctx.get(self._table.maps)
        entries = [entry.enable for table in (maps.regions, maps.ranges) for entry in table]
        return entries + [entry["enable"] for entry in self.peers()]

    def peers(self):
        """Return the fields of each peer."""
        peers = self._ctx.get(self.port.peers)
        names = ("enable", *PEERS[0])
        return [{name: peers[index][name] for name in names} for index in range(P.peers)]

    async def region(self, index, base, limit, **fields):
        """Commit a region of these bytes; return the reason for a refusal."""
        await self.write("REGION_BASE_LO", bytes=base)
        await self.write("REGION_LIMIT_LO", bytes=limit)
        return await self.write("REGION_COMMIT", index=index, enable=1, **fields)

    def set(self, **inputs):
        for name, value in inputs.items():
            self._ctx.set(getattr(self.port, name), value)


def simulate(bench):
    """Run a bench with both pages, after a reset that has left no work."""
    dut = device(Registers, P)

    async def run(ctx):
        pages = [Page(ctx, dut, number) for number in range(P.contexts)]
        for page in pages:
            page.set(drained=1, launch_drained=1, idle=1)
        await ctx.tick().repeat(3)
        await bench(ctx, *pages)

    simulate_device(dut, run)


async def assign(*pages):
    """Give the contexts their spaces and ways, and leave the assignments open."""
    for page, spaces, mask in zip(pages, SPACES, WAYS, strict=True):
        assert await page.write("ADDRESS_SPACE", **spaces) == NONE
        assert await page.write("WAYS", mask=mask) == NONE
        assert await page.write("LOCK", assignment=0) == NONE


@EITHER
def test_a_tenant_does_not_choose_its_peers(own):
    """Packets of the tenant would reach the other tenant's buffers at a peer, or name another
    sender."""

    async def bench(ctx, *pages):
        await assign(*pages)
        page = pages[own]
        assert await page.write("LOCK", regions=0, assignment=0) == NONE
        assert await page.write("RANK", rank=70) == NONE
        for index, entry in enumerate(PEERS):
            assert await page.write("PEER", **entry) == NONE
            assert await page.write("PEER_COMMIT", index=index, enable=1) == NONE
        before = page.peers()
        assert before[: len(PEERS)] == [entry | {"enable": 1} for entry in PEERS]
        assert await page.user("PEER", **PEERS[0] | {"space": 7}) == LOCKED
        assert await page.read("PEER") == PEERS[-1]
        for enable in (0, 1):
            assert await page.user("PEER_COMMIT", index=0, enable=enable) == LOCKED
        assert await page.user("RANK", rank=3) == LOCKED
        assert page.peers() == before and ctx.get(page.port.rank) == 70
        assert not any(entry["enable"] for entry in pages[1 - own].peers())
        assert ctx.get(pages[1 - own].port.rank) == 0

    simulate(bench)


@EITHER
def test_a_tenant_does_not_take_ways(own):
    """Any way of another context is refused; own and free ways are accepted."""

    async def bench(ctx, *pages):
        await assign(*pages)
        page, other = pages[own], pages[1 - own]
        for way in range(P.ways):
            expected = OVERLAP if WAYS[1 - own] >> way & 1 else NONE
            assert await page.user("WAYS", mask=WAYS[own] | 1 << way) == expected, way
        assert (await page.read("WAYS"))["mask"] == WAYS[own]
        given = 1 << WAYS[1 - own].bit_length() - 1
        assert await other.user("WAYS", mask=WAYS[1 - own] & ~given) == NONE
        assert await page.user("WAYS", mask=WAYS[own] | given) == NONE
        # Privileged software may let contexts share ways.
        assert await other.write("WAYS", mask=WAYS[1 - own]) == NONE
        assert await page.user("WAYS", mask=WAYS[own] | given) == OVERLAP

    simulate(bench)


class Tenant:
    """Tenant of a context that launches."""

    def __init__(self, page):
        self._page, self._generation = page, 0

    async def prepare(self):
        """Program a launch, once a reset is over."""
        assert await self._page.write("EPOCH_RESET", restart=1) == NONE
        for name, field in (
            ("WORKGROUPS", "count"),
            ("TRACKED_END", "dispatch_index"),
            ("CREDIT_WINDOW", "workgroups"),
            ("COMMAND_WINDOW", "workgroups"),
        ):
            assert await self._page.user(name, **{field: 1}) == NONE

    async def launch(self, *, privileged=False):
        """Return the reason for which the next launch is refused, or NONE."""
        self._generation = (self._generation + 1) % 16
        await self._page.user("TRACKING", generation=self._generation)
        return await self._page.write("CONTROL", privileged=privileged, launch=1)


async def running(page):
    """Launch; the launch goes on."""
    tenant = Tenant(page)
    await tenant.prepare()
    page.set(done=0, idle=0)
    assert await tenant.launch() == NONE
    assert (await page.read("STATUS"))["running"]
    page.set(launch_drained=0)
    return tenant


@pytest.mark.parametrize("privileged", [True, False])
@pytest.mark.parametrize("left", ["running", "pending", "tiles", "aborting", "strobe"])
def test_a_context_keeps_the_ways_of_its_tiles(left, privileged):
    """Tiles of a launch that runs, of one that is done, or that an abort still clears, stay in the
    context's ways: another context would find its own ways full."""

    async def bench(ctx, page, other):
        await assign(page, other)
        tenant = await running(page)
        if left == "pending":
            page.set(idle=1, done=1)
            assert await tenant.launch() == NONE
            assert (await page.read("STATUS"))["pending"]
        if left == "tiles":  # a late update of a tile that is complete
            page.set(done=1)
            await ctx.tick().repeat(2)
        if left in ("aborting", "strobe"):
            page.set(drained=0, idle=left == "aborting")
            assert await page.user("CONTROL", abort=1) == NONE
        for lost in (0b0001, 0b0100, 0b0101):
            mask = WAYS[0] & ~lost
            assert await page.write("WAYS", privileged=privileged, mask=mask) == IN_USE
        assert (await page.read("WAYS"))["mask"] == WAYS[0]
        # The same ways, and a further one, take no way from a tile.
        assert await page.write("WAYS", privileged=privileged, mask=WAYS[0]) == NONE
        assert await other.write("WAYS", mask=0b0010) == NONE
        assert await page.write("WAYS", privileged=privileged, mask=0b1101) == NONE
        page.set(drained=1, launch_drained=1, idle=1, done=1)
        assert await page.user("CONTROL", abort=1) == NONE
        await ctx.tick().repeat(3)
        assert await page.write("WAYS", privileged=privileged, mask=0b0001) == NONE
        assert await other.write("WAYS", mask=0b1110) == NONE

    simulate(bench)


def test_ways_are_kept_during_a_reset():
    """The tracker still clears its sets."""

    async def bench(ctx, *pages):
        pages[0].set(drained=0)
        assert await pages[0].write("CONTROL", abort=1) == NONE
        assert await pages[0].write("WAYS", mask=0b0001) == IN_USE
        pages[0].set(drained=1)
        await ctx.tick().repeat(3)
        assert await pages[0].write("WAYS", mask=0b0001) == NONE

    simulate(bench)


@pytest.mark.parametrize("names", [["launch"], ["abort"], ["launch", "measure"], ["copy"]])
def test_a_tenant_on_hold_neither_launches_nor_aborts_nor_copies(names):
    """A refused write has no effect, and a strobe of another kind acts as ever."""

    async def bench(ctx, page, other):
        await running(page)
        assert await page.write("LOCK", hold=1) == NONE
        before = ctx.get(page.port.copies.valid), await page.read("STATUS")
        if names == ["copy"]:
            assert await page.user("COPY", command=0) == LOCKED
        else:
            assert await page.user("CONTROL", **dict.fromkeys(names, 1)) == LOCKED
        assert not ctx.get(page.port.start) and not ctx.get(page.port.aborting)
        after = await page.read("STATUS") | {"configuration_error": 0}
        assert (ctx.get(page.port.copies.valid), after) == before
        # The code stays as it is.
        assert await page.user("CONTROL", measure=1, clear_error=1) == LOCKED
        assert await page.user("WORKGROUPS", count=3) == NONE
        assert await Tenant(other).launch() != LOCKED  # the other context is not on hold

    simulate(bench)


def test_no_pending_launch_begins_on_hold():
    async def bench(ctx, page, other):
        tenant = await running(page)
        assert await tenant.launch() == NONE
        assert await page.write("LOCK", hold=1) == NONE
        page.set(done=1, launch_drained=1, idle=1)
        await ctx.tick().repeat(9)
        assert (await page.read("LAUNCHES")) == {"begun": 1, "done": 1}
        assert (await page.read("STATUS"))["pending"]
        assert await page.write("LOCK", hold=0) == NONE
        await ctx.tick().repeat(3)
        assert (await page.read("LAUNCHES"))["begun"] == 2

    simulate(bench)


@pytest.mark.parametrize("hold", [0, 1])
def test_privileged_software_takes_a_context_from_a_tenant_that_launches(hold):
    """A tenant that launches twice after each abort keeps its tables, unless it is on hold."""

    async def bench(ctx, page, other):
        tenant = await running(page)
        page.set(launch_drained=1)  # as always after an abort
        assert await page.write("LOCK", hold=hold) == NONE
        for _ in range(3):
            await page.write("CONTROL", abort=1)
            await ctx.tick().repeat(3)
            refused = [await tenant.launch() for _ in range(2)]
            assert refused == [LOCKED if hold else NONE] * 2
            expected = NONE if hold else IN_USE
            for name in ("REGION_COMMIT", "RANGE_COMMIT"):
                assert await page.write(name, index=0, enable=0) == expected
            assert await page.write("EPOCH_RESET", restart=1) == expected
        assert await page.write("LOCK") == NONE
        assert await tenant.launch() == (NONE if hold else IN_USE)

    simulate(bench)


async def program_tables(page, base):
    """Program two peers, two regions, a range and a command of each region."""
    for index in range(2):
        await page.write("PEER", **PEERS[index])
        assert await page.write("PEER_COMMIT", index=index, enable=1) == NONE
        await page.user("RANGE_PEERS", peers=1 << index)
        start = base + 256 * index
        assert await page.region(index, start, start + 256) == NONE
        await page.user("COMMAND_INNER", inner_extent=1)
        await page.user("COMMAND_STRIDE", stride=1, region=index)
        assert await page.user("COMMAND_COMMIT", index=index) == NONE
        await page.user("RANGE_DISPATCH_INDICES", first=index, last=index)
        await page.user("RANGE_ACTION", region=index, action=1, command=index)
        assert await page.user("RANGE_COMMIT", index=index, enable=1) == NONE


@EITHER
def test_the_next_tenant_finds_no_table(own):
    """After CLEAR a copy reads no buffer of the former tenant, whose memory is free, and reaches
    none of its peers."""
    disabled = ConfigurationError.REGION_DISABLED

    async def bench(ctx, *pages):
        page, other = pages[own], pages[1 - own]
        await program_tables(page, 0)
        await program_tables(other, 1024)
        kept = other.entries()
        assert sum(page.entries()) == sum(kept) == 6
        assert await page.user("CLEAR", tables=1) == LOCKED
        assert await page.write("CLEAR", tables=0) == NONE
        assert sum(page.entries()) == 6
        assert await page.write("CLEAR", tables=1) == NONE
        assert not any(page.entries()) and other.entries() == kept
        for index in range(2):
            assert await page.user("COPY", command=index, peers=1) == disabled
            await page.user("RANGE_ACTION", region=index, action=1, command=index)
            assert await page.user("RANGE_COMMIT", index=index, enable=1) == disabled
        assert not ctx.get(page.port.copies.valid)
        assert await other.region(1, 0, 512) == NONE
        assert await page.region(0, 4096, 4128) == NONE
        assert await page.user("COPY", command=0, peers=1) == ConfigurationError.NO_PEER
        # The next tenant's tables are as good as the first ones.
        await program_tables(page, 2048)
        assert await page.user("COPY", command=1, peers=2) == NONE

    simulate(bench)


@pytest.mark.parametrize("left", ["running", "pending", "work", "aborting"])
def test_tables_in_use_are_not_cleared(left):
    async def bench(ctx, page, other):
        await program_tables(page, 0)
        if left == "work":  # a copy, or a packet in front of the link
            page.set(idle=0)
        else:
            tenant = await running(page)
        if left == "pending":
            page.set(idle=1, done=1)
            assert await tenant.launch() == NONE
        if left == "aborting":
            page.set(drained=0, idle=1)
            await page.write("CONTROL", abort=1)
        assert await page.write("CLEAR", tables=1) == IN_USE
        before = page.peers()
        for enable in (0, 1):  # packets that wait for the link go to the peer as it is then
            assert await page.write("PEER_COMMIT", index=0, enable=enable) == IN_USE
        assert sum(page.entries()) == 6 and page.peers() == before
        page.set(drained=1, launch_drained=1, idle=1)
        await page.write("CONTROL", abort=1)
        await ctx.tick().repeat(3)
        assert await page.write("CLEAR", tables=1) == NONE
        assert not any(page.entries())

    simulate(bench)
