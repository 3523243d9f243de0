"""Names that software, stores and packets give: wavefronts, address spaces, regions and tiles."""

from dataclasses import replace

import pytest

from driver.python import DOWNSTREAM, UPSTREAM
from rtl.interface.encodings import Access, ConfigurationError, ErrorCode, Origin, PacketKind
from tests.support.context_traffic import KERNELS, TWO, Kernel, Traffic, begin, finish
from tests.support.register_bus import outcome
from tests.support.top_bench import (
    MAP,
    PROGRAM,
    ROWS,
    WAVE,
    WORKGROUPS,
    abort,
    admit,
    begun,
    channel_number,
    launch,
    offer,
    peers_of,
    program,
    settle,
    simulate,
    status,
)

FIRST, SECOND = KERNELS
WAVES = {"wave_outer_extent": ROWS, "waves0": 2}


class Forger(Kernel):
    """Neighbour that names wavefronts which the command does not have."""

    def stores(self):
        return []

    def packets(self):
        for slot in range(1, WORKGROUPS):
            for wavefront in range(2, 8):
                for atom, _ in self.tile(slot)[:2]:
                    yield self.packet(atom, slot, wavefront)
                yield self.end_packet(slot, wavefront)


def waves(**changes):
    return [("COMMAND_WAVES", WAVES | changes), ("COMMAND_COMMIT", {"index": 0})]


async def refused(ctx, dut, name, fields, context=0, *, privileged=True):
    """Return the reason for which a write is refused, or NONE."""
    word = MAP[name].pack(**fields)
    return await outcome(ctx, dut, MAP[name].address_in(context), word, privileged=privileged)


async def region(ctx, dut, context, base, limit, *, index=0, privileged=True, **fields):
    """Commit a region of these atoms; return the reason for a refusal."""
    staged = ("REGION_BASE_LO", base), ("REGION_LIMIT_LO", limit)
    for name, atom in staged:
        address, word = MAP[name].address_in(context), atom * 32
        code = await outcome(ctx, dut, address, word, privileged=privileged)
        assert code == ConfigurationError.NONE
    fields = {"index": index, "enable": 1} | fields
    return await refused(ctx, dut, "REGION_COMMIT", fields, context, privileged=privileged)


async def errors(ctx, dut, *codes, context=0):
    """Return the counts of these errors."""
    return [(await status(ctx, dut, f"COUNT_{code.name}", context))["count"] for code in codes]


@pytest.mark.parametrize("granularity", [0, 1])
def test_a_kernel_with_more_wavefronts_than_its_command_is_reported(granularity):
    """Nothing of a wavefront that the command lacks is admitted, and all of it is reported."""
    traffic = Traffic(2)
    transfer = dict(FIRST.registers)["COMMAND_TRANSFER"] | {"granularity": granularity}
    changes = [("COMMAND_TRANSFER", transfer), *waves(waves0=1), ("TIMEOUT", {"ticks": 400})]

    async def bench(ctx, dut):
        await launch(ctx, dut, [*FIRST.registers, *changes])
        admit(ctx, dut.context[0], 100)
        for item in FIRST.stores():
            port = dut.channel[channel_number(item["atom"])]
            await offer(ctx, store=(port.stores, item))
        for item in FIRST.packets():
            port = dut.channel[channel_number(item["atom"])]
            await offer(ctx, packet=(port.link_in, item))
        await ctx.tick().repeat(60)
        tile = ROWS * WAVE
        counts = ErrorCode.STORE_MISMATCH, ErrorCode.PACKET_MISMATCH, ErrorCode.SET_FULL
        # Stores, packets and markers of the second wavefront, of three tracked workgroups.
        assert await errors(ctx, dut, *counts) == [3 * (tile + 1), 3 * (tile + 1), 0]
        wrong = {
            (Access.UPDATE, origin, atom)
            for origin in Origin
            for index in range(1, WORKGROUPS)
            for atom, wavefront in FIRST.tile(index)
            if wavefront
        }
        assert not wrong & set(traffic.accesses(FIRST))

    simulate(bench, TWO, background=traffic)


def test_a_kernel_with_fewer_wavefronts_than_its_command_times_out():
    traffic = Traffic(3)
    # Ways for three wavefronts.
    changes = [*waves(waves0=3), ("WAYS", {"mask": 15}), ("TIMEOUT", {"ticks": 300})]

    async def bench(ctx, dut):
        await launch(ctx, dut, [*FIRST.registers, *changes])
        admit(ctx, dut.context[0], 100)
        traffic.add(FIRST)
        await ctx.tick().repeat(500)
        assert not ctx.get(dut.context[0].done)
        assert (await status(ctx, dut, "OLDEST"))["dispatch_index"] == 1
        assert (await errors(ctx, dut, ErrorCode.TIMEOUT))[0]
        await abort(ctx, dut)

    simulate(bench, TWO, background=traffic)


def test_a_neighbour_cannot_name_wavefronts_that_the_command_lacks():
    """Forged updates leave nothing behind: the launch ends with all of its tiles."""
    traffic = Traffic(4)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, FIRST)
        traffic.add(Forger(**vars(FIRST)))
        await finish(ctx, dut, FIRST)
        await ctx.tick().repeat(100)
        assert ctx.get(dut.context[0].tiles) == 6
        codes = ErrorCode.PACKET_MISMATCH, ErrorCode.SET_FULL, ErrorCode.PACKET_LATE
        mismatches, full, late = await errors(ctx, dut, *codes)
        assert mismatches and not full and not late

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize(
    ("forged", "code"),
    [
        ({"source": 9}, ErrorCode.PACKET_FORBIDDEN),
        ({"source": peers_of(0)[DOWNSTREAM].rank}, ErrorCode.PACKET_FORBIDDEN),
        ({"source": peers_of(1)[UPSTREAM].rank}, ErrorCode.PACKET_FORBIDDEN),
        ({"generation": 7}, ErrorCode.PACKET_STALE),
        ({"wavefront": 5}, ErrorCode.PACKET_MISMATCH),
        ({"slot": 0}, ErrorCode.PACKET_UNMAPPED),
    ],
    ids=[
        "stranger",
        "receiver",
        "peer of the other context",
        "former launch",
        "wavefront",
        "slot",
    ],
)
def test_a_forged_end_packet_takes_no_share(forged, code):
    """Markers of a GPU that may not send them, of another launch, or of tiles that are not tracked
    leave nothing behind: the launch ends with all of its tiles, each with all of its atoms."""
    traffic = Traffic(9)

    async def bench(ctx, dut):
        await launch(ctx, dut, FIRST.registers)
        admit(ctx, dut.context[0], 100)
        for slot in range(1, WORKGROUPS):
            for wavefront in range(2):
                marker = FIRST.end_packet(slot, wavefront, 1) | forged
                await offer(ctx, end=(dut.channel[slot % 2].link_in, marker))
        traffic.add(FIRST)
        await finish(ctx, dut, FIRST)
        assert ctx.get(dut.context[0].tiles) == 6
        assert await errors(ctx, dut, code) == [6]
        assert (await status(ctx, dut, "ERRORS"))["count"] == 6
        assert traffic.accesses(FIRST) == FIRST.accesses()
        assert traffic.sends(FIRST) == FIRST.sends()

    simulate(bench, TWO, background=traffic)


def test_an_end_packet_of_another_address_space_is_of_no_context():
    async def bench(ctx, dut):
        await launch(ctx, dut, FIRST.registers)
        admit(ctx, dut.context[0], 100)
        marker = FIRST.end_packet(1, 0) | {"context": SECOND.local}
        await offer(ctx, end=(dut.channel[1].link_in, marker))
        await ctx.tick().repeat(20)
        assert (await status(ctx, dut, "ERRORS"))["count"] == 0
        error = await status(ctx, dut, "GPU_ERROR")
        assert ErrorCode(error["code"]) == ErrorCode.PACKET_UNMAPPED

    simulate(bench, TWO)


@pytest.mark.parametrize("action", [2, 3])
def test_a_launch_without_shares_is_refused(action):
    """Tiles of DMA and OWN ranges need a share to be complete."""
    fields = {"region": 0, "action": action, "command": 0}
    control = "CONTROL", {"launch": 1}

    async def bench(ctx, dut):
        await settle(ctx, dut)
        await program(ctx, dut, [*PROGRAM, *FIRST.registers])
        await program(ctx, dut, [("RANGE_DISPATCH_INDICES", {"first": 3, "last": 3})])
        for shares, code in ((0, ConfigurationError.EMPTY), (1, ConfigurationError.NONE)):
            own = [("RANGE_ACTION", fields | {"shares": shares})]
            await program(ctx, dut, [*own, ("RANGE_COMMIT", {"index": 2, "enable": 1})])
            assert await refused(ctx, dut, *control) == code

    simulate(bench, TWO)


@pytest.mark.parametrize("action", [2, 3])
def test_a_launch_without_wavefronts_is_refused(action):
    """DMA and OWN ranges need wavefronts; with a wavefront at any edge the launch is accepted."""
    ranges = [("RANGE_ACTION", {"region": 0, "action": action, "command": 1, "shares": 2})]
    ranges += [("RANGE_COMMIT", {"index": 2, "enable": 1})]
    none = [("COMMAND_WAVES", {}), ("COMMAND_COMMIT", {"index": 1})]

    async def bench(ctx, dut):
        await settle(ctx, dut)
        await program(ctx, dut, [*PROGRAM, *FIRST.registers])
        await program(ctx, dut, [("RANGE_DISPATCH_INDICES", {"first": 3, "last": 3}), *ranges])
        await program(ctx, dut, none)
        control = "CONTROL", {"launch": 1}
        assert await refused(ctx, dut, *control) == ConfigurationError.EMPTY
        for edges in range(4):
            generation = {"generation": edges}
            await program(ctx, dut, [("TRACKING", generation), *none])
            assert await refused(ctx, dut, *control) == ConfigurationError.EMPTY
            await program(ctx, dut, [("COMMAND_WAVES", {f"waves{edges}": 1}), none[1]])
            assert await refused(ctx, dut, *control) == ConfigurationError.NONE
            await begun(ctx, dut)
            await abort(ctx, dut)

    simulate(bench, TWO)


def test_an_address_space_belongs_to_one_context():
    spaces = [{"local": kernel.local, "enable": 1} for kernel in KERNELS]

    async def bench(ctx, dut):
        for context, space in enumerate(spaces):
            assert await refused(ctx, dut, "ADDRESS_SPACE", space, context) == (
                ConfigurationError.NONE
            )
        for privileged in (True, False):
            for context in range(2):
                await program(ctx, dut, [("LOCK", {"assignment": 0})], context)
                code = await refused(
                    ctx, dut, "ADDRESS_SPACE", spaces[1 - context], context, privileged=privileged
                )
                assert code == ConfigurationError.OVERLAP
                kept = await status(ctx, dut, "ADDRESS_SPACE", context)
                assert kept == spaces[context]
        # The own one again, and the other's while it is not enabled.
        assert await refused(ctx, dut, "ADDRESS_SPACE", spaces[0]) == ConfigurationError.NONE
        off = spaces[1] | {"enable": 0}
        assert await refused(ctx, dut, "ADDRESS_SPACE", off) == ConfigurationError.NONE
        assert await refused(ctx, dut, "ADDRESS_SPACE", spaces[0], 1) == ConfigurationError.NONE
        assert await refused(ctx, dut, "ADDRESS_SPACE", spaces[1]) == ConfigurationError.NONE

    simulate(bench, TWO)


def test_regions_of_two_contexts_do_not_overlap():
    """Each atom of a region is the context's own, unless privileged software shares it."""
    none, overlap = ConfigurationError.NONE, ConfigurationError.OVERLAP

    async def bench(ctx, dut):
        await settle(ctx, dut)
        await settle(ctx, dut, 1)
        assert await region(ctx, dut, 0, 100, 200) == none
        for base, limit in ((0, 101), (199, 300), (120, 130), (0, 4000), (100, 200)):
            assert await region(ctx, dut, 1, base, limit, index=1) == overlap, (base, limit)
        for base, limit in ((0, 100), (200, 300)):
            assert await region(ctx, dut, 1, base, limit) == none
        # The user cannot share, and sharing does not excuse an overlap with the own region.
        for context in range(2):
            await program(ctx, dut, [("LOCK", {"regions": 0})], context)
        shared = dict(index=1, share=1)
        assert await region(ctx, dut, 0, 250, 260, **shared, privileged=False) == overlap
        assert await region(ctx, dut, 0, 150, 260, **shared) == overlap
        assert await region(ctx, dut, 0, 250, 260, **shared) == none
        assert await refused(ctx, dut, "REGION_COMMIT", {"index": 1, "enable": 0}) == none

    simulate(bench, TWO)


@pytest.mark.parametrize("ends", ["running", "done"])
def test_a_region_in_use_is_not_given_to_another_context(ends):
    """The launch's region counts until an abort has ended, although the region has been moved."""
    none, overlap = ConfigurationError.NONE, ConfigurationError.OVERLAP
    traffic, base = Traffic(5), FIRST.region
    moved = replace(FIRST, region=6144)
    copy = FIRST.packet(base + 2, 1, 0) | {"kind": PacketKind.STORE}

    async def bench(ctx, dut):
        await settle(ctx, dut, 1)
        await begin(ctx, dut, traffic, FIRST)
        if ends == "done":
            await finish(ctx, dut, FIRST)
        assert await region(ctx, dut, 0, moved.region, moved.region + 256) == none
        assert await region(ctx, dut, 1, base, base + 8) == overlap
        assert await region(ctx, dut, 1, moved.region, moved.region + 8) == overlap
        traffic.drop(FIRST)
        await abort(ctx, dut)
        assert await region(ctx, dut, 1, base, base + 8) == none
        # A neighbour's late copy into the old region is refused.
        before = traffic.accesses(FIRST)
        await offer(ctx, copy=(dut.channel[channel_number(base + 2)].link_in, copy))
        await ctx.tick().repeat(20)
        assert traffic.accesses(FIRST) == before
        assert await errors(ctx, dut, ErrorCode.PACKET_STALE) == [1]

    simulate(bench, TWO, background=traffic)


def test_an_update_outside_the_region_of_its_range_is_refused():
    other = 6144
    second = [
        ("REGION_BASE_LO", {"bytes": other * 32}),
        ("REGION_LIMIT_LO", {"bytes": (other + 64) * 32}),
        ("REGION_COMMIT", {"index": 1, "enable": 1}),
    ]

    async def bench(ctx, dut):
        await launch(ctx, dut, [*FIRST.registers, *second])
        admit(ctx, dut.context[0], 100)
        port = dut.channel[channel_number(other)]
        await offer(ctx, packet=(port.link_in, FIRST.packet(other, 1, 0)))
        await ctx.tick().repeat(20)
        assert await errors(ctx, dut, ErrorCode.PACKET_UNMAPPED) == [1]

    traffic = Traffic(7)
    simulate(bench, TWO, background=traffic)
    assert not any(memory.seen for memory in traffic.memories)


@pytest.mark.parametrize("forged", [0, 255])
def test_a_forged_update_stays_in_its_buffer(forged):
    """An update of another atom of the buffer under a live tile's name spoils this launch: the
    watchdog reports it, nothing outside the buffer is touched, and the next launch is complete."""
    traffic, inside = Traffic(8), range(FIRST.region, FIRST.region + 256)
    packet = FIRST.packet(FIRST.region + forged, 1, 0)

    async def bench(ctx, dut):
        await launch(ctx, dut, [*FIRST.registers, ("TIMEOUT", {"ticks": 200})])
        admit(ctx, dut.context[0], 100)
        port = dut.channel[channel_number(packet["atom"])]
        await offer(ctx, packet=(port.link_in, packet))
        await ctx.tick().repeat(10)
        traffic.add(FIRST)
        await ctx.tick().repeat(600)
        assert (await errors(ctx, dut, ErrorCode.TIMEOUT))[0]
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            assert all(atom in inside for _, _, atom in memory.seen)
            assert all(one[5] - FIRST.offset in inside for one in sent)
        traffic.drop(FIRST)
        await abort(ctx, dut)
        before = ctx.get(dut.context[0].tiles)
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            memory.seen.clear()
            sent.clear()
        await begin(ctx, dut, traffic, FIRST.again)
        await finish(ctx, dut, FIRST)
        assert ctx.get(dut.context[0].tiles) == before + 6
        assert traffic.accesses(FIRST) == FIRST.accesses()
        assert traffic.sends(FIRST) == FIRST.sends()

    simulate(bench, TWO, background=traffic)
