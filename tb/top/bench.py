"""Bench of the top between a host, compute units, neighbours and a DRAM, against the golden model.

The traffic is the same as in the lockstep test with the compiled hardware. Its inputs violate the
stream protocol on purpose, so that only the top's outputs are checked against the protocol.
"""

import cocotb
import numpy as np

from rtl.interface.encodings import (
    Access,
    ConfigurationError,
    ErrorCode,
    Granularity,
    Origin,
    Policy,
)
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.golden.registers.errors import oldest_error
from sysmodel.engine.golden.registers.words import R
from sysmodel.engine.ports import CHANNEL_OUTPUTS, K, O
from tb.cycle import scaled
from tb.top.aborts import abort_of_a_triggered_tile, aborts, aborts_in_a_storm, one_of_two_aborted
from tb.top.driver import Strobe, host_of, kernels_of, make_dut, rng_of, start
from tb.top.host import Host, Injections, Kernel
from tb.top.points import waiting_commands
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Gated, Storm, Traffic

__all__ = [
    "abort_of_a_triggered_tile",
    "aborts",
    "aborts_in_a_storm",
    "make_dut",
    "one_of_two_aborted",
]


@cocotb.test()
@cocotb.parametrize(
    kernel=[
        Kernel(policy=Policy.ROUND_ROBIN, granularity=Granularity.WORKGROUP, credit_window=6),
        Kernel(policy=Policy.COMPUTE_FIRST, granularity=Granularity.WAVEFRONT, credit_window=6),
        Kernel(policy=Policy.MCA, credit_window=6, group_log2=1, own=17),
        Kernel(policy=Policy.CRITICAL, credit_window=6),
    ]
)
async def launch_configuration(dut, kernel):
    """Every tile completes and is sent on, without an error."""
    bench, rng = await start(dut), rng_of(kernel.policy.value)
    await bench.finish(Traffic(rng, bench.p, kernel, host_of(rng, bench, kernel), pace=0.6))
    assert not bench.value(K.irq)


@cocotb.test()
async def peers_admit_nothing(dut):
    """Commands wait until the command window is used up; then the launch continues."""
    bench, rng = await start(dut), rng_of(10)
    kernel = Kernel(credit_window=6, command_window=8)
    traffic = Gated(rng, bench.p, kernel, host_of(rng, bench, kernel), pace=1.0)
    traffic.closed = "limit"
    for _ in range(1500):
        await bench.cycle(traffic)
    assert waiting_commands(bench.state) == kernel.command_window
    assert bench.value(K.credit_limit_out) == kernel.remote + kernel.command_window
    assert bench.value(K.dispatch_limit) == 0 and not bench.value(K.done)
    traffic.closed = ""
    await bench.finish(traffic)
    assert not bench.value(K.irq)


@cocotb.test()
async def link_stands_still(dut):
    """Requests fill the queues behind a stalled link; packets still arrive, and none is lost."""
    bench, rng = await start(dut), rng_of(11)
    kernel = Kernel(credit_window=6)
    traffic = Gated(rng, bench.p, kernel, host_of(rng, bench, kernel), pace=1.0)
    traffic.closed = "link"
    for _ in range(600):
        await bench.cycle(traffic)
    assert not any(bench.checker.transfers[f"channel__{index}__link_out"] for index in range(2))
    traffic.closed = ""
    await bench.finish(traffic)
    assert not bench.value(K.irq)


class _LastAtom(Traffic):
    """Launches whose tiles all end at the end of the region complete."""

    def __init__(self, rng: np.random.Generator, p: T3Parameters, kernel: Kernel, host: Host):
        super().__init__(rng, p, kernel, host, pace=1.0)
        self._works[0].starts = kernel.limit - 1, kernel.limit


@cocotb.test()
@cocotb.parametrize(granularity=list(Granularity))
async def tiles_over_the_end_of_their_region(dut, granularity):
    """No atom beyond the region is read or sent, and the launch ends."""
    bench, rng = await start(dut), rng_of(15)
    # Tiles whose last atom is in a served channel.
    kernel = Kernel(credit_window=6, granularity=granularity, limit=(1 << 16) - 4)
    traffic = _LastAtom(rng, bench.p, kernel, host_of(rng, bench, kernel))
    read = set()

    def record(outputs: np.ndarray, inputs: np.ndarray) -> None:
        traffic(outputs, inputs)
        for number in range(bench.p.channels):
            out = outputs[number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
            kind = out[O.dram_origin], out[O.dram_access]
            if out[O.dram_valid] and kind == (Origin.COMMUNICATION.value, Access.READ.value):
                read.add(int(out[O.dram_atom]))

    await bench.finish(record)
    assert bench.value(K.irq)
    assert (
        oldest_error(bench.state.logs[register_map.CONTEXT]) & 0xFF
        == ErrorCode.DMA_OUT_OF_REGION.value
    )
    assert read == {kernel.limit - 1}


@cocotb.test()
async def early_traffic(dut):
    """Stores and packets beyond the credit window are reported each time; software clears the
    errors.
    """
    bench, rng = await start(dut), rng_of(12)
    kernel, control = Kernel(credit_window=2), register_map.load()["CONTROL"]
    forget = control.address, control.pack(clear_error=1)
    host = host_of(rng, bench, kernel, strobe=lambda: forget if rng.random() < 0.05 else None)
    traffic = Traffic(rng, bench.p, kernel, host, noise=1.0)
    reported = 0
    for _ in range(600):
        await bench.cycle(traffic)
        reported += bench.value(K.irq)
    assert reported and bench.value(K.tiles) == 0


@cocotb.test()
async def late_traffic(dut):
    """Stores and packets of a launch that is done are reported and have no effect."""
    bench, rng = await start(dut), rng_of(13)
    kernel = Kernel(credit_window=6)
    await bench.finish(Traffic(rng, bench.p, kernel, host_of(rng, bench, kernel)))
    tiles = bench.value(K.tiles)
    late = Traffic(rng, bench.p, kernel, Host(rng, bench.p, []), noise=1.0)
    for _ in range(400):
        await bench.cycle(late)
    assert bench.value(K.irq) and bench.value(K.done) and bench.value(K.tiles) == tiles


@cocotb.test()
async def copies_forbidden(dut):
    """If the context accepts copies of no peer, each copy is dropped and reported, and the launch
    ends.
    """
    bench, rng = await start(dut), rng_of(16)
    kernel = Kernel(credit_window=6, copied=False)
    traffic = Traffic(rng, bench.p, kernel, host_of(rng, bench, kernel))
    written = 0

    def record(outputs: np.ndarray, inputs: np.ndarray) -> None:
        nonlocal written
        traffic(outputs, inputs)
        for number in range(bench.p.channels):
            out = outputs[number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
            kind = out[O.dram_origin], out[O.dram_access]
            written += bool(out[O.dram_valid]) and kind == (
                Origin.COMMUNICATION.value,
                Access.WRITE.value,
            )

    await bench.finish(record)
    assert not written
    assert bench.value(K.irq)
    log = bench.state.logs[register_map.CONTEXT]
    assert oldest_error(log) & 0xFF == ErrorCode.PACKET_FORBIDDEN.value


@cocotb.test()
async def two_contexts(dut):
    """Both kernels' tiles complete and are sent on, without an error."""
    bench, rng = await start(dut), rng_of(40)
    first, second = kernels_of(bench.p)
    host = host_of(rng, bench, first, second)
    await bench.finish(Traffic(rng, bench.p, first, host, second, pace=0.6), 0, 1)
    assert not any(bench.value(K.irq, context) for context in range(2))


class _AnyOf:
    """Writes into the pages of several contexts agree with the model."""

    def __init__(self, rng: np.random.Generator, *sources: Strobe):
        self._rng, self._sources = rng, sources

    def __call__(self) -> tuple[int, int] | None:
        return self._sources[self._rng.integers(0, len(self._sources))]()


@cocotb.test()
async def contexts_reprogrammed(dut):
    """Aborts, launches and changes of both contexts at any time agree with the model."""
    bench, rng = await start(dut), rng_of(41)
    first, second = kernels_of(bench.p, timeout=60)
    both = _AnyOf(rng, *(Reprogramming(rng, bench.p, kernel) for kernel in (first, second)))
    host = host_of(rng, bench, first, second, strobe=both)
    traffic = Traffic(rng, bench.p, first, host, second, noise=0.05)
    reported = [0] * bench.p.contexts
    for _ in range(scaled(2000)):
        await bench.cycle(traffic)
        reported = [count + bench.value(K.irq, one) for one, count in enumerate(reported)]
    assert all(reported)


class _Scrubs:
    """Writes of SCRUB_INTERVAL start walks at any pace, or none."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def __call__(self) -> tuple[int, int] | None:
        if self._rng.random() > 0.1:
            return None
        register = register_map.load()["SCRUB_INTERVAL"]
        return register.address, register.pack(cycles=int(self._rng.choice([0, 1, 1, 2, 3, 10])))


@cocotb.test()
async def bit_errors(dut):
    """Bit errors injected into any memory are corrected by a read or by the scrubber, or are
    reported. Launches that lost a tile are aborted before the next launch.
    """
    bench, rng = await start(dut), rng_of(50)
    control = register_map.load()["CONTROL"]
    kernels = kernels_of(bench.p, granularity=Granularity.WORKGROUP, group_log2=1)
    aborts = [(control.address_in(kernel.number), control.pack(abort=1)) for kernel in kernels]

    def writes() -> list[tuple[int, int]]:
        return aborts + [write for kernel in kernels for write in kernel.program(bench.p)]

    strobe = _AnyOf(rng, Injections(rng, bench.p, chance=0.5), _Scrubs(rng))
    first, second = kernels
    host = Host(rng, bench.p, writes(), strobe)
    traffic = Traffic(rng, bench.p, first, host, second, pace=0.3)
    for _ in range(scaled(2)):
        for _ in range(1000):
            await bench.cycle(traffic)
        for kernel in kernels:
            kernel.generation += 1
        traffic.begin(Host(rng, bench.p, writes(), strobe))
    counts = bench.state.registers[register_map.GLOBAL]["contents"]
    assert counts[R.CORRECTED] and counts[R.SCRUB_CORRECTED]


@cocotb.test()
@cocotb.parametrize(number=[0, 1])
async def reprogramming_on_the_run(dut, number):
    """Register writes and commits, accepted and refused, agree with the model during traffic with
    errors.
    """
    bench, rng = await start(dut), rng_of(20 + number)
    kernel = Kernel(granularity=Granularity(number), credit_window=6, timeout=40)
    host = host_of(rng, bench, kernel, strobe=Reprogramming(rng, bench.p, kernel))
    traffic = Traffic(rng, bench.p, kernel, host, noise=0.05)
    reported = 0
    for _ in range(scaled(2000)):
        await bench.cycle(traffic)
        reported += bench.value(K.irq)
    assert reported


@cocotb.test()
async def tracker_errors(dut):
    """Random acknowledgements and end-of-tile markers of few tiles agree with the model, later with
    aborts and launches between them.
    """
    bench, rng = await start(dut), rng_of(30)
    changes, reported, half = Reprogramming(rng, bench.p, Kernel()), 0, scaled(1000)
    host = host_of(rng, bench, Kernel(), strobe=lambda: changes() if cycle >= half else None)
    traffic = Storm(rng, bench.p, Kernel(), host, pace=0.8)
    cycle = 0
    while cycle < 2 * half:
        await bench.cycle(traffic)
        reported += bench.value(K.irq)
        cycle += 1
    assert reported


@cocotb.test()
async def register_configuration_errors(dut):
    """Every reason to refuse a commit, a copy or a launch occurs; nothing leaves towards DRAM or
    link.
    """
    bench, rng = await start(dut), rng_of(40)
    p, kernel = bench.p, Kernel()
    bank = register_map.load()
    last = kernel.base * p.atom_bytes + p.atom_bytes
    *writes, restart, launch = kernel.program(p)
    writes += [launch, restart, launch]  # the first one has no epoch

    def put(name: str, **values: int) -> None:
        writes.append((bank[name].address, bank[name].pack(**values)))

    put("REGION_COMMIT", index=p.regions, enable=1)
    put("STATUS")
    for base, limit, high in ((1, last, 0), (0, 0, 1), (0, 0, 0), (0, last, 0)):
        put("REGION_BASE_LO", bytes=base)
        put("REGION_LIMIT_LO", bytes=limit)
        put("REGION_LIMIT_HI", bytes=high)
        put("REGION_COMMIT", index=0, enable=1)
    put("REGION_COMMIT", index=1, enable=0)
    put("RANGE_DISPATCH_INDICES", first=0, last=0)
    put("RANGE_ACTION", region=0, action=1, command=0)
    put("RANGE_COMMIT", index=3, enable=1)
    put("CONTROL", abort=1)
    put("CONTROL", launch=1)
    for _ in range(4 * p.sets):
        put("TIMEOUT", ticks=0)  # until the abort is over
    put("CONTROL", launch=1)  # with the generation of the aborted launch
    put("LOCK", regions=1)  # by unprivileged software
    put("CREDIT_WINDOW", workgroups=0)
    put("CONTROL", launch=1)
    put("WORKGROUPS", count=0)
    put("CONTROL", launch=1)
    put("COPY_START_LO", bytes=kernel.base * p.atom_bytes)
    for _ in range(12):
        put("COPY", command=0, peers=1)
    for peers in (0, 1 << p.peers - 1, 1 << p.peers):  # none, one that is not enabled, unknown
        put("COPY", command=0, peers=peers)
    for _ in range(2):
        put("TIMEOUT", ticks=0)  # until the last refused write has its response
    host = Host(rng, bench.p, writes)
    seen = set()
    for _ in range(3000):
        await bench.cycle(host)
        seen.add(int(bench.state.contexts[0]["control"]["configuration_error"]))
        if host.programmed:
            break
    assert host.programmed
    assert seen == {error.value for error in ConfigurationError}
