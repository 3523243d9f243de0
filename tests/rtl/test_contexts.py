"""Two concurrent launches in the top: each behaves as if it were alone, whatever the other does."""

import pytest

from rtl.interface.encodings import Access, ErrorCode, Origin
from tests.support.context_traffic import EITHER, KERNELS, MOST_CYCLES, TWO, Traffic, begin, finish
from tests.support.top_bench import (
    RUN,
    SHIFT,
    STRIDE,
    abort,
    admit,
    channel_number,
    launch,
    offer,
    program,
    settle,
    simulate,
    status,
)


def check(ctx, dut, traffic, kernel):
    """Check that a whole launch, and no other work, was performed for this context."""
    port = dut.context[kernel.number]
    assert ctx.get(port.done) and ctx.get(port.idle) and not ctx.get(port.irq)
    assert traffic.accesses(kernel) == kernel.accesses()
    assert traffic.sends(kernel) == kernel.sends()
    # Each row is sent in its order, as far as the channel has it.
    for channel in traffic.sent:
        for index in (1, 2):
            tile = kernel.number, index + SHIFT
            atoms = [one[5] for one in channel if (one[0], one[6]) == tile]
            start = kernel.tile(index)[0][0] + kernel.offset
            for row in (start, start + STRIDE):
                of_row = [atom for atom in atoms if atom in range(row, row + RUN)]
                assert of_row and of_row == sorted(of_row)


@pytest.mark.parametrize(
    "running",
    [
        pytest.param(KERNELS[:1], id="0", marks=pytest.mark.verify),
        pytest.param(KERNELS[1:], id="1"),
        pytest.param(KERNELS, id="both"),
    ],
)
def test_reduce_scatter(running):
    """The memory accesses and the packets of a context are the same with and without another
    context.
    """
    traffic = Traffic(1)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, *running)
        both = 0
        for _ in range(MOST_CYCLES // 2):
            both += not any(ctx.get(port.idle) for port in dut.context)
            await ctx.tick()
        assert (both > 50) == (len(running) == 2)
        for kernel in KERNELS:
            tiles = ctx.get(dut.context[kernel.number].tiles)
            assert (await status(ctx, dut, "TILES", kernel.number))["count"] == tiles
            if kernel in running:
                check(ctx, dut, traffic, kernel)
                assert tiles == 6
                assert (await status(ctx, dut, "OLDEST", kernel.number))["dispatch_index"] == 4
            else:
                assert tiles == 0 and not ctx.get(dut.context[kernel.number].done)
        expected = sum(kernel.sends().total() for kernel in running)
        assert sum(map(len, traffic.sent)) == expected

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize(
    "after",
    [40, *(pytest.param(after, marks=pytest.mark.verify) for after in (1, 15, 80))],
)
def test_abort_of_one_context(after):
    """An abort in any state drops the context's work and none of the other context's; then the
    aborted context can launch again.
    """
    aborted, other = KERNELS
    traffic = Traffic(after)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, aborted, other)
        await ctx.tick().repeat(after)
        await program(ctx, dut, [("CONTROL", {"abort": 1})], aborted.number)
        traffic.drop(aborted)
        await settle(ctx, dut, aborted.number)
        mine = dut.context[aborted.number]
        left = ctx.get(mine.tiles), traffic.accesses(aborted), traffic.sends(aborted)
        assert ctx.get(mine.idle)
        assert left[0] < 6 and left[1] != aborted.accesses()
        await finish(ctx, dut, other)
        check(ctx, dut, traffic, other)
        assert ctx.get(dut.context[other.number].tiles) == 6
        assert left == (
            ctx.get(mine.tiles),
            traffic.accesses(aborted),
            traffic.sends(aborted),
        )
        assert ctx.get(mine.idle) and not ctx.get(mine.done) and not ctx.get(mine.irq)
        # From the beginning, with nothing left of the first time.
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            memory.seen.clear()
            sent.clear()
        await begin(ctx, dut, traffic, aborted.again)
        await finish(ctx, dut, aborted)
        check(ctx, dut, traffic, aborted)
        assert ctx.get(mine.tiles) == left[0] + 6
        assert ctx.get(dut.context[other.number].tiles) == 6

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("aborted", EITHER)
def test_abort_while_the_link_takes_nothing(aborted):
    """An abort ends although packets wait at the link forever, and the context can launch again."""
    aborted = KERNELS[aborted]
    traffic = Traffic(aborted.number)
    traffic.link_takes = False

    async def bench(ctx, dut):
        mine = dut.context[aborted.number]
        await begin(ctx, dut, traffic, aborted)
        await ctx.tick().repeat(100)
        assert any(ctx.get(port.link_out.valid) for port in dut.channel)
        await program(ctx, dut, [("CONTROL", {"abort": 1})], aborted.number)
        traffic.drop(aborted)
        await ctx.tick().repeat(100)
        state = await status(ctx, dut, "STATUS", aborted.number)
        assert not state["aborting"] and not state["idle"] and not ctx.get(mine.idle)
        # Only the packets at the link are left, and leave when the link takes them.
        waiting = [ctx.get(port.link_out.valid) for port in dut.channel]
        assert any(waiting) and not any(map(len, traffic.sent))
        traffic.link_takes = True
        await ctx.tick().repeat(10)
        assert ctx.get(mine.idle)
        assert 0 < sum(map(len, traffic.sent)) <= 2 * len(traffic.sent)
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            memory.seen.clear()
            sent.clear()
        await begin(ctx, dut, traffic, aborted.again)
        await finish(ctx, dut, aborted)
        check(ctx, dut, traffic, aborted)

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("number", EITHER)
def test_aborts_again_and_again_hold_up_no_other_context(number):
    """However often a context is aborted, the other one ends in its time."""
    other, traffic = KERNELS[1 - number], Traffic(number)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, other)
        alone = await finish(ctx, dut, other)
        await abort(ctx, dut, other.number)
        await begin(ctx, dut, traffic, other.again)
        port, beside = dut.context[other.number], 0
        while not (beside and ctx.get(port.done) and ctx.get(port.idle)):
            start = traffic.cycle
            await program(ctx, dut, [("CONTROL", {"abort": 1})], number)
            beside += traffic.cycle - start
            assert beside <= alone + 30

    simulate(bench, TWO, background=traffic)


def test_abort_of_commands_that_wait():
    """Complete tiles for which the peers have no credit: no packet of them is ever sent,
    and the next launch is not disturbed."""
    kernel, traffic = KERNELS[1], Traffic(3)

    async def bench(ctx, dut):
        port = dut.context[kernel.number]
        await launch(ctx, dut, kernel.registers, kernel.number)
        admit(ctx, port, 0)
        traffic.add(kernel)
        await ctx.tick().repeat(MOST_CYCLES // 2)
        assert ctx.get(port.tiles) == 6 and not ctx.get(port.idle)
        await program(ctx, dut, [("CONTROL", {"abort": 1})], kernel.number)
        await ctx.tick().repeat(100)
        assert ctx.get(port.idle)
        assert not (await status(ctx, dut, "STATUS", kernel.number))["aborting"]
        left = traffic.sends(kernel)
        for memory, sent in zip(traffic.memories, traffic.sent, strict=True):
            memory.seen.clear()
            sent.clear()
        await begin(ctx, dut, traffic, kernel.again)
        await finish(ctx, dut, kernel)
        check(ctx, dut, traffic, kernel)
        # Before the abort, stores of the first workgroup alone.
        assert left.total() == len(kernel.tile(0))

    simulate(bench, TWO, background=traffic)


def test_abort_of_half_a_workgroup():
    """A tile of two that is complete is forgotten: it does not count for the next launch."""
    first, traffic = KERNELS[0], Traffic(0)
    atom = first.tile(1)[0][0]

    async def bench(ctx, dut):
        port, channel = dut.context[first.number], dut.channel[channel_number(atom)]
        admit(ctx, port, 100)
        for launched, kernel in enumerate((first, first.again)):
            await launch(ctx, dut, kernel.registers, kernel.number)
            mark = kernel.store(atom, 1, 0, end=True) | {"tile_atoms": 1}
            await offer(ctx, store=(channel.stores, kernel.store(atom, 1, 0)))
            await offer(ctx, mark=(channel.stores, mark))
            await offer(ctx, packet=(channel.link_in, kernel.packet(atom, 1, 0)))
            await offer(ctx, end=(channel.link_in, kernel.end_packet(1, 0, 1)))
            await ctx.tick().repeat(100)
            assert ctx.get(port.tiles) == launched + 1
            assert (await status(ctx, dut, "OLDEST", kernel.number))["dispatch_index"] == 1
            assert not traffic.sends(kernel)
            await abort(ctx, dut, kernel.number)

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("stopped", EITHER)
def test_link_without_space_for_one_context(stopped):
    """The other context finishes; the stopped one finishes once there is space."""
    waiting, other = KERNELS[stopped], KERNELS[1 - stopped]
    traffic = Traffic(stopped)

    async def bench(ctx, dut):
        for port in dut.channel:
            ctx.set(port.link_space, 1 << other.number)
        await begin(ctx, dut, traffic, *KERNELS)
        await finish(ctx, dut, other)
        check(ctx, dut, traffic, other)
        await ctx.tick().repeat(100)
        assert not traffic.sends(waiting)
        # Only packets to the link are left: remote stores and data of the lanes.
        assert ctx.get(dut.context[waiting.number].tiles) == 6
        assert not ctx.get(dut.context[waiting.number].idle)
        for port in dut.channel:
            assert ctx.get(port.store_space) == 1 << other.number
            ctx.set(port.link_space, 3)
        await finish(ctx, dut, waiting)
        check(ctx, dut, traffic, waiting)
        for port in dut.channel:
            assert ctx.get(port.store_space) == 3

    simulate(bench, TWO, background=traffic)


@pytest.mark.parametrize("stopped", EITHER)
def test_space_that_ends(stopped):
    """At most four packets of the context leave after the end of its space, and none is lost."""
    waiting = KERNELS[stopped]
    traffic = Traffic(stopped)

    async def bench(ctx, dut):
        await begin(ctx, dut, traffic, *KERNELS)
        for _ in range(40):
            before = [len(channel) for channel in traffic.sent]
            for port in dut.channel:
                ctx.set(port.link_space, 3 ^ 1 << stopped)
            await ctx.tick().repeat(8)
            for channel, count in zip(traffic.sent, before, strict=True):
                late = [one for one in channel[count:] if one[0] == stopped]
                assert len(late) <= 4
            quiet = traffic.sends(waiting).total()
            await ctx.tick().repeat(4)
            assert traffic.sends(waiting).total() == quiet
            for port in dut.channel:
                ctx.set(port.link_space, 3)
            await ctx.tick().repeat(5)
        for kernel in KERNELS:
            check(ctx, dut, traffic, kernel)

    simulate(bench, TWO, background=traffic)


async def begin_narrow(ctx, dut):
    """Launches that admit one workgroup: the others are ahead."""
    for kernel in KERNELS:
        narrow = [*kernel.registers, ("CREDIT_WINDOW", {"workgroups": 1})]
        await launch(ctx, dut, narrow, kernel.number)
    await ctx.tick().repeat(2)


async def error_count(ctx, dut, number):
    error = await status(ctx, dut, "ERROR", number)
    return error["code"], (await status(ctx, dut, "ERRORS", number))["count"]


def test_errors_go_to_the_context_that_caused_them():
    """Errors of stores, of packets, and of the tracker; two in one cycle to both."""
    first, second = KERNELS
    ahead = [kernel.store(kernel.region, 3, 1) for kernel in KERNELS]
    packets = [kernel.packet(kernel.region, 3, 1) for kernel in KERNELS]
    no_share = second.store(second.region, 1, 1, end=True) | {"shares": 0}
    foreign = packets[0] | {"context": 12, "source": 9}
    store_ahead, packet_ahead = ErrorCode.STORE_AHEAD.value, ErrorCode.PACKET_AHEAD.value
    none = (0, 0)

    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)

        async def reported(*offered):
            """Errors of both contexts by streams that have a payload in one cycle."""
            for kernel in KERNELS:
                await program(ctx, dut, [("CONTROL", {"clear_error": 1})], kernel.number)
            await ctx.tick()
            await offer(ctx, **{str(number): one for number, one in enumerate(offered)})
            pending = []
            for _ in range(12):
                await ctx.tick()
                pending.append([ctx.get(port.irq) for port in dut.context])
            seen = [await error_count(ctx, dut, kernel.number) for kernel in KERNELS]
            assert pending[-1] == [one != none for one in seen]
            return seen, pending

        ports = dut.channel
        assert (await reported((ports[0].stores, ahead[0])))[0] == [(store_ahead, 1), none]
        assert (await reported((ports[0].stores, ahead[1])))[0] == [none, (store_ahead, 1)]
        assert (await reported((ports[1].link_in, packets[1])))[0] == [none, (packet_ahead, 1)]
        seen, _ = await reported((ports[1].stores, no_share))
        assert seen == [none, (ErrorCode.NO_SHARE.value, 1)]
        # The error of an address space without an owner is the GPU's.
        assert not ctx.get(dut.irq)
        seen, _ = await reported((ports[1].link_in, foreign))
        assert seen == [none, none] and ctx.get(dut.irq)
        assert (await status(ctx, dut, "GPU_ERROR"))["code"] == ErrorCode.PACKET_UNMAPPED.value
        place = await status(ctx, dut, "GPU_ERROR_LOCATION")
        assert place == {"channel": 1, "source": foreign["source"], "errors": 1}
        for pair in (
            ((ports[0].stores, ahead[0]), (ports[1].stores, ahead[1])),
            ((ports[1].stores, ahead[0]), (ports[0].stores, ahead[1])),
        ):
            seen, pending = await reported(*pair)
            assert seen == [(store_ahead, 1), (store_ahead, 1)]
            assert [0, 1] not in pending and [1, 0] not in pending
        # A store and a packet fault at one channel, and belong to different contexts.
        seen, _ = await reported((ports[1].stores, ahead[0]), (ports[1].link_in, packets[1]))
        assert seen == [(store_ahead, 1), (packet_ahead, 1)]
        three = (ports[0].stores, ahead[1]), (ports[1].stores, ahead[0])
        seen, _ = await reported(*three, (ports[1].link_in, packets[0]))
        assert seen == [(store_ahead, 1), (store_ahead, 1)]

    simulate(bench, TWO)


def test_clearing_of_errors_is_of_one_context():
    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)
        for kernel, port in zip(KERNELS, dut.channel, strict=True):
            ahead = kernel.store(kernel.region, 3, kernel.number)
            await offer(ctx, store=(port.stores, ahead))
        await ctx.tick().repeat(6)
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})], 1)
        await ctx.tick().repeat(2)
        assert [ctx.get(port.irq) for port in dut.context] == [1, 0]
        assert await error_count(ctx, dut, 0) == (ErrorCode.STORE_AHEAD.value, 1)
        assert await error_count(ctx, dut, 1) == (0, 0)

    simulate(bench, TWO)


@pytest.mark.parametrize("late", EITHER)
def test_timeout_is_of_one_context(late):
    """Both contexts wait forever; the timeout is reported for the context that has a limit, which
    can then be aborted.
    """

    async def bench(ctx, dut):
        await begin_narrow(ctx, dut)
        await abort(ctx, dut, late)
        registers = [*KERNELS[late].again.registers, ("TIMEOUT", {"ticks": 50})]
        await launch(ctx, dut, registers, late)
        await ctx.tick().repeat(70)
        assert [ctx.get(port.irq) for port in dut.context] == [late == 0, late == 1]
        assert (await error_count(ctx, dut, late))[0] == ErrorCode.TIMEOUT.value
        assert await error_count(ctx, dut, 1 - late) == (0, 0)
        await program(ctx, dut, [("CONTROL", {"abort": 1, "clear_error": 1})], late)
        await settle(ctx, dut, late)
        await ctx.tick().repeat(100)
        assert not ctx.get(dut.context[late].irq)

    simulate(bench, TWO)


@pytest.mark.parametrize("busy", EITHER)
def test_idle_is_of_one_context(busy):
    """An update that the memory does not take is work of its context only."""
    kernel = KERNELS[busy]

    async def bench(ctx, dut):
        for each in KERNELS:
            await launch(ctx, dut, each.registers, each.number)
        await ctx.tick().repeat(5)
        assert all(ctx.get(port.idle) for port in dut.context)
        update = kernel.store(kernel.region + 2, 1, 0)
        await offer(ctx, store=(dut.channel[0].stores, update))
        await ctx.tick().repeat(20)
        assert [ctx.get(port.idle) for port in dut.context] == [busy != 0, busy != 1]

    simulate(bench, TWO)


def test_a_store_into_the_other_context_is_an_ordinary_write():
    """A buffer belongs to an address space; the same atoms in another one are not tracked."""
    first, second = KERNELS
    write = second.store(first.region + 2, 1, 0)
    traffic = Traffic(0)

    async def bench(ctx, dut):
        for each in KERNELS:
            await launch(ctx, dut, each.registers, each.number)
        await offer(ctx, store=(dut.channel[0].stores, write))
        await ctx.tick().repeat(40)
        assert traffic.accesses(first) == {(Access.WRITE, Origin.COMPUTE, write["atom"]): 1}
        for kernel in KERNELS:
            assert ctx.get(dut.context[kernel.number].idle)
            assert await error_count(ctx, dut, kernel.number) == (0, 0)

    simulate(bench, TWO, background=traffic)
