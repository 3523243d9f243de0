"""Errors and interrupts through the register port."""

import random

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT, GLOBAL
from rtl.registers.port import Registers, Response
from tests.support.register_bus import read, start_write, write
from tests.support.simulation import device, simulate

P = T3Parameters(contexts=1)
MAP = register_map.load()
DEPTH = 8  # entries of the log
OKAY = Response.OKAY.value


class Page:
    """Page with error reports: the page of the GPU or of context 0."""

    def __init__(self, ctx, dut, page=CONTEXT):
        self.ctx, self.dut = ctx, dut
        self.port = dut if page == GLOBAL else dut.context[0]
        self.prefix = "GPU_" if page == GLOBAL else ""

    async def read(self, name):
        register = MAP[self.prefix + name]
        word, response = await read(self.ctx, self.dut, register.address)
        assert response == OKAY
        return register.unpack(word)

    async def write(self, name, **fields):
        register = MAP[self.prefix + name]
        word = register.pack(**fields)
        assert await write(self.ctx, self.dut, register.address, word) == OKAY
        await self.ctx.tick()

    def fail(self, *others, **report):
        """Set a report, and further errors of the cycle by their codes."""
        self.ctx.set(self.port.error.valid, 1)
        self.ctx.set(self.port.error.report, report)
        codes = {report["code"], *others}
        self.ctx.set(self.port.error.kinds, sum(1 << code.value for code in codes))

    async def report(self, *others, **report):
        """Raise errors for one cycle."""
        self.fail(*others, **report)
        await self.ctx.tick()
        self.ctx.set(self.port.error.valid, 0)

    async def oldest(self):
        """Return the oldest error as software reads it, and the number of errors."""
        error, place = await self.read("ERROR"), await self.read("ERROR_LOCATION")
        low, high = [(await self.read(f"ERROR_ADDRESS_{part}"))["bytes"] for part in ("LO", "HI")]
        place["address"] = high << 32 | low
        return error | place


FREQUENT = [code for code in ErrorCode if code.name.split("_")[0] in ("STORE", "PACKET")]
RARE = [code for code in ErrorCode if code.value and code not in FREQUENT]


def random_report(rng, codes=RARE):
    return {
        "code": rng.choice(codes),
        "dispatch_index": rng.getrandbits(P.dispatch_index_bits),
        "wavefront": rng.randrange(P.wavefronts),
        "atom": rng.getrandbits(P.atom_address_bits),
        "source": rng.getrandbits(5),
        "channel": rng.randrange(P.channels),
    }


def as_read(report, errors):
    return {
        **{name: report[name] for name in ("dispatch_index", "wavefront", "source", "channel")},
        "code": report["code"].value,
        "address": report["atom"] * P.atom_bytes,
        "errors": errors,
    }


NOTHING = dict.fromkeys(
    ("code", "dispatch_index", "wavefront", "source", "channel", "address", "errors"), 0
)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_the_log_is_read_from_the_oldest_on(page):
    """The log keeps eight errors; all errors are counted, and each strobe drops one."""
    seed = page
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = device(Registers, T3Parameters(contexts=1, channels=4, system_channels=4))
    reports = [random_report(rng) for _ in range(11)]

    async def bench(ctx):
        log = Page(ctx, dut, page)
        ctx.set(log.port.error.report, reports[0])
        await ctx.tick().repeat(3)
        assert await log.oldest() == NOTHING
        for report in reports:
            await log.report(**report)
        assert (await log.read("ERRORS"))["count"] == len(reports)
        for left in range(DEPTH, 0, -1):
            assert await log.oldest() == as_read(reports[DEPTH - left], left)
            await log.write("CONTROL", drop_error=1)
        assert await log.oldest() == NOTHING
        await log.write("CONTROL", drop_error=1)
        await log.report(**reports[-1])
        assert await log.oldest() == as_read(reports[-1], 1)
        assert (await log.read("ERRORS"))["count"] == len(reports) + 1
        await log.write("CONTROL", clear_error=1)
        assert await log.oldest() == NOTHING
        assert (await log.read("ERRORS"))["count"] == 0

    simulate(dut, bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_a_flood_leaves_places_for_rare_errors(page):
    """Errors of stores and packets take six places of eight, and those that come later none; rare
    errors take all eight.
    """
    seed = page
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = device(Registers, T3Parameters(contexts=1, channels=4, system_channels=4))
    flood = [random_report(rng, FREQUENT) for _ in range(9)]
    rare = [random_report(rng) for _ in range(3)]

    async def bench(ctx):
        log = Page(ctx, dut, page)
        for report in flood:
            await log.report(**report)
        for report in rare:
            await log.report(rng.choice(FREQUENT), **report)
            await log.report(**rng.choice(flood))
        assert (await log.read("ERRORS"))["count"] == len(flood) + 2 * len(rare)
        await log.write("CONTROL", drop_error=1)
        await log.report(**flood[-1])  # seven are left, so there is no place for it
        left = flood[1:6] + rare[:2]
        for number, report in enumerate(left):
            assert await log.oldest() == as_read(report, len(left) - number)
            await log.write("CONTROL", drop_error=1)
        assert await log.oldest() == NOTHING

    simulate(dut, bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_all_kinds_of_a_cycle_are_counted(page):
    """Each kind of a cycle's errors counts, whichever is logged; ERRORS counts the cycle."""
    dut = device(Registers, P)
    prefix = "GPU_" if page == GLOBAL else ""
    kinds = [code for code in ErrorCode if f"{prefix}COUNT_{code.name}" in MAP]

    async def bench(ctx):
        log = Page(ctx, dut, page)
        for number in range(len(kinds)):
            await log.report(*kinds[number:], code=kinds[-1])
        for number, kind in enumerate(kinds, 1):
            assert (await log.read(f"COUNT_{kind.name}"))["count"] == number
        assert (await log.read("ERRORS"))["count"] == len(kinds)

    simulate(dut, bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_each_kind_is_counted(page):
    """A context counts every error that it can have; the GPU counts the errors of no context."""
    dut = device(Registers, P)
    prefix = "GPU_" if page == GLOBAL else ""
    kinds = [code for code in ErrorCode if f"{prefix}COUNT_{code.name}" in MAP]

    async def bench(ctx):
        log = Page(ctx, dut, page)
        for number, kind in enumerate(kinds, 2):
            for _ in range(number):
                await log.report(code=kind)
        for number, kind in enumerate(kinds, 2):
            assert (await log.read(f"COUNT_{kind.name}"))["count"] == number
        await log.write("CONTROL", clear_error=1)
        for kind in kinds:
            assert (await log.read(f"COUNT_{kind.name}"))["count"] == 0

    simulate(dut, bench)


def test_each_error_has_a_count():
    """Link errors are counted in the GPU's page, all others in a context's page."""
    of_links = {ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET}
    counted, of_gpu = (
        {code for code in ErrorCode if f"{prefix}COUNT_{code.name}" in MAP}
        for prefix in ("", "GPU_")
    )
    assert counted == set(ErrorCode) - {ErrorCode.NONE} - of_links
    assert of_gpu == {ErrorCode.PACKET_UNMAPPED, *of_links}


@pytest.mark.parametrize("code", [ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET])
def test_an_error_of_a_link_is_reported_to_every_context(code):
    """A link error raises an interrupt that is off after reset; other errors of the GPU raise
    none."""
    dut = Registers(T3Parameters(contexts=2))

    async def bench(ctx):
        gpu, pages = Page(ctx, dut, GLOBAL), [Page(ctx, dut), Page(ctx, dut)]
        pages[1].port = dut.context[1]
        await pages[0].write("INTERRUPT_ENABLE", link=1)
        await gpu.report(code=ErrorCode.PACKET_UNMAPPED)
        await ctx.tick().repeat(2)
        assert not (await pages[0].read("INTERRUPTS"))["link"]
        await gpu.report(code=code, channel=0)
        await ctx.tick().repeat(2)
        assert [ctx.get(page.port.irq) for page in pages] == [1, 0]
        assert (await gpu.read(f"COUNT_{code.name}"))["count"] == 1
        for context in range(2):
            address = MAP["INTERRUPTS"].address_in(context)
            word, _ = await read(ctx, dut, address)
            assert MAP["INTERRUPTS"].unpack(word)["link"] == 1
            assert await write(ctx, dut, address, MAP["INTERRUPTS"].pack(link=1)) == OKAY
        await ctx.tick().repeat(2)
        assert not any(ctx.get(page.port.irq) for page in pages)

    simulate(dut, bench)


def test_a_count_stays_at_its_most():
    dut = device(Registers, P)

    async def bench(ctx):
        log = Page(ctx, dut)
        log.fail(code=ErrorCode.OVERRUN)
        await ctx.tick().repeat((1 << 16) + 10)
        ctx.set(log.port.error.valid, 0)
        assert (await log.read("COUNT_OVERRUN"))["count"] == 0xFFFF
        assert (await log.read("ERRORS"))["count"] == (1 << 16) + 10

    simulate(dut, bench)


@pytest.mark.parametrize("strobe", ["clear_error", "drop_error"])
@pytest.mark.parametrize("when", ["acts", "strobe", "after"])
def test_error_around_a_strobe(strobe, when):
    """An error in the cycle of the strobe, or later, stays."""
    dut = device(Registers, P)
    new = {"code": ErrorCode.PACKET_AHEAD, "dispatch_index": 7, "wavefront": 3}

    async def bench(ctx):
        log = Page(ctx, dut)
        for index in range(2):
            await log.report(code=ErrorCode.STORE_LATE, dispatch_index=index)
        word = MAP["CONTROL"].pack(**{strobe: 1})
        start_write(ctx, dut, MAP["CONTROL"].address, word)
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        for cycle in ("acts", "strobe", "after"):
            if cycle == when:
                log.fail(**new)
            await ctx.tick()
            ctx.set(log.port.error.valid, 0)
        ctx.set(dut.bus.bready, 1)
        await ctx.tick()
        ctx.set(dut.bus.bready, 0)
        left = [(ErrorCode.STORE_LATE, 1), (new["code"], 7)] if strobe == "drop_error" else []
        if strobe == "clear_error" and when != "acts":
            left = [(new["code"], 7)]
        found = []
        while (error := await log.oldest())["errors"]:
            found.append((ErrorCode(error["code"]), error["dispatch_index"]))
            await log.write("CONTROL", drop_error=1)
        assert found == left
        assert (await log.read("ERRORS"))["count"] == (3 if strobe == "drop_error" else len(left))

    simulate(dut, bench)


@pytest.mark.parametrize("page", [GLOBAL, CONTEXT])
def test_an_error_interrupts_until_it_is_seen(page):
    """The interrupt is enabled from reset on; writing a zero clears nothing."""
    dut = device(Registers, P)

    async def bench(ctx):
        log = Page(ctx, dut, page)
        for seen in (("INTERRUPTS", {"error": 1}), ("CONTROL", {"clear_error": 1})):
            assert not ctx.get(log.port.irq)
            await log.report(code=ErrorCode.PACKET_UNMAPPED)
            assert ctx.get(log.port.irq)
            assert (await log.read("INTERRUPTS"))["error"] == 1
            await log.write("INTERRUPTS")
            assert ctx.get(log.port.irq)
            await log.write(seen[0], **seen[1])
            assert not ctx.get(log.port.irq)
        await log.write("INTERRUPT_ENABLE", error=0)
        await log.report(code=ErrorCode.PACKET_UNMAPPED)
        assert not ctx.get(log.port.irq)
        await log.write("INTERRUPT_ENABLE", error=1)
        assert ctx.get(log.port.irq)

    simulate(dut, bench)


EVENTS = ["done", "idle", "copy", "error", "link", "progress"]


async def provoke(ctx, dut, kind):
    """An interrupt of this kind is raised once."""
    port = dut.context[0]
    if kind == "error":
        await Page(ctx, dut).report(code=ErrorCode.TIMEOUT)
    elif kind == "progress":
        ctx.set(port.reports, 1)
        await ctx.tick()
        ctx.set(port.reports, 0)
    elif kind == "idle":
        ctx.set(port.idle, 1)
        await ctx.tick()
    elif kind == "copy":
        for name, fields in (
            ("REGION_LIMIT_LO", {"bytes": 1 << 12}),
            ("REGION_COMMIT", {"index": 0, "enable": 1}),
            ("COMMAND_COMMIT", {"index": 0}),
            ("COPY", {"command": 0, "peers": 1}),
        ):
            word = MAP[name].pack(**fields)
            assert await write(ctx, dut, MAP[name].address, word) == OKAY
        ctx.set(port.dma_idle, 1)
        await ctx.tick().repeat(3)
        assert not (await Page(ctx, dut).read("INTERRUPTS"))["copy"]  # the copy waits to be taken
        ctx.set(port.dma_idle, 0)
        ctx.set(port.copies.ready, 1)
        await ctx.tick()
        ctx.set(port.copies.ready, 0)
        await ctx.tick().repeat(3)
        assert not (await Page(ctx, dut).read("INTERRUPTS"))["copy"]  # the copy is being sent
        ctx.set(port.dma_idle, 1)
        await ctx.tick()
    elif kind == "link":
        await Page(ctx, dut, GLOBAL).report(code=ErrorCode.LINK_DOWN)
    else:
        for name, fields in (
            ("WORKGROUPS", {"count": 1}),
            ("TRACKED_END", {"dispatch_index": 1}),
            ("CREDIT_WINDOW", {"workgroups": 1}),
            ("COMMAND_WINDOW", {"workgroups": 1}),
            ("EPOCH_RESET", {"restart": 1}),
            ("CONTROL", {"launch": 1}),
        ):
            word = MAP[name].pack(**fields)
            assert await write(ctx, dut, MAP[name].address, word) == OKAY
        await ctx.tick().repeat(4)
        assert not (await Page(ctx, dut).read("INTERRUPTS"))["done"]
        ctx.set(port.done, 1)
        await ctx.tick()


@pytest.mark.parametrize("enabled", EVENTS)
@pytest.mark.parametrize("kind", EVENTS)
def test_interrupts(kind, enabled):
    """Each error is reported once, and interrupts if it is enabled."""
    dut = device(Registers, P)

    async def bench(ctx):
        page, port = Page(ctx, dut), dut.context[0]
        ctx.set(port.drained, 1)  # the end of the reset, after which there can be a launch
        ctx.set(port.launch_drained, 1)
        ctx.set(port.idle, 1)  # so that a peer for copies may be added
        await ctx.tick().repeat(5)
        await page.write("PEER", sends_stores=1)
        await page.write("PEER_COMMIT", index=0, enable=1)
        ctx.set(port.idle, 0)
        await page.write("INTERRUPTS", **dict.fromkeys(EVENTS, 1))
        ctx.set(port.drained, 0)
        await page.write("INTERRUPT_ENABLE", **dict.fromkeys(EVENTS, 0) | {enabled: 1})
        await provoke(ctx, dut, kind)
        await ctx.tick().repeat(3)
        assert ctx.get(port.irq) == (kind == enabled)
        expected = dict.fromkeys(EVENTS, 0) | {kind: 1}
        assert await page.read("INTERRUPTS") == expected
        await page.write("INTERRUPTS", **dict.fromkeys(EVENTS, 1) | {kind: 0})
        assert await page.read("INTERRUPTS") == expected
        await page.write("INTERRUPTS", **{kind: 1})
        await ctx.tick().repeat(3)
        assert not any((await page.read("INTERRUPTS")).values()) and not ctx.get(port.irq)

    simulate(dut, bench)


def test_what_happens_as_it_is_cleared_stays():
    dut = device(Registers, P)

    async def bench(ctx):
        page = Page(ctx, dut)
        await page.report(code=ErrorCode.TIMEOUT)
        start_write(ctx, dut, MAP["INTERRUPTS"].address, MAP["INTERRUPTS"].pack(error=1))
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        await page.report(code=ErrorCode.TIMEOUT)  # in the cycle in which the write acts
        assert ctx.get(dut.context[0].irq)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.context[0].irq)

    simulate(dut, bench)
