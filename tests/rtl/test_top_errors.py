"""Errors of the top, and their cycles."""

from rtl.interface.encodings import (
    ErrorCode,
)
from tests.support.context_traffic import TWO
from tests.support.top_bench import (
    ORDER,
    REGION,
    ROWS,
    abort,
    atoms_of,
    channel_number,
    launch,
    offer,
    packet,
    program,
    simulate,
    status,
    store,
)

# Streams that fault in one cycle, and the code and wavefront that are reported.
FAULTS = [
    (["packet 1", "packet 0"], (ErrorCode.PACKET_AHEAD, 0)),
    (["packet 1", "store 1"], (ErrorCode.STORE_AHEAD, 3)),
    (["store 1", "packet 0"], (ErrorCode.STORE_AHEAD, 3)),
    (["store 0", "packet 0", "store 1"], (ErrorCode.STORE_AHEAD, 2)),
    (["packet 1"], (ErrorCode.PACKET_AHEAD, 1)),
]


def test_first_error_of_a_cycle():
    """A store's before a packet's, channels lowest first; each kind is counted."""

    async def bench(ctx, dut):
        waves = ("COMMAND_WAVES", {"wave_outer_extent": ROWS, "waves0": 4})
        more_waves = [waves, ("COMMAND_COMMIT", {"index": 0})]
        await launch(ctx, dut, [("CREDIT_WINDOW", {"workgroups": 1}), *more_waves])
        for faults, (code, wavefront) in FAULTS:
            await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
            await ctx.tick()
            assert not ctx.get(dut.context[0].irq)
            streams = {}
            for index, port in enumerate(dut.channel):
                # Wavefronts distinguish the offenders.
                if f"store {index}" in faults:
                    streams[f"store {index}"] = (port.stores, store(REGION, 2, 2 + index))
                if f"packet {index}" in faults:
                    streams[f"packet {index}"] = (port.link_in, packet(REGION, 3, index))
            await offer(ctx, **streams)
            for _ in range(3):
                await ctx.tick()
            assert ctx.get(dut.context[0].irq)
            error = await status(ctx, dut, "ERROR")
            # Packets have another slot than the stores' dispatch index.
            dispatch_index = 3 if wavefront < 2 else 2
            assert error == {
                "code": code.value,
                "wavefront": wavefront,
                "dispatch_index": dispatch_index,
            }, faults
            assert (await status(ctx, dut, "ERRORS"))["count"] == 1
            for kind in ("store", "packet"):
                count = await status(ctx, dut, f"COUNT_{kind.upper()}_AHEAD")
                assert count["count"] == any(fault.startswith(kind) for fault in faults)

    simulate(bench)


def test_errors_are_counted_one_cycle_later():
    """A store at the queue's head in *t*: the report in *t + 1*, and the interrupt behind it."""

    async def bench(ctx, dut):
        await launch(ctx, dut, [("CREDIT_WINDOW", {"workgroups": 1})])
        port = dut.channel[1]
        ctx.set(port.stores.p, store(REGION, 3, 5))
        ctx.set(port.stores.valid, 1)
        await ctx.tick()
        for _ in range(2):
            assert not ctx.get(dut.context[0].irq)
            await ctx.tick()
        ctx.set(port.stores.valid, 0)
        assert ctx.get(dut.context[0].irq)
        await ctx.tick().repeat(4)
        # Every one of the three in its own cycle.
        assert (await status(ctx, dut, "ERRORS"))["count"] == 3

    simulate(bench)


def test_timeout_before_an_error_of_a_channel():
    """In the cycle of a timeout the error of a store is counted, but not logged."""
    timeout = [("TIMEOUT", {"ticks": 60}), ("CONTROL", {"clear_error": 1, "launch": 1})]
    generations = iter(range(1, 16))

    async def bench(ctx, dut):
        await launch(ctx, dut)

        async def errors(offered):
            """Run until a timeout, with a store beyond the region in cycle ``offered``; return the
            cycles, the code and the number of errors."""
            await abort(ctx, dut)
            generation = next(generations)
            tracking = "TRACKING", {"generation": generation}
            await program(ctx, dut, [tracking, *timeout])
            cycles = 0
            while cycles < 70 and not (offered is None and ctx.get(dut.context[0].irq)):
                ahead = store(REGION, 3, 1) | {"generation": generation}
                ctx.set(dut.channel[1].stores.p, ahead)
                ctx.set(dut.channel[1].stores.valid, cycles == offered)
                await ctx.tick()
                cycles += 1
            code = (await status(ctx, dut, "ERROR"))["code"]
            names = ("ERRORS", "COUNT_STORE_AHEAD", "COUNT_TIMEOUT")
            return cycles, code, *[(await status(ctx, dut, name))["count"] for name in names]

        await program(ctx, dut, [("CREDIT_WINDOW", {"workgroups": 1})])
        pending, code, *_ = await errors(None)
        assert code == ErrorCode.TIMEOUT.value
        reports = [(await errors(pending - 3 + delta))[1:] for delta in (-1, 0, 1)]
        ahead = ErrorCode.STORE_AHEAD.value
        assert reports == [
            (ahead, 2, 1, 1),
            (ErrorCode.TIMEOUT.value, 1, 1, 1),
            (ErrorCode.TIMEOUT.value, 2, 1, 1),
        ]

    simulate(bench)


def test_a_neighbour_that_takes_nothing_is_a_timeout():
    """All tiles are complete, a packet waits: reported after the programmed time, till it is taken.

    One that is taken in another channel starts the time anew.
    """
    timeout = 20
    registers = [("TRACKED_END", {"dispatch_index": 1}), ("TIMEOUT", {"ticks": timeout})]
    remote = store(REGION, 0, 0)  # dispatch index 0 is not tracked here
    stuck, other = (
        remote | {"atom": next(atom for atom, _ in atoms_of(ORDER[0]) if channel_number(atom) == c)}
        for c in range(2)
    )

    async def bench(ctx, dut):
        await launch(ctx, dut, registers)
        ctx.set(dut.channel[1].link_out.ready, 1)
        await ctx.tick().repeat(3 * timeout)
        assert ctx.get(dut.context[0].done) and not ctx.get(dut.context[0].irq)
        await offer(ctx, store=(dut.channel[0].stores, stuck))
        while not ctx.get(dut.channel[0].link_out.valid):
            await ctx.tick()
        await ctx.tick().repeat(timeout // 2)
        await offer(ctx, store=(dut.channel[1].stores, other))
        while not ctx.get(dut.channel[1].link_out.valid):
            await ctx.tick()
        cycles = 0
        while not ctx.get(dut.context[0].irq):
            cycles += 1
            await ctx.tick()
        assert timeout < cycles < timeout + 6
        error = await status(ctx, dut, "ERROR")
        assert error == {"code": ErrorCode.TIMEOUT.value, "wavefront": 0, "dispatch_index": 1}
        ctx.set(dut.channel[0].link_out.ready, 1)
        await ctx.tick().repeat(timeout)
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
        await ctx.tick().repeat(3 * timeout)
        assert ctx.get(dut.context[0].idle) and not ctx.get(dut.context[0].irq)

    simulate(bench)


def test_tracker_error_and_timeout():
    async def bench(ctx, dut):
        await launch(ctx, dut)
        end = store(REGION, 1, 1, end=True) | {"shares": 0}
        await offer(ctx, end=(dut.channel[0].stores, end))
        for _ in range(8):
            await ctx.tick()
        error = await status(ctx, dut, "ERROR")
        assert error == {
            "code": ErrorCode.NO_SHARE.value,
            "wavefront": 1,
            "dispatch_index": 1,
        }
        await program(ctx, dut, [("CONTROL", {"clear_error": 1})])
        await ctx.tick()
        assert not ctx.get(dut.context[0].irq)
        await abort(ctx, dut)
        tracking = "TRACKING", {"generation": 1}
        again = [tracking, ("TIMEOUT", {"ticks": 100}), ("CONTROL", {"launch": 1})]
        await program(ctx, dut, again)
        for _ in range(110):
            await ctx.tick()
        error = await status(ctx, dut, "ERROR")
        assert error == {"code": ErrorCode.TIMEOUT.value, "wavefront": 0, "dispatch_index": 1}

    simulate(bench)


async def take_gpu_errors(ctx, dut):
    """Code and channel of each error in the GPU's log, the oldest first."""
    taken = []
    while code := (await status(ctx, dut, "GPU_ERROR"))["code"]:
        taken.append((ErrorCode(code), (await status(ctx, dut, "GPU_ERROR_LOCATION"))["channel"]))
        await program(ctx, dut, [("GPU_CONTROL", {"drop_error": 1})])
    return taken


def test_links_that_fail_together():
    """All link errors are reported, one by one, and interrupt each context; another error of the
    GPU in the same cycle is counted."""
    unowned = packet(REGION, 3, 0) | {"context": 9}

    async def bench(ctx, dut):
        for port in dut.channel:
            ctx.set(port.link_down, 0)
            ctx.set(port.link_reset, 0)
        enable = [("INTERRUPT_ENABLE", {"link": 1, "error": 0})]
        await program(ctx, dut, enable, context=1)
        await offer(ctx, packet=(dut.channel[1].link_in, unowned))
        # In the cycle in which the packet is dropped.
        for port in dut.channel:
            ctx.set(port.link_down, 1)
            ctx.set(port.link_reset, 1)
        await ctx.tick()
        for port in dut.channel:
            ctx.set(port.link_down, 0)
            ctx.set(port.link_reset, 0)
        await ctx.tick().repeat(8)
        assert ctx.get(dut.irq)
        assert [ctx.get(port.irq) for port in dut.context] == [0, 1]
        of_links = [
            (code, channel)
            for channel in range(2)
            for code in (ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)
        ]
        assert await take_gpu_errors(ctx, dut) == of_links
        assert (await status(ctx, dut, "GPU_COUNT_PACKET_UNMAPPED"))["count"] == 1
        for name in ("LINK_DOWN", "LINK_RESET"):
            assert (await status(ctx, dut, f"GPU_COUNT_{name}"))["count"] == 2
        assert (await status(ctx, dut, "GPU_ERRORS"))["count"] == 4
        for context in range(2):
            assert (await status(ctx, dut, "INTERRUPTS", context))["link"]
            assert (await status(ctx, dut, "ERRORS", context))["count"] == 0

    simulate(bench, TWO)
