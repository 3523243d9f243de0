"""Fabric: packets leave through the port of their destination, and arrive in their channel."""

import random
from functools import partial

import pytest

from rtl.link.fabric import Fabric
from rtl.link.layouts import FRAME_ATOMS
from rtl.link.turns import MOST_IN_TURN
from rtl.parameters import T3Parameters
from tests.support.fabric_bench import Arrivals, Departures, parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_ports import BUGS_OF_FABRIC

DEPTH = 4


def simulate(bench, *, channels=4, ports=3, lanes=None, gpus=(5, 2, 9), seed, block=Fabric):
    """Run a bench with departures and arrivals; ``gpus`` are those of the ports."""
    print("seed", seed)
    rng, p = random.Random(seed), parameters(channels)
    dut = block(p, ports=ports, lanes=lanes, port_depth=DEPTH)

    async def run(ctx):
        out, into = Departures(rng, p, dut, list(gpus)), Arrivals(rng, p, dut)
        entries = [{"enable": gpu is not None, "gpu": gpu or 0} for gpu in gpus]
        ctx.set(dut.gpus, entries)

        async def step(cycles):
            for _ in range(cycles):
                out.drive(ctx)
                into.drive(ctx)
                out.sample(ctx)
                into.sample(ctx)
                await ctx.tick()

        await bench(rng, out, into, step)
        # Everything leaves once.
        for side in (out, into):
            side.offer, side.take = [0] * len(side.offer), [1] * len(side.take)
        await step(channels * (DEPTH + 4) + 20)
        assert not any(out.waiting(port) for port in range(ports)) and not into.waiting
        assert not any(out.offers) and not any(into.offers)

    run_gated(dut, run)


async def at_any_pace(rng, out, into, step, *, phases=12):
    """Change all rates again and again; some ports and channels take nothing for a while."""
    for _ in range(phases):
        for side in (out, into):
            side.offer = [rng.choice([0.1, 0.5, 1]) for _ in side.offer]
            side.take = [rng.choice([0, 0.3, 1]) for _ in side.take]
        await step(40)
    assert out.dropped > 10


@pytest.mark.parametrize(
    ("channels", "ports", "lanes", "gpus"),
    [
        (4, 3, None, (5, 2, 9)),
        (4, 3, 2, (5, 2, 9)),
        (2, 2, 1, (0, 11)),
        (8, 1, 4, (3,)),
        (4, 4, 4, (7, None, 7, 0)),  # a port that is not enabled, and two ports to a GPU
        (1, 1, 1, (6,)),
    ],
)
def test_against_a_model(channels, ports, lanes, gpus):
    """Every packet leaves once, unchanged, through the right port or in the right channel, in order
    within its channel and port; one without a port is dropped, counted and reported."""
    simulate(
        at_any_pace,
        channels=channels,
        ports=ports,
        lanes=lanes,
        gpus=gpus,
        seed=10 * channels + ports,
    )


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_no_stream_waits_for_more_than_a_round(lanes):
    """While all ports and channels take packets, a channel waits for at most one turn of each other
    one, and a port for one packet of each other one."""

    async def bench(rng, out, into, step):
        for side in (out, into):
            side.offer, side.take = [1] * len(side.offer), [1] * len(side.take)
        for _ in range(400):
            await step(1)
            assert max(out.waits) <= MOST_IN_TURN * (len(out.offers) - 1)
            # A lane takes one packet per cycle; each channel has its turn in it.
            assert max(into.waits) <= len(into.offers) - 1 + 2

    simulate(bench, lanes=lanes, seed=40 + lanes)


def test_a_lane_is_shared_evenly():
    """All channels send packets without runs to one port at full rate: each gets an equal share."""
    taken = [0] * 4

    async def bench(rng, out, into, step):
        out.offer, out.take = [1] * 4, [1] * 3
        out.fields = lambda channel: {"destination": 2, "atom": FRAME_ATOMS - 1}
        sample = out.sample

        def count(ctx):
            packets = sample(ctx)
            for channel in packets:
                taken[channel] += 1
            return packets

        out.sample = count
        await step(400)

    simulate(bench, lanes=2, seed=50)
    assert max(taken) - min(taken) <= FRAME_ATOMS and sum(taken) >= 400  # a turn


@pytest.mark.parametrize(("lanes", "most"), [(4, DEPTH + 4), (2, DEPTH + 2)])
def test_a_port_that_takes_nothing(lanes, most):
    """One port blocks. Its queue and the lanes fill: until then the other ports take everything;
    then each channel waits behind its own packet, or the one in its lane. No other packet is lost,
    and all leave when the port takes packets again."""

    async def bench(rng, out, into, step):
        into.offer = [0] * len(into.offer)
        out.offer, out.take = [1] * len(out.offer), [0, 1, 1]
        await step(200)
        blocked = [
            number
            for number, offer in enumerate(out.offers)
            if offer is not None and out.port_of(offer) == 0
        ]
        assert out.waiting(0) == DEPTH
        assert len(blocked) + out.waiting(0) <= DEPTH + len(out.offers)
        assert len(blocked) >= lanes  # every lane has the turn of such a packet
        assert most <= DEPTH + len(blocked) <= DEPTH + len(out.offers)
        assert not out.waiting(1) and not out.waiting(2)

    simulate(bench, lanes=lanes, seed=60 + lanes)


def test_head_of_line_blocking():
    """A port takes a packet in every tenth cycle, and gets a quarter of the packets. Measured: the
    rate of the other ports falls to what the channels' own order explains."""
    moved = [0, 0, 0]

    async def bench(rng, out, into, step):
        into.offer = [0] * len(into.offer)
        out.offer, out.take = [1] * len(out.offer), [0.1, 1, 1]
        out.fields = lambda channel: {"destination": rng.choice([5, 2, 2, 9])}
        await step(100)

        def count(port, bits):
            moved[port] += 1

        out.note = count
        await step(1000)

    simulate(bench, lanes=None, seed=70)
    print("packets of 1000 cycles, by port:", moved)
    # Every channel sends its packets in order, so all ports move at the pace of the slow one.
    assert moved[1] == pytest.approx(2 * moved[0], rel=0.3)
    assert moved[0] == pytest.approx(100, rel=0.25)


@pytest.mark.parametrize("lanes", [2, 4])
def test_runs_stay_together(lanes):
    """All channels send rows of eight atoms to one port: the packets of a row leave one behind the
    other, so that a frame can carry them."""
    at, left = [0] * 4, []

    async def bench(rng, out, into, step):
        def fields(channel):
            at[channel] += 1
            return {"destination": 2, "atom": 64 * channel + at[channel] % FRAME_ATOMS}

        into.offer = [0] * len(into.offer)
        out.offer, out.take, out.fields = [1] * len(out.offer), [0.7] * 3, fields
        shape = out.shape
        out.note = lambda port, bits: left.append(shape.from_bits(bits).packet.atom)
        await step(400)

    simulate(bench, lanes=lanes, seed=90 + lanes)
    assert len(left) > 200
    together = sum(after == before + 1 for before, after in zip(left, left[1:], strict=False))
    # Only the first rows are not whole.
    assert together >= len(left) * (FRAME_ATOMS - 1) // FRAME_ATOMS - 2 * len(at)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ports": 0}, r"ports must be 1 to 4, not 0"),
        ({"ports": 5}, r"ports must be 1 to 4, not 5"),
        ({"ports": 2, "lanes": 3}, r"lanes must divide the channels \(4\), not 3"),
    ],
)
def test_wrong_sizes(change, message):
    with pytest.raises(ValueError, match=message):
        Fabric(parameters(4), **change)


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 5"):
        Fabric(5, ports=1)
    with pytest.raises(ValueError, match=r"all 32 channels of the memory, not 2"):
        Fabric(T3Parameters(channels=2), ports=1)


@pytest.mark.parametrize("bug", BUGS_OF_FABRIC, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    gpus = (7, None, 7, 0)
    run = partial(simulate, at_any_pace, ports=4, gpus=gpus, seed=80, block=bug.seeded())
    with pytest.raises(AssertionError):
        run()
