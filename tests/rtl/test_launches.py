"""Consecutive launches of a context, without effects of earlier ones."""

from dataclasses import replace

import pytest

from driver.python import DOWNSTREAM, UPSTREAM
from rtl.interface.encodings import Access, Action, ErrorCode, Origin, PacketKind
from tests.support.context_traffic import KERNELS, MOST_CYCLES, TWO, Traffic
from tests.support.register_bus import start_write
from tests.support.top_bench import (
    BOTH_WAYS,
    LIMIT_CYCLES,
    MAP,
    PROGRAM,
    ROWS,
    RUN,
    WORKGROUPS,
    abort,
    admit,
    announce,
    channel_number,
    launch,
    offer,
    peers_of,
    program,
    simulate,
    status,
)

CONTEXT = 1
FIRST = replace(KERNELS[CONTEXT], generation=15)
SECOND = replace(FIRST, region=6144, offset=512, first=3, generation=0)
MOST_GAP_CYCLES = 100
UNLIMITED = (1 << TWO.credit_limit_bits) - 1  # dispatch limit while all tiles are admitted


class Timed(Traffic):
    """Traffic that records the cycles in which each kernel's updates went to the memory."""

    def __init__(self, seed):
        super().__init__(seed)
        self.updates = {FIRST: [], SECOND: []}
        self._calls = 0

    def _take(self, ctx, port, sent):
        super()._take(ctx, port, sent)
        request = ctx.get(port.dram.p)
        if ctx.get(port.dram.valid) and request.access == Access.UPDATE:
            kernel = FIRST if request.atom < SECOND.region else SECOND
            self.updates[kernel].append(self._calls // TWO.channels)
        self._calls += 1


def show(ctx, port, kernel, *, finished):
    """Drive the dispatcher and the peers for this kernel."""
    ctx.set(port.kernel_generation, kernel.generation)
    ctx.set(port.finished, finished)
    announce(ctx, port, kernel.generation)
    admit(ctx, port, 100)


async def errors(ctx, dut):
    """Return the code of the first error and the number of errors since the last call."""
    await ctx.tick().repeat(10)
    found = await status(ctx, dut, "ERROR", CONTEXT), await status(ctx, dut, "ERRORS", CONTEXT)
    await program(ctx, dut, [("CONTROL", {"clear_error": 1})], CONTEXT)
    return found[0]["code"], found[1]["count"]


@pytest.mark.parametrize("ends", [True, False])
def test_a_launch_that_waits_for_ever_is_reported(ends):
    """A kernel whose last workgroup never ends holds up the next launch: the watchdog reports it.
    As long as workgroups end, it reports nothing."""
    traffic = Traffic(0)
    ticks = 40

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, [*FIRST.registers, ("TIMEOUT", {"ticks": ticks})], CONTEXT)
        show(ctx, port, FIRST, finished=0)
        traffic.add(FIRST)
        while not (ctx.get(port.done) and ctx.get(port.idle)):
            await ctx.tick()
        await ctx.tick().repeat(2 * ticks)
        before = (await status(ctx, dut, "COUNT_TIMEOUT", CONTEXT))["count"]
        await program(ctx, dut, [*SECOND.registers, ("CONTROL", {"launch": 1})], CONTEXT)
        for number in range(1, 4):
            await ctx.tick().repeat(ticks - 10)
            if ends:
                ctx.set(port.finished, number % WORKGROUPS)
        assert (await status(ctx, dut, "STATUS", CONTEXT))["pending"]
        count = (await status(ctx, dut, "COUNT_TIMEOUT", CONTEXT))["count"] - before
        assert count == 0 if ends else count >= 2

    simulate(bench, TWO, background=traffic)


def test_waits_for_the_dispatcher():
    """No launch begins before all workgroups of the previous launch have ended."""
    traffic = Traffic(0)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        show(ctx, port, FIRST, finished=WORKGROUPS - 1)
        await program(ctx, dut, [*PROGRAM, *SECOND.registers, ("CONTROL", {"launch": 1})], CONTEXT)
        traffic.add(FIRST)
        while not (ctx.get(port.done) and ctx.get(port.idle)):
            await ctx.tick()
        await ctx.tick().repeat(60)
        assert (await status(ctx, dut, "STATUS", CONTEXT))["pending"]
        show(ctx, port, FIRST, finished=WORKGROUPS)
        await ctx.tick().repeat(6)  # the regions of the first launch are closed before
        assert ctx.get(port.generation) == SECOND.generation

    simulate(bench, TWO, background=traffic)


def test_limits_are_sent_with_their_generation():
    """A launch's generation comes with its limits, never with those of the launch before."""

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        nothing = ("TRACKED_FIRST", {"dispatch_index": WORKGROUPS})  # is updated: done at once
        await launch(ctx, dut, [*FIRST.registers, nothing], CONTEXT)
        show(ctx, port, FIRST, finished=WORKGROUPS)
        while not (ctx.get(port.done) and ctx.get(port.idle)):
            await ctx.tick()
        await program(ctx, dut, [*PROGRAM, *SECOND.registers], CONTEXT)
        control = MAP["CONTROL"]
        start_write(ctx, dut, control.address_in(CONTEXT), control.pack(launch=1))
        seen = []
        for _ in range(LIMIT_CYCLES + 5):
            await ctx.tick()
            seen.append(
                tuple(
                    ctx.get(signal)
                    for signal in (port.generation, port.credit_limit_out, port.dispatch_limit)
                )
            )
        begun = [limits for generation, *limits in seen if generation == SECOND.generation]
        before = [limits for generation, *limits in seen if generation == FIRST.generation]
        window = dict(PROGRAM)["CREDIT_WINDOW"]["workgroups"]
        assert before[-1] == [WORKGROUPS + window, UNLIMITED]
        assert begun[0] == [0, 0]
        assert begun[-1][0] == dict(PROGRAM)["TRACKED_FIRST"]["dispatch_index"] + window

    simulate(bench, TWO)


def test_waits_for_all_that_is_left():
    """A launch that is done may have a tile: an update on its way to the memory, an incomplete
    tile, a command that waits for a peer, packets. The next one waits for each."""
    traffic = Traffic(0)
    atoms = [atom for atom, of in FIRST.tile(1) if of == 0][:1]
    atoms += [atom for atom, of in FIRST.tile(1) if of == 1][:1]

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]

        async def give(stream, items):
            for item in items:
                of_channel = dut.channel[channel_number(item["atom"])]
                await offer(ctx, item=(getattr(of_channel, stream), item))

        async def stays():
            for _ in range(60):
                assert ctx.get(port.generation) == FIRST.generation
                await ctx.tick()

        await launch(ctx, dut, [*FIRST.registers, ("TRACKED_END", {"dispatch_index": 1})], CONTEXT)
        show(ctx, port, FIRST, finished=WORKGROUPS)
        admit(ctx, port, 0)
        await program(ctx, dut, [*PROGRAM, *SECOND.registers], CONTEXT)
        assert ctx.get(port.done) and ctx.get(port.idle)
        await give("stores", [FIRST.store(atom, 1, n) for n, atom in enumerate(atoms)])
        await program(ctx, dut, [("CONTROL", {"launch": 1})], CONTEXT)
        await stays()
        marks = [FIRST.store(atom, 1, n, end=True) for n, atom in enumerate(atoms)]
        await give("stores", [mark | {"tile_atoms": 1} for mark in marks])
        await stays()
        await give("link_in", [FIRST.packet(atom, 1, n) for n, atom in enumerate(atoms)])
        await stays()
        await give("link_in", [FIRST.end_packet(1, n, 1) for n in range(len(atoms))])
        await stays()
        assert ctx.get(port.tiles) == 2 and not ctx.get(port.idle)
        admit(ctx, port, 100)
        await ctx.tick().repeat(60)
        assert ctx.get(port.generation) == SECOND.generation
        assert traffic.sends(FIRST).total() == ROWS * RUN * len(FIRST.receivers)
        # The packets are those of the launch that sent them.
        assert set(traffic.generations) == {FIRST.generation}

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.verify) for n in (2, 3))])
def test_back_to_back(seed):
    """The second is programmed while the first runs, and begins by itself; without a gap from the
    last update to the next one's first."""
    traffic = Timed(seed)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        show(ctx, port, FIRST, finished=WORKGROUPS)
        await program(ctx, dut, [*PROGRAM, *SECOND.registers, ("CONTROL", {"launch": 1})], CONTEXT)
        traffic.add(FIRST)
        for _ in range(MOST_CYCLES):
            if ctx.get(port.generation) == SECOND.generation:
                break
            await ctx.tick()
        show(ctx, port, SECOND, finished=0)
        traffic.add(SECOND)
        await ctx.tick().repeat(MOST_CYCLES // 2)
        for kernel in (FIRST, SECOND):
            assert traffic.accesses(kernel) == kernel.accesses()
        assert traffic.sends(FIRST) == FIRST.sends() + SECOND.sends()
        assert await status(ctx, dut, "LAUNCHES", CONTEXT) == {"begun": 2, "done": 2}
        assert ctx.get(port.idle) and ctx.get(port.done) and not ctx.get(port.irq)

    simulate(bench, TWO, background=traffic)
    gap = min(traffic.updates[SECOND]) - max(traffic.updates[FIRST])
    print(f"{gap} cycles")
    assert 0 < gap <= MOST_GAP_CYCLES


@pytest.mark.parametrize("aborts", [False, True])
def test_what_is_left_of_the_launch_before(aborts):
    """Late stores and updates of the previous launch change nothing; its copies arrive, unless it
    was aborted."""
    traffic = Traffic(0)
    late_store = FIRST.store(SECOND.region + 2, 1, 0)
    late_update = FIRST.packet(SECOND.region + 2, 1, 0)
    late_copy = late_update | {"kind": PacketKind.STORE}
    earlier = late_copy | {"generation": FIRST.generation - 1}

    async def bench(ctx, dut):
        port, channel = dut.context[CONTEXT], dut.channel[0]
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        show(ctx, port, FIRST, finished=WORKGROUPS)
        traffic.add(FIRST)
        while not (ctx.get(port.done) and ctx.get(port.idle)):
            await ctx.tick()
        if aborts:
            await abort(ctx, dut, CONTEXT)
        await launch(ctx, dut, SECOND.registers, CONTEXT)
        assert ctx.get(port.generation) == SECOND.generation
        await offer(ctx, store=(channel.stores, late_store))
        assert await errors(ctx, dut) == (ErrorCode.STORE_STALE.value, 1)
        for packet, is_taken in ((late_update, False), (earlier, False), (late_copy, not aborts)):
            await offer(ctx, packet=(channel.link_in, packet))
            stale = (0, 0) if is_taken else (ErrorCode.PACKET_STALE.value, 1)
            assert await errors(ctx, dut) == stale
        seen = {} if aborts else {(Access.WRITE, Origin.COMMUNICATION, late_copy["atom"]): 1}
        assert traffic.accesses(SECOND) == seen

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("shift", [1, (1 << 16) - 1])
@pytest.mark.parametrize("peer", [DOWNSTREAM, BOTH_WAYS])
def test_limit_of_another_launch(peer, shift):
    """The limit of one of two peers counts for nothing if it is behind, and holds nothing up if it
    is ahead, however far its slots are: with a limit of 1, which the slot offset takes up, nothing
    is admitted."""
    stores_leave = [
        ("RANGE_DISPATCH_INDICES", {"first": 0, "last": 0}),
        ("RANGE_ACTION", {"region": 0, "action": Action.REMOTE.value, "command": 0}),
        ("RANGE_PEERS", {"peers": 1 << DOWNSTREAM | 1 << BOTH_WAYS, "slot_offset": shift}),
        ("RANGE_COMMIT", {"index": 0, "enable": 1}),
    ]

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        await launch(ctx, dut, [*SECOND.registers, *stores_leave], CONTEXT)
        admit(ctx, port, UNLIMITED)
        ctx.set(port.credit_limit_in[peer], 1)
        for generation, admits in ((0, 0), (1, UNLIMITED), (7, UNLIMITED), (8, 0), (15, 0)):
            ctx.set(port.generation_in[peer], generation)
            await ctx.tick().repeat(LIMIT_CYCLES)
            assert ctx.get(port.dispatch_limit) == admits, generation

    simulate(bench, TWO)


@pytest.mark.parametrize("generation", [0, 9, 15])
def test_limit_of_a_gpu_without_a_launch(generation):
    """After reset a peer shows generation 0 and limit 0: it admits nothing, whatever the generation
    of the launch here is."""

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        first = replace(SECOND, generation=generation)
        await launch(ctx, dut, first.registers, CONTEXT)
        admit(ctx, port, 0)
        announce(ctx, port, 0)
        for _ in range(2 * LIMIT_CYCLES):
            assert ctx.get(port.dispatch_limit) == 0
            await ctx.tick()

    simulate(bench, TWO)


@pytest.mark.parametrize("peer", [DOWNSTREAM, UPSTREAM])
def test_a_peer_aborts_the_launch(peer):
    """The abort of the matching launch is reported here, once, with the peer's rank. The abort of
    another launch of that GPU is no error, nor is an abort without a launch here."""

    async def shown(ctx, port, *, generation, aborted):
        """Drive the peer's state for some cycles."""
        ctx.set(port.generation_in[peer], generation)
        ctx.set(port.aborted_in[peer], aborted)
        await ctx.tick().repeat(6)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        here, other = SECOND.generation, SECOND.generation + 1
        await shown(ctx, port, generation=here, aborted=1)
        assert await errors(ctx, dut) == (0, 0)
        await shown(ctx, port, generation=other, aborted=0)
        await launch(ctx, dut, SECOND.registers, CONTEXT)
        await shown(ctx, port, generation=other, aborted=1)
        await shown(ctx, port, generation=here, aborted=0)
        assert await errors(ctx, dut) == (0, 0)
        await shown(ctx, port, generation=here, aborted=1)
        assert (await status(ctx, dut, "COUNT_PEER_ABORTED", CONTEXT))["count"] == 1
        place = await status(ctx, dut, "ERROR_LOCATION", CONTEXT)
        assert place["source"] == peers_of(CONTEXT)[peer].rank
        assert await errors(ctx, dut) == (ErrorCode.PEER_ABORTED.value, 1)
        assert await errors(ctx, dut) == (0, 0)
        assert not ctx.get(dut.context[1 - CONTEXT].irq)

    simulate(bench, TWO)


def test_an_aborted_launch_is_shown_to_the_peers():
    """The bit of a launch that was aborted moves as launches begin; one that was done has none."""
    traffic = Traffic(0)

    async def bench(ctx, dut):
        port = dut.context[CONTEXT]
        assert not ctx.get(port.aborted)  # a reset does not end a launch
        await launch(ctx, dut, FIRST.registers, CONTEXT)
        assert not ctx.get(port.aborted)
        await abort(ctx, dut, CONTEXT)
        await ctx.tick().repeat(20)
        assert ctx.get(port.aborted) == 0b01 and ctx.get(port.generation) == FIRST.generation
        assert not ctx.get(dut.context[1 - CONTEXT].aborted)
        await launch(ctx, dut, SECOND.registers, CONTEXT)
        assert ctx.get(port.aborted) == 0b10 and ctx.get(port.generation) == SECOND.generation
        show(ctx, port, SECOND, finished=WORKGROUPS)
        traffic.add(SECOND)
        while not (ctx.get(port.done) and ctx.get(port.idle)):
            await ctx.tick()
        await abort(ctx, dut, CONTEXT)
        assert ctx.get(port.aborted) == 0b10  # the launch was done

    simulate(bench, TWO, background=traffic)
