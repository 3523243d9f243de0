"""Bench of a channel: random traffic on every port, compared with the golden model in every
cycle.
"""

import random

import cocotb

from rtl.interface.encodings import Access, Action, ErrorCode, Operation, PacketKind, Policy
from tb.channel.driver import CONTEXTS, IN, OUT, SEGMENTS, make_dut, plain, repeat, start
from tb.channel.flips import double_bit_error, injected_bits, single_bit_error
from tb.channel.markers import (
    a_marker_of_a_packet,
    dropped_markers_wait_for_their_turn,
    markers_leave,
    markers_take_turns,
)
from tb.channel.points import ERRORS
from tb.channel.tables import PARAMETERS, REDUCTION, UNUSED, random_arbiter
from tb.cover import cover
from tb.cycle import scaled
from tb.golden import SIGNALS
from tb.stream import Pace

__all__ = [
    "injected_bits",
    "make_dut",
    "single_bit_error",
    "double_bit_error",
    "a_marker_of_a_packet",
    "markers_take_turns",
    "dropped_markers_wait_for_their_turn",
    "markers_leave",
]

_BLOCKED = (0, 0.1, 0.5, 0.9, 1, 1)
_CYCLES = 1500
_SUMS = 600
_UPDATE = {"kind": PacketKind.UPDATE.value, "wavefront": 0, "source": 0, **REDUCTION}
_LONG_LIMITS = (520, 700)
_MEASURE_LOG2 = 10  # enough samples for a carry into the upper half of count and sum


@cocotb.test()
async def random_traffic(dut):
    """Random traffic on all inputs agrees with the model while tables, limits and policy change."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = await start(dut, rng)
    pace = Pace(rng, IN, rates=(0.1, 0.5, 1, 1))
    ready = Pace(rng, (*OUT, "returns"), rates=_BLOCKED, cycles=90)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 200 == 0:
            bench.traffic.change()
        if cycle % 40 == 0:
            for context in CONTEXTS:
                bench.views[context] = bench.traffic.view(context)
                anywhere = rng.getrandbits(PARAMETERS.credit_limit_bits)
                limits = rng.choice([0, 10, 12, 30, anywhere]), rng.choice([12, 30, 45, 64])
                bench.admit(*limits, context)
            bench.link_space = rng.choice([0, 1, 2, 3, 3, 3])
            most = rng.choice([1, 30, 127])
        if cycle % 50 == 0:
            bench.arbiter = random_arbiter(rng)
        if cycle % 20 == 0:
            bench.configure()
            signals = [name for name in SIGNALS if rng.random() < 0.5]
        offers = [name for name, acts in pace.acts().items() if acts]
        takes = [name for name, acts in ready.acts().items() if acts]
        await bench.cycle(
            offers,
            takes,
            returns="returns" in takes,
            occupancy=rng.randrange(most),
            start=rng.random() < 0.02,
            signals=signals,
        )
    assert set(bench.failures) <= set(ERRORS)


@cocotb.test()
async def updates_sink_with_the_egress_blocked(dut):
    """Remote stores, DMA data and their packets wait for the link; incoming updates do not."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await start(dut, rng)
    plain(bench)
    # Distinct payloads: a full queue must keep its entries, whatever is offered.
    repeat(bench, "stores", kind=0, atom=range(1000, 2000), context=1, dispatch_index=range(10))
    repeat(bench, "link_in", atom=1500, context=1, slot=20, **_UPDATE)
    for _ in range(150):
        await bench.cycle(("stores", "link_in", "segments__0"), ("dram",))
    before = bench.checker.transfers["link_in"]
    for _ in range(100):
        await bench.cycle(("stores", "link_in", "segments__0"), ("dram",))
    assert bench.checker.transfers["link_in"] - before == 100
    assert not bench.checker.transfers["link_out"]
    for _ in range(100):
        await bench.cycle((), ("dram", "link_out"))
    assert int(dut.idle.value) == 0b10
    # Updates that the DRAM has accepted; packets to the link are not acknowledged.
    repeat(bench, "issue_acks", access=Access.UPDATE.value, owner=0)
    for _ in range(bench.checker.transfers["link_in"]):
        await bench.cycle(("issue_acks",), ("tile_issue_acks",))
    for _ in range(20):
        await bench.cycle((), ("tile_issue_acks",))
    assert int(dut.idle.value) == 0b10  # the reduce unit has not performed the updates
    repeat(bench, "nmc_in", owner=0)
    for _ in range(bench.checker.transfers["link_in"]):
        await bench.cycle(("nmc_in",), ("nmc_out",))
    for _ in range(20):
        await bench.cycle((), ("nmc_out",))
    assert int(dut.idle.value) == 0b11


@cocotb.test()
async def dropped_updates_wait_for_space(dut):
    """Late stores and packets wait while all queues behind them are full; then one leaves in every
    cycle, and each is reported once.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "stores", kind=0, atom=1500, context=1, dispatch_index=20, wavefront=1)
    repeat(bench, "link_in", atom=1500, context=1, slot=20, **_UPDATE)
    for _ in range(40):
        await bench.cycle(("stores", "link_in"), ())
    assert not bench.failures
    bench.admit(21, 64)
    bench.configure()
    before = bench.checker.transfers.copy()
    for _ in range(50):
        await bench.cycle(("stores", "link_in"), ())
    assert not bench.failures
    assert all(bench.checker.transfers[name] == before[name] for name in ("stores", "link_in"))
    for _ in range(50):
        await bench.cycle(("stores", "link_in"), ("dram",))
    late = [ErrorCode.STORE_LATE, ErrorCode.PACKET_LATE]
    assert all(bench.failures.count(code) > 40 for code in late)
    for name, code in zip(("stores", "link_in"), late, strict=True):
        assert abs(bench.checker.transfers[name] - before[name] - bench.failures.count(code)) < 2
    assert bench.failures[-80:] in (late * 40, late[::-1] * 40)
    cover("store and packet dropped in one cycle")


@cocotb.test()
async def one_access_per_cycle(dut):
    """A single source fills the DRAM queue in every cycle."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    for stream in ("reads", "stores", "link_in"):
        bench = await start(dut, rng)
        plain(bench)
        repeat(bench, "stores", kind=0, atom=1500, context=1, dispatch_index=20)
        repeat(bench, "link_in", atom=1500, context=1, slot=20, **_UPDATE)
        for _ in range(60):
            await bench.cycle((stream,), ("dram",))
        assert bench.checker.transfers["dram"] >= 60 - 4, stream


@cocotb.test()
async def a_long_wait(dut):
    """Under continuous compute requests, communication is served when its limit is reached."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = await start(dut, rng)
    plain(bench)
    limit = rng.randrange(*_LONG_LIMITS)
    bench.arbiter |= {"policy": Policy.MCA.value, "starvation_limit": limit}
    bench.configure()
    repeat(bench, "link_in", atom=1500, context=1, slot=20, **_UPDATE)
    for _ in range(limit - 1):
        await bench.cycle(("reads", "link_in"), ("dram",))
    waiting = bench.checker.transfers["link_in"]
    for _ in range(limit + 20):
        await bench.cycle(("reads", "link_in"), ("dram",))
    assert bench.checker.transfers["link_in"] - waiting == 2


def _occupancies(rng: random.Random, number: int, total: int) -> list[int]:
    """Draw occupancies: their number and their sum are given."""
    drawn = [rng.randrange(128) for _ in range(number)]
    missing = total - sum(drawn)
    for index in rng.sample(range(number), number):
        changed = min(max(drawn[index] + missing, 0), 127)
        missing -= changed - drawn[index]
        drawn[index] = changed
    assert not missing
    return drawn


@cocotb.test()
async def a_long_measurement(dut):
    """The middle cut is selected by the smallest and by the largest mean occupancy that it
    covers.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 7)
    samples = 1 << _MEASURE_LOG2
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "link_in", atom=1500, context=1, slot=20, **_UPDATE)
    for beyond in (0, samples - 1):
        mean = rng.randrange(20, 100)
        cuts = [mean - 1, mean, mean + 1]
        bench.arbiter |= {"policy": Policy.MCA.value, "starvation_limit": 0xFFFF}
        bench.arbiter |= {"automatic": 1, "measure_log2": _MEASURE_LOG2}
        bench.arbiter |= {"cuts": cuts, "levels": [90, 60, 30]}
        bench.configure()
        measured = _occupancies(rng, samples, mean * samples + beyond)
        later = [rng.randrange(128) for _ in range(100)]
        # A measurement that begins one cycle early has the same sum.
        for cycle, occupancy in enumerate([measured[-1], *measured, *later]):
            flowing = ("link_in",), ("dram",)
            await bench.cycle(*flowing, occupancy=occupancy, start=cycle == 0)
        assert bench.model.state.channels[0]["measurement"]["measured"] == 60


@cocotb.test()
async def sums(dut):
    """The reduce unit gives one sum in every cycle, of numbers close to each other; none is a first
    update.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bench = await start(dut, rng)
    epoch = bench.views[1]["launch_configuration"]["epoch"]
    repeat(bench, "nmc_in", owner=1, stored_epoch=epoch, op=Operation.SUM.value)
    for _ in range(scaled(_SUMS)):
        await bench.cycle(("nmc_in",), ("nmc_out",))
    assert bench.checker.transfers["nmc_in"] == scaled(_SUMS)


@cocotb.test()
async def tracker_behind(dut):
    """Acknowledgements fill all places that hold them; then all of their updates leave, with the
    updates of one tile together.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "issue_acks", access=Access.UPDATE.value)
    for _ in range(400):
        await bench.cycle(("issue_acks",), ())
    assert not bench.model.ready("issue_acks")
    for _ in range(400):
        await bench.cycle((), ("tile_issue_acks",))
    transfers = bench.checker.transfers
    assert bench.updates == transfers["issue_acks"] > transfers["tile_issue_acks"]
    for owner in CONTEXTS:
        repeat(bench, "issue_acks", owner=owner, dispatch_index=3, wavefront=0)
        left = transfers["tile_issue_acks"]
        for _ in range(15):
            await bench.cycle(("issue_acks",), ())
        for _ in range(10):
            await bench.cycle((), ("tile_issue_acks",))
        assert transfers["tile_issue_acks"] - left <= 2
    assert bench.updates == transfers["issue_acks"]


@cocotb.test()
async def markers_wait(dut):
    """End-of-tile markers fill their queue while the tracker accepts none; then each marker
    leaves.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 8)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "stores", kind=1, atom=1500, context=1, dispatch_index=20)
    for _ in range(50):
        await bench.cycle(("stores",), ())
    assert not bench.model.ready("stores")
    for _ in range(50):
        await bench.cycle((), ("end_of_tile_markers",))
    transfers = bench.checker.transfers
    assert transfers["end_of_tile_markers"] == transfers["stores"] > 0


@cocotb.test()
async def a_link_without_space_for_one(dut):
    """While the remote stores and packets of one context wait, the other context's leave at the
    rate of its lane.
    """
    for stopped, atom in enumerate((1500, 3200)):
        await _stop_one(dut, stopped, atom)


async def _stop_one(dut, stopped: int, atom: int) -> None:
    rng = random.Random(cocotb.RANDOM_SEED + 9)
    bench = await start(dut, rng)
    plain(bench)
    for entry in bench.views[stopped]["maps"]["ranges"]:
        if entry != UNUSED and entry["first"] <= 3 <= entry["last"]:
            entry["action"] = Action.REMOTE.value
    bench.link_space = 0b11 ^ 1 << stopped
    bench.configure()
    repeat(bench, "stores", kind=0, atom=atom, context=1 + stopped, dispatch_index=3)
    for _ in range(100):
        await bench.cycle(("stores", *SEGMENTS), OUT)
    assert int(dut.store_space.value) == bench.link_space
    before = bench.checker.transfers["link_out"]
    for _ in range(100):
        await bench.cycle(SEGMENTS, OUT)
    assert bench.checker.transfers["link_out"] - before > 35
    bench.link_space = 0b11
    bench.configure()
    for _ in range(100):
        await bench.cycle((), OUT)
    assert int(dut.idle.value) == 0b11


@cocotb.test()
async def an_abort(dut):
    """An abort with a stopped link ends all work of the context and loses no work of the other
    context.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 10)
    bench = await start(dut, rng)
    plain(bench)
    repeat(bench, "stores", kind=0, atom=1500, context=1, dispatch_index=3)
    bench.link_space = 0b10
    bench.configure()
    for _ in range(60):
        await bench.cycle(("stores", *SEGMENTS), OUT)
    bench.views[0]["aborting"] = 1
    bench.configure()
    for _ in range(60):
        await bench.cycle((SEGMENTS[1],), OUT)
    assert int(dut.idle.value) == 0b01
    cover("idle after an abort")
    for _ in range(60):
        await bench.cycle((), OUT)
    assert int(dut.idle.value) == 0b11


@cocotb.test()
async def packets_to_be_written_are_waited_for(dut):
    """A single context has outstanding stores, until the DRAM has issued their writes."""
    for owner, atom in enumerate((1500, 3200)):
        bench = await start(dut, random.Random(cocotb.RANDOM_SEED + 11))
        plain(bench)
        written = {"kind": PacketKind.STORE.value, "source": 0, **REDUCTION}
        repeat(bench, "link_in", atom=atom, context=1 + owner, slot=3, **written)
        for _ in range(20):
            await bench.cycle(("link_in",), ("dram",))
        for _ in range(20):
            await bench.cycle((), ("dram",))
        assert not bench.failures
        assert int(dut.drained.value) == int(dut.idle.value) == 0b11 ^ 1 << owner
        repeat(bench, "issue_acks", access=Access.WRITE.value, owner=owner)
        for _ in range(bench.checker.transfers["link_in"]):
            await bench.cycle(("issue_acks",), ())
        await bench.cycle((), ())
        await bench.cycle((), ())
        assert int(dut.drained.value) == int(dut.idle.value) == 0b11
