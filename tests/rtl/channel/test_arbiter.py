import random

import pytest
from amaranth.hdl import Value

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.interface.encodings import Policy
from rtl.parameters import T3Parameters
from tb.arbiter.model import step_unit
from tb.golden import SIGNALS, golden_state, set_arbiter
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

P = T3Parameters(contexts=1)
DEFAULT = {
    "policy": Policy.MCA,
    "automatic": 0,
    "threshold": 127,
    "starvation_limit": 0xFFFF,
    "measure_log2": 0,
    "cuts": [0, 0, 0],
    "levels": [127, 127, 127],
}


def simulate(bench):
    dut = device(Arbiter, P)

    async def run(ctx):
        await bench(ctx, dut)

    simulate_device(dut, run)


async def cycle(ctx, dut, c, m, *, ready=1, occupancy=0, start=0, signals=("active",)):
    """Winner of one cycle in which the streams have a request or not.

    ``signals`` are the outputs of the criticality unit that are on.
    """
    for name in SIGNALS:
        ctx.set(getattr(dut, name), name in signals)
    ctx.set(dut.compute.valid, c)
    ctx.set(dut.communication.valid, m)
    ctx.set(dut.compute.p.atom, 1)
    ctx.set(dut.communication.p.atom, 2)
    ctx.set(dut.o.ready, ready)
    ctx.set(dut.occupancy, occupancy)
    ctx.set(dut.start, start)
    winner = {0: None, 1: "c", 2: "m"}[ctx.get(dut.o.p.atom) * ctx.get(dut.o.valid)]
    assert ctx.get(dut.compute.ready & dut.compute.valid) == (ready and winner == "c")
    assert ctx.get(dut.communication.ready & dut.communication.valid) == (ready and winner == "m")
    await ctx.tick()
    return winner


async def winners(ctx, dut, pattern, **inputs):
    """Winners of consecutive cycles; each has the requests named: ``"c"``, ``"m"``, ``"cm"``."""
    return [await cycle(ctx, dut, "c" in who, "m" in who, **inputs) for who in pattern]


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 5"):
        Arbiter(5)


def test_round_robin():
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": Policy.ROUND_ROBIN, "threshold": 0})
        got = await winners(ctx, dut, ["cm", "cm", "cm", "", "m", "cm", "c", "cm", "cm"])
        assert got == ["c", "m", "c", None, "m", "c", "c", "m", "c"]

    simulate(bench)


def test_round_robin_turn_passes_with_a_transfer_only():
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": Policy.ROUND_ROBIN})
        assert await winners(ctx, dut, ["cm"] * 3, ready=0) == ["c"] * 3
        assert await winners(ctx, dut, ["cm"] * 2) == ["c", "m"]

    simulate(bench)


def test_compute_first():
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": Policy.COMPUTE_FIRST, "threshold": 0})
        assert await winners(ctx, dut, ["cm"] * 50) == ["c"] * 50
        assert await winners(ctx, dut, ["m", "", "cm"], occupancy=127) == ["m", None, "c"]

    simulate(bench)


GATED = [
    (Policy.MCA, ("active",)),
    (Policy.MCA_PAPER, ()),
    (Policy.MCA_PAPER, ("active",)),
    (Policy.CRITICAL, ("active", "relaxed")),
]
COMPUTE_FIRST = (Policy.COMPUTE_FIRST, ("active",))
"""Policies and signals with which communication leaves space in the DRAM queue."""


@pytest.mark.parametrize("threshold", [0, 1, 5, 30, 126])
@pytest.mark.parametrize(("policy", "signals"), GATED)
def test_threshold(policy, signals, threshold):
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": policy, "threshold": threshold})
        for occupancy in (threshold - 1, threshold, threshold + 1):
            if occupancy >= 0:
                expected = "m" if occupancy < threshold else None
                got = await winners(
                    ctx, dut, ["m", "cm", "c"], occupancy=occupancy, signals=signals
                )
                assert got == [expected, "c", "c"]

    simulate(bench)


@pytest.mark.parametrize(
    ("policy", "signals"),
    [(Policy.MCA, ()), (Policy.CRITICAL, ()), (Policy.CRITICAL, ("active",))],
)
def test_no_threshold_where_there_is_nothing_to_protect(policy, signals):
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": policy, "threshold": 0})
        got = await winners(ctx, dut, ["m", "cm", "m", "c"], occupancy=127, signals=signals)
        assert got == ["m", "c", "m", "c"]

    simulate(bench)


def test_mca_without_threshold():
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"threshold": 127})
        assert await winners(ctx, dut, ["m", "cm", "m"], occupancy=127) == ["m", "c", "m"]

    simulate(bench)


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 100])
@pytest.mark.parametrize(
    ("policy", "signals", "compute"),
    [(*gated, compute) for compute in ("cm", "m") for gated in GATED] + [(*COMPUTE_FIRST, "cm")],
)
def test_starvation_bound(policy, signals, limit, compute):
    """Communication waits exactly the limit, whether compute or the threshold blocks it; a limit of
    0 acts like 1, so that compute is not kept out."""
    least = max(1, limit)

    async def bench(ctx, dut):
        config = {"policy": policy, "threshold": 0, "starvation_limit": limit}
        ctx.set(dut.configuration, DEFAULT | config)
        waits = ["c" if compute == "cm" else None] * least
        for _ in range(3):
            got = await winners(ctx, dut, [compute] * (least + 1), occupancy=20, signals=signals)
            assert got == [*waits, "m"]

    simulate(bench)


@pytest.mark.parametrize(
    ("policy", "signals", "waits"),
    [(Policy.MCA, ("active",), "m"), (Policy.CRITICAL, ("critical",), "c")],
)
def test_the_longest_wait(policy, signals, waits):
    """The largest limit, 65,535 cycles, holds, and the count of cycles saturates there."""
    most = DEFAULT["starvation_limit"]

    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": policy, "threshold": 0})
        other = dut.communication if waits == "c" else dut.compute
        await cycle(ctx, dut, waits == "c", waits == "m", ready=0, signals=signals)
        await ctx.tick().repeat(most - 2)
        for waited in range(most - 1, most + 6):
            ctx.set(other.valid, 1)
            winner = " cm"[ctx.get(dut.o.p.atom)]
            assert (winner == waits) == (waited >= most), waited
            ctx.set(other.valid, 0)
            await ctx.tick()

    simulate(bench)


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("signals", [("critical",), ("active", "critical")])
def test_critical_communication_goes_first(limit, signals):
    """Compute waits exactly the limit, whatever the DRAM queue holds at the moment."""

    async def bench(ctx, dut):
        config = {"policy": Policy.CRITICAL, "threshold": 0, "starvation_limit": limit}
        ctx.set(dut.configuration, DEFAULT | config)
        least = max(1, limit)
        for _ in range(3):
            got = await winners(ctx, dut, ["cm"] * (least + 1), occupancy=127, signals=signals)
            assert got == ["m"] * least + ["c"]
        got = await winners(ctx, dut, ["m", "", "c"], occupancy=127, signals=signals)
        assert got == ["m", None, "c"]

    simulate(bench)


@pytest.mark.parametrize(
    "signals", [(), ("active",), ("active", "relaxed", "congested"), ("critical", "congested")]
)
def test_both_take_turns_where_neither_is_early(signals):
    """Nothing bounds the DRAM queue, and the starvation limit has no effect."""

    async def bench(ctx, dut):
        config = {"policy": Policy.CRITICAL, "threshold": 0, "starvation_limit": 0}
        ctx.set(dut.configuration, DEFAULT | config)
        pattern = ["cm", "cm", "cm", "", "m", "cm", "c", "cm"]
        got = await winners(ctx, dut, pattern, occupancy=127, signals=signals)
        assert got == ["c", "m", "c", None, "m", "c", "c", "m"]

    simulate(bench)


def test_what_is_critical_in_one_context_goes_first():
    """Communication that has time in one context and is critical in another one goes first."""

    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": Policy.CRITICAL})
        both = ("active", "relaxed", "critical")
        assert await winners(ctx, dut, ["cm"] * 5, signals=both) == ["m"] * 5
        got = await winners(ctx, dut, ["cm"] * 4, signals=(*both, "congested"))
        assert got == ["c", "m", "c", "m"]

    simulate(bench)


@pytest.mark.parametrize("policy", [Policy.MCA, Policy.MCA_PAPER, Policy.COMPUTE_FIRST])
def test_what_is_critical_is_for_one_policy_only(policy):
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"policy": policy})
        assert await winners(ctx, dut, ["cm"] * 20, signals=SIGNALS) == ["c"] * 20

    simulate(bench)


@pytest.mark.parametrize("encoding", [5, 6, 7])
def test_encodings_of_no_policy_are_round_robin(encoding):
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"threshold": 0})
        ctx.set(Value.cast(dut.configuration.policy), encoding)
        assert await winners(ctx, dut, ["cm"] * 6, signals=SIGNALS) == ["c", "m"] * 3

    simulate(bench)


@pytest.mark.parametrize("signals", [("active", "relaxed"), ("active", "critical")])
@pytest.mark.parametrize("policy", [*Policy])
def test_neither_stream_starves_behind_a_full_queue(policy, signals):
    """With space for a request in only one of ten cycles, both streams have always waited for the
    limit, and take turns."""

    async def bench(ctx, dut):
        config = {"policy": policy, "threshold": 0, "starvation_limit": 5}
        ctx.set(dut.configuration, DEFAULT | config)
        got = []
        for _ in range(6):
            await winners(ctx, dut, ["cm"] * 9, ready=0, signals=signals)
            got += await winners(ctx, dut, ["cm"], signals=signals)
        assert got == ["c", "m"] * 3

    simulate(bench)


def test_starvation_counts_while_the_queue_is_full():
    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | {"threshold": 0, "starvation_limit": 5})
        assert await winners(ctx, dut, ["m"] * 5, occupancy=1, ready=0) == [None] * 5
        assert await winners(ctx, dut, ["cm"] * 3, ready=0) == ["m"] * 3
        assert await winners(ctx, dut, ["cm"] * 2) == ["m", "c"]
        # A cycle without a request restarts the count.
        assert await winners(ctx, dut, ["cm"] * 3 + ["c"] + ["cm"] * 6) == ["c"] * 9 + ["m"]

    simulate(bench)


@pytest.mark.parametrize(
    ("average", "level"),
    [(0, 127), (9, 127), (10, 30), (19, 30), (20, 10), (39, 10), (40, 5), (127, 5)],
)
def test_measurement_picks_the_level(average, level):
    config = DEFAULT | {
        "automatic": 1,
        "threshold": 0,
        "measure_log2": 4,
        "cuts": [10, 20, 40],
        "levels": [30, 10, 5],
    }

    async def bench(ctx, dut):
        ctx.set(dut.configuration, config)
        # Samples before the strobe, and in its cycle, do not count.
        await winners(ctx, dut, [""] * 3, occupancy=127 - average)
        await cycle(ctx, dut, 0, 0, occupancy=127 - average, start=1)
        assert await winners(ctx, dut, ["m"] * 16, occupancy=average) == ["m"] * 16
        # Two cycles for the average and the level, which do not count.
        assert await winners(ctx, dut, ["m"] * 2, occupancy=127 - average) == ["m"] * 2
        for occupancy in (level - 1, level):
            expected = "m" if occupancy < level or level == 127 else None
            assert await cycle(ctx, dut, 0, 1, occupancy=occupancy) == expected
        # Later cycles do not count either.
        await winners(ctx, dut, [""] * 40, occupancy=127 - average)
        assert await cycle(ctx, dut, 0, 1, occupancy=level - 1) == "m"

    simulate(bench)


def test_compute_starvation_counts_while_the_queue_is_full():
    async def bench(ctx, dut):
        config = {"policy": Policy.CRITICAL, "starvation_limit": 5, "cuts": [0, 0, 1]}
        ctx.set(dut.configuration, DEFAULT | config)
        signals = ("critical",)
        assert await winners(ctx, dut, ["c"] * 5, ready=0, signals=signals) == ["c"] * 5
        assert await winners(ctx, dut, ["cm"] * 3, ready=0, signals=signals) == ["c"] * 3
        assert await winners(ctx, dut, ["cm"] * 2, signals=signals) == ["c", "m"]
        # A cycle without a request restarts the count.
        got = await winners(ctx, dut, ["cm"] * 3 + ["m"] + ["cm"] * 6, signals=signals)
        assert got == ["m"] * 9 + ["c"]

    simulate(bench)


def test_measurement_begins_anew():
    config = {"automatic": 1, "measure_log2": 2, "cuts": [10, 20, 30], "levels": [3, 2, 1]}

    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | config)
        await cycle(ctx, dut, 0, 0, start=1)
        await winners(ctx, dut, [""] * 6, occupancy=30)
        assert await winners(ctx, dut, ["m"] * 2, occupancy=1) == [None, None]
        await cycle(ctx, dut, 0, 0, start=1)
        assert await winners(ctx, dut, ["m"] * 6, occupancy=11) == ["m"] * 6
        assert await cycle(ctx, dut, 0, 1, occupancy=2) == "m"
        assert await cycle(ctx, dut, 0, 1, occupancy=3) is None

    simulate(bench)


@pytest.mark.parametrize("cycles", range(3, 7))
def test_strobe_wins_in_every_step(cycles):
    """A restart voids a measurement of four cycles after two of them."""
    config = {"automatic": 1, "measure_log2": 2, "cuts": [10, 20, 30], "levels": [3, 2, 1]}

    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | config)
        await cycle(ctx, dut, 0, 0, start=1)
        await winners(ctx, dut, [""] * (cycles - 1), occupancy=30)
        await cycle(ctx, dut, 0, 0, occupancy=30, start=1)
        assert await winners(ctx, dut, ["m"] * 6, occupancy=11) == ["m"] * 6
        assert await cycle(ctx, dut, 0, 1, occupancy=2) == "m"
        assert await cycle(ctx, dut, 0, 1, occupancy=3) is None

    simulate(bench)


def test_long_measurement():
    """Carries of the sum, and of the count: more than a block of bits of each."""
    config = {"automatic": 1, "measure_log2": 9, "cuts": [100, 110, 126], "levels": [3, 2, 1]}

    async def bench(ctx, dut):
        ctx.set(dut.configuration, DEFAULT | config)
        await cycle(ctx, dut, 0, 0, start=1)
        # The average is 126 to the last cycle; one less in any, and it would be 125.
        for index in range(512):
            assert await cycle(ctx, dut, 0, 1, occupancy=125 + 2 * (index % 2)) == "m"
        await winners(ctx, dut, [""] * 2)
        assert await cycle(ctx, dut, 0, 1, occupancy=1) is None
        assert await cycle(ctx, dut, 0, 1, occupancy=0) == "m"

    simulate(bench)


@pytest.mark.verify  # tests/lockstep/test_blocks.py does so with other traffic
@pytest.mark.parametrize("seed", range(4))
def test_against_the_golden_model(seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    state, policies = golden_state(P), list(Policy)
    seen = set()

    async def bench(ctx, dut):
        for step in range(6000):
            if step % 100 == 0:
                cuts = sorted(rng.sample(range(80), 3))
                config = {
                    "policy": policies[step // 100 % len(policies)],
                    "automatic": rng.getrandbits(1),
                    "threshold": rng.choice([0, 5, 10, 30, 127]),
                    "starvation_limit": rng.choice([0, 3, 10, 0xFFFF]),
                    "measure_log2": rng.randrange(6),
                    "cuts": cuts,
                    "levels": [30, 10, 5],
                }
                ctx.set(dut.configuration, config)
                set_arbiter(state, config)
                rates = [rng.random() for _ in range(3)]
                most = rng.randrange(1, 128)
            c, m, ready = (int(rng.random() < rate) for rate in rates)
            inputs = {
                "ready": ready,
                "occupancy": rng.randrange(most),
                "start": int(rng.random() < 0.03),
            }
            signals = [name for name in SIGNALS if rng.random() < 0.5]
            expected = step_unit(state, "c" * c + "m" * m, signals, **inputs)
            got = await cycle(ctx, dut, c, m, signals=signals, **inputs)
            assert got == expected, f"cycle {step}"
            seen.add((config["policy"], "critical" in signals, c, m, expected))

    simulate(bench)
    for policy, critical, c, m, winner in (
        (Policy.ROUND_ROBIN, 0, 1, 1, "c"),
        (Policy.ROUND_ROBIN, 0, 1, 1, "m"),
        (Policy.MCA, 0, 1, 1, "m"),
        (Policy.MCA, 0, 0, 1, None),
        (Policy.MCA_PAPER, 0, 1, 1, "m"),
        (Policy.MCA_PAPER, 0, 0, 1, None),
        (Policy.CRITICAL, 0, 1, 1, "m"),
        (Policy.CRITICAL, 0, 1, 1, "c"),
        (Policy.CRITICAL, 0, 0, 1, None),
        (Policy.CRITICAL, 1, 1, 1, "m"),
        (Policy.CRITICAL, 1, 1, 1, "c"),
    ):
        assert (policy, bool(critical), c, m, winner) in seen
