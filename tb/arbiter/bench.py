# amaranth: UnusedElaboratable=no
"""Arbiter under long random traffic: its choice in every cycle, order, loss, and starvation."""

import random
from collections.abc import Collection
from itertools import product

import cocotb

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import Policy
from rtl.interface.layouts import DramRequest
from rtl.parameters import T3Parameters
from tb.arbiter.model import TOLD, Model
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled, skip
from tb.inside import BLOCK_BITS, blocks_of_a_count, fill, inside, preset
from tb.payload import Fields
from tb.stream import StreamChecker, offer

PARAMETERS = T3Parameters(contexts=1, with_data=True)
_CONFIGURATION = Fields(ArbiterConfiguration(PARAMETERS))
_REQUEST = Fields(DramRequest(PARAMETERS))
_CYCLES = 150
_MEASUREMENTS = 80
_WAITS = 90
_LONG_LOG2 = 10  # of the samples of a long measurement
_LOW_BITS = 7  # of the sum, below the carries that are counted
_PLAIN = {
    "automatic": 0,
    "threshold": 127,
    "starvation_limit": 0xFFFF,
    "measure_log2": 0,
    "cuts": [0, 0, 0],
    "levels": [127, 127, 127],
}
_LEVELS = (127, 30, 10, 5)  # from the lowest occupancy to the highest
_RUNS = ("active",)  # a kernel, and neither critical nor relaxed communication
_STREAMS = {"c": "compute", "m": "communication"}

expect(
    "both wait",
    "compute first, both wait",
    *(
        f"{name}, {point}"
        for name in ("MCA", "MCA_PAPER")
        for point in (
            "compute goes first",
            "held back by the occupancy",
            "passes below the threshold",
            "passes without a threshold",
        )
    ),
    "MCA, no kernel to protect",
    "critical, communication goes first",
    "critical, compute has waited for its limit",
    "not critical, compute goes first",
    "congested, compute goes first",
    "not critical, room is left",
    "not critical, no time to leave room",
    "starvation count of compute saturated",
    "starvation limit reached against compute",
    "starvation limit reached against the occupancy",
    "starvation count saturated",
    "queue full",
    "queue full while starving",
    "measurement begun anew",
    *(f"measured level {level}" for level in _LEVELS),
)


def make_dut(block: type = Arbiter):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _random_configuration(rng: random.Random) -> dict:
    almost = 127 ^ 1 << rng.randrange(7)
    levels = [rng.choice([almost, rng.getrandbits(7)]) for _ in range(3)]
    return {
        "automatic": rng.getrandbits(1),
        "threshold": rng.choice([0, 5, 10, 30, 127, almost, rng.getrandbits(7)]),
        "starvation_limit": rng.choice([0, 3, 50, 0xFFFF, 1 << rng.randrange(16)]),
        "measure_log2": rng.randrange(10),
        "cuts": sorted(rng.sample(range(rng.choice([20, 80, 128])), 3)),
        "levels": rng.choice([_LEVELS[1:], levels]),
    }


class _Bench:
    """Offers numbered requests, and checks what leaves against the model."""

    def __init__(self, dut):
        self.dut = dut
        self.model = Model(PARAMETERS)
        self.numbers = {"c": 0, "m": 0}
        self.requests = {name: self._request(name) for name in _STREAMS}
        self.served = {"c": 0, "m": 0}
        self.longest_wait = 0
        self._wait = 0

    def _request(self, stream: str) -> int:
        """The next request of a stream, like no other in any field."""
        return random.Random(f"{stream}{self.numbers[stream]}").getrandbits(_REQUEST.width)

    async def start(self) -> None:
        await reset(self.dut, _INPUTS)
        self.checker = StreamChecker(self.dut, (), unheld=("o",))

    def configure(self, **configuration) -> None:
        self._configuration = _PLAIN | configuration
        self.dut.configuration.value = _CONFIGURATION.pack(self._configuration)

    def drive(
        self,
        requests: str,
        *,
        ready: bool,
        occupancy: int,
        start: bool,
        told: Collection[str] = _RUNS,
    ) -> None:
        """Inputs of a cycle in which the named streams have a request."""
        dut = self.dut
        for name in TOLD:
            getattr(dut, name).value = int(name in told)
        for name, stream in _STREAMS.items():
            offer(dut, stream, self.requests[name] if name in requests else None)
        dut.o__ready.value = int(ready)
        dut.occupancy.value = occupancy
        dut.start.value = int(start)

    async def cycle(
        self, requests: str, *, ready=True, occupancy=0, start=False, told=_RUNS
    ) -> None:
        """One cycle; what the named streams offer is the oldest that has not left."""
        dut = self.dut
        self.drive(requests, ready=ready, occupancy=occupancy, start=start, told=told)
        self._cover(requests, ready, occupancy, start, told)
        winner = self.model.cycle(
            self._configuration, "c" in requests, "m" in requests, ready, occupancy, start, told
        )
        await settled()
        self.checker.sample()
        assert bool(dut.o__valid.value) == (winner is not None)
        if winner:
            assert int(dut.o__payload.value) == self.requests[winner]
        for name, stream in _STREAMS.items():
            moves = bool(getattr(dut, f"{stream}__ready").value) and name in requests
            assert moves == (ready and winner == name)
            if moves:
                self.served[name] += 1
                self.numbers[name] += 1
                self.requests[name] = self._request(name)
        self._wait = 0 if winner == "m" and ready or "m" not in requests else self._wait + 1
        self.longest_wait = max(self.longest_wait, self._wait)
        await next_cycle(dut)

    async def wait(self, cycles: int, requests: str, *, occupancy=0) -> None:
        """A long time in which the queue is full and nothing changes."""
        self.drive(requests, ready=False, occupancy=occupancy, start=False)
        for _ in range(cycles):
            self.model.cycle(
                self._configuration,
                "c" in requests,
                "m" in requests,
                False,
                occupancy,
                False,
                _RUNS,
            )
        await skip(self.dut, cycles)

    def preset_waits(self, communication: int, compute: int) -> None:
        """Go on as if each had waited for so many cycles."""
        inside(self.dut, "starved").value = communication
        inside(self.dut, "compute_starved").value = compute
        self.model.preset_waits(communication, compute)

    def preset(self, samples: int, total: int) -> None:
        """Go on as if so many cycles with this sum had been measured."""
        carries, low = total >> _LOW_BITS, total & (1 << _LOW_BITS) - 1
        preset(self.dut, "measurement.count", samples)
        preset(self.dut, "measurement.carries", carries)
        inside(self.dut, "measurement.low").value = low
        self.model.preset(samples, total)

    def measure(self, rng: random.Random, log2: int) -> int:
        """Configure a measurement of ``2 ** log2`` samples; gives one of its cuts."""
        cut, place = rng.randint(2, 127), rng.randrange(3)
        self.configure(
            policy=Policy.MCA,
            automatic=1,
            starvation_limit=0xFFFF,
            measure_log2=log2,
            cuts=[cut // 2] * place + [cut] + [127] * (2 - place),
            levels=[rng.getrandbits(7) for _ in range(3)],
        )
        return cut

    async def end_with(self, rng: random.Random, total: int, left: int) -> None:
        """The last samples of a measurement, up to a sum, and what comes of it."""
        for _ in range(left):
            occupancy = min(total - self.model.total, 127)
            await self.cycle("m", occupancy=occupancy)
        assert self.model.samples is None
        for _ in range(8):
            await self.cycle("m", occupancy=rng.getrandbits(7))

    def fill(self, bits: int, *, left: int = 0, below: int = 0) -> None:
        """Go on as if the lower bits of samples and of the sum's carries were ones, but for so many
        samples and carries."""
        model, ones = self.model, (1 << bits) - 1
        carries, low = model.total >> _LOW_BITS, model.total & (1 << _LOW_BITS) - 1
        # Lost in what follows, so looked at now.
        for name, expected in (("count", model.samples), ("carries", carries)):
            assert int(inside(self.dut, f"measurement.{name}.o").value) == expected, name
        fill(self.dut, "measurement.count", bits, short=left)
        fill(self.dut, "measurement.carries", bits, short=below)
        carries = (carries | ones) - below
        model.preset((model.samples | ones) - left, carries << _LOW_BITS | low)

    def _cover(
        self, requests: str, ready: bool, occupancy: int, start: bool, told: Collection[str]
    ) -> None:
        model, configuration = self.model, self._configuration
        both, m = len(requests) == 2, "m" in requests
        cover("queue full", requests and not ready)
        cover("measurement begun anew", start and model.samples)
        if configuration["automatic"]:
            if model.level in _LEVELS:
                cover(f"measured level {model.level}", requests == "m")
        policy = configuration["policy"]
        cover("both wait", policy == Policy.ROUND_ROBIN and both)
        cover("compute first, both wait", policy == Policy.COMPUTE_FIRST and both)
        threshold = model.level if configuration["automatic"] else configuration["threshold"]
        urgent = model.starved >= configuration["starvation_limit"]
        calm = threshold == 127 or occupancy < threshold
        only = requests == "m" and not urgent
        cover("starvation count saturated", model.starved == 65535 and m)
        cover("starvation count of compute saturated", model.compute_starved == 65535)
        if policy in (Policy.MCA, Policy.MCA_PAPER):
            name, waited = policy.name, m and model.starved
            gate = policy == Policy.MCA_PAPER or "active" in told
            cover(f"{name}, compute goes first", both and not urgent)
            cover(f"{name}, held back by the occupancy", only and not calm and gate)
            cover(f"{name}, passes below the threshold", only and calm and threshold != 127)
            cover(f"{name}, passes without a threshold", only and threshold == 127)
            cover("MCA, no kernel to protect", only and not calm and not gate)
            cover("starvation limit reached against compute", both and urgent and waited)
            held = requests == "m" and urgent and waited and not calm
            cover("starvation limit reached against the occupancy", held)
            cover("queue full while starving", m and not ready and not urgent)
        if policy == Policy.CRITICAL:
            patient = model.compute_starved < configuration["starvation_limit"]
            on = "critical" in told and "congested" not in told
            stuck = {"critical", "congested"} <= set(told)
            cover("critical, communication goes first", on and both and patient)
            cover("critical, compute has waited for its limit", on and both and not patient)
            cover("not critical, compute goes first", not on and both and not urgent)
            relaxed = "relaxed" in told and "congested" not in told
            cover("congested, compute goes first", stuck and both and not urgent)
            cover("not critical, room is left", not on and only and relaxed and not calm)
            cover(
                "not critical, no time to leave room", not on and only and not relaxed and not calm
            )


@cocotb.test()
async def every_choice(dut):
    """All policies and loads, against the model."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = _Bench(dut)
    await bench.start()
    for number in range(60):
        policy = list(Policy)[number % len(Policy)]
        bench.configure(**_random_configuration(rng) | {"policy": policy})
        rates = {name: rng.choice([0.1, 0.5, 0.9, 1]) for name in "cm"}
        room, most = rng.choice([0.3, 0.9, 1]), rng.randrange(1, 128)
        on = {name: rng.choice([0.1, 0.5, 0.9, 1]) for name in TOLD}
        for cycle in range(scaled(_CYCLES)):
            requests = "".join(name for name in "cm" if rng.random() < rates[name])
            await bench.cycle(
                requests,
                ready=rng.random() < room,
                occupancy=rng.randrange(most),
                start=cycle == 5 or rng.random() < 0.002,
                told=[name for name in TOLD if rng.random() < on[name]],
            )
    assert min(bench.served.values()) > 500


@cocotb.test()
async def round_robin_shares(dut):
    """Full load: a request in every cycle, and half of them for each."""
    bench = _Bench(dut)
    await bench.start()
    bench.configure(policy=Policy.ROUND_ROBIN)
    for _ in range(1000):
        await bench.cycle("cm")
    assert bench.served == {"c": 500, "m": 500}


@cocotb.test()
async def nothing_starves(dut):
    """A full DRAM queue, and compute or none: communication waits its limit, and never longer.
    Where it is critical, compute does so."""
    bench = _Bench(dut)
    await bench.start()
    for requests in ("cm", "m"):
        for limit in (1, 9, 100):
            bench.configure(policy=Policy.MCA, threshold=5, starvation_limit=limit)
            bench.longest_wait = 0
            before = bench.served["m"]
            for _ in range(10 * (limit + 1)):
                await bench.cycle(requests, occupancy=64)
            assert bench.longest_wait == limit
            assert bench.served["m"] - before == 10
    for limit in (1, 9, 100):
        bench.configure(policy=Policy.CRITICAL, threshold=5, starvation_limit=limit)
        before = bench.served["c"]
        for _ in range(10 * (limit + 1)):
            await bench.cycle("cm", occupancy=64, told=("critical",))
        assert bench.served["c"] - before == 10


@cocotb.test()
async def everything_that_can_be_told(dut):
    """Of the kernel and the memory, to a calm queue and a full one, with compute and without."""
    bench = _Bench(dut)
    await bench.start()
    for policy in (Policy.MCA, Policy.MCA_PAPER, Policy.CRITICAL):
        bench.configure(policy=policy, threshold=5, starvation_limit=3)
        for number in range(1 << len(TOLD)):
            told = [name for bit, name in enumerate(TOLD) if number >> bit & 1]
            for requests, occupancy in product(("m", "cm"), (4, 5)):
                for _ in range(5):
                    await bench.cycle(requests, occupancy=occupancy, told=told)


@cocotb.test()
async def starvation_count_saturates(dut):
    """However long the queue is full: the limit is reached in one cycle, and stays so."""
    bench = _Bench(dut)
    await bench.start()
    bench.configure(policy=Policy.MCA, threshold=5, starvation_limit=65535)
    await bench.wait(600, "cm", occupancy=64)
    bench.preset_waits(65534, 65534)
    for _ in range(20):
        await bench.cycle("cm", ready=False, occupancy=64)
    await bench.cycle("cm", occupancy=64)
    assert bench.served == {"c": 0, "m": 1}
    # Compute has waited as long, and is still not too late where communication is critical.
    bench.configure(policy=Policy.CRITICAL, starvation_limit=65535)
    await bench.cycle("cm", told=("critical",))
    assert bench.served == {"c": 1, "m": 1}


@cocotb.test()
async def the_end_of_any_wait(dut):
    """A limit of any size, reached from shortly before, or missed by a bit."""
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = _Bench(dut)
    await bench.start()
    for number in range(scaled(_WAITS)):
        limit = rng.choice([1 << rng.randrange(16), rng.randrange(1, 1 << 16)])
        start = limit ^ 1 << rng.randrange(16)
        if number % 3 == 1:
            start = max(limit - rng.randint(1, 5), 0)
        elif number % 3 == 2:  # goes on where all bits but one are ones
            start = 0xFFFF ^ 1 << rng.randrange(16)
            limit = min(start + rng.randint(1, 5), 0xFFFF)
        policy, told = rng.choice([(Policy.MCA, _RUNS), (Policy.CRITICAL, ("critical",))])
        bench.configure(policy=policy, threshold=5, starvation_limit=limit)
        # Mostly both, or the one that does not go first.
        waits = rng.choice([(start, start), (start, start), (start, 0), (0, start)])
        bench.preset_waits(*waits)
        for _ in range(8):
            await bench.cycle("cm", ready=rng.random() < 0.8, occupancy=64, told=told)


@cocotb.test()
async def a_wait_that_ends_without_a_turn(dut):
    """Its count begins anew with the next one, whatever it was."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = _Bench(dut)
    await bench.start()
    for bit in range(16):
        for which, (policy, told) in enumerate(
            ((Policy.MCA, _RUNS), (Policy.CRITICAL, ("critical",)))
        ):
            waits = [0, 0]
            waits[which] = 1 << bit
            bench.configure(policy=policy, threshold=5, starvation_limit=max(1 << bit, 4))
            bench.preset_waits(*waits)
            await bench.cycle("", occupancy=64)
            for _ in range(rng.randint(1, 3)):
                await bench.cycle("cm", occupancy=64, told=told)
            await bench.cycle("", occupancy=64)


@cocotb.test()
async def long_measurement(dut):
    """Nearly the largest sum of many samples, and the cycle in which its level counts."""
    bench = _Bench(dut)
    await bench.start()
    for occupancy, level in ((127, 5), (79, 10)):
        bench.configure(
            policy=Policy.MCA,
            automatic=1,
            starvation_limit=0xFFFF,
            measure_log2=_LONG_LOG2,
            cuts=[40, 79, 127],
            levels=_LEVELS[1:],
        )
        await bench.cycle("m", occupancy=occupancy, start=True)
        await bench.wait((1 << _LONG_LOG2) - 3, "", occupancy=occupancy)
        for _ in range(8):
            await bench.cycle("m", occupancy=occupancy)
        assert bench.model.level == level
        await bench.cycle("m", occupancy=level)
        await bench.cycle("m", occupancy=level - 1)


@cocotb.test()
async def short_measurements(dut):
    """Just above a cut, or below it by as much as a bit of the sum says."""
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    bench = _Bench(dut)
    await bench.start()
    for log2 in [*range(6)] * scaled(4):
        cut = bench.measure(rng, log2)
        total = (cut << log2) - rng.choice([0, 1, 1 << rng.randrange(log2 + 6)])
        await bench.cycle("m", start=True)
        await bench.end_with(rng, max(total, 0), 1 << log2)


@cocotb.test()
async def the_end_of_any_measurement(dut):
    """Also of one that would take hours: the counters are put to where they are shortly before."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = _Bench(dut)
    await bench.start()
    for _ in range(scaled(_MEASUREMENTS)):
        log2 = rng.randint(10, 31)
        left = rng.randint(4, 12)
        samples = (1 << log2) - left
        cut = bench.measure(rng, log2)
        # Above the cut in the end, or just below it.
        total = (cut << log2) + rng.choice(
            [0, 1, -1, rng.getrandbits(log2), -rng.getrandbits(log2)]
        )
        before = max(total - left * 64, 0)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        bench.preset(samples, before)
        await bench.end_with(rng, total, left)


@cocotb.test()
async def a_measurement_through_the_blocks_of_its_counts(dut):
    """A block of both gets full, or nearly so; then, with ones below it, it carries or does not."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    bench = _Bench(dut)
    await bench.start()
    # The lowest one is gone through by a long measurement.
    blocks = [(at, block) for at, block in blocks_of_a_count(32 - _LOW_BITS) if at]
    for at, block in blocks * scaled(1):
        above = at + BLOCK_BITS
        log2 = rng.randint(above + _LOW_BITS, 31)
        cut = bench.measure(rng, log2)
        low = block << at | (1 << at) - 1
        # What is above is there in the end if and only if a full block, and no other, has carried.
        goals = [(1 << log2) - (1 << above), (cut << log2 >> _LOW_BITS) - (1 << above)]
        full = block == (1 << BLOCK_BITS) - 1
        samples, carries = (goal - (full << above) + low - (1 << at) for goal in goals)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        bench.preset(samples, carries << _LOW_BITS | (1 << _LOW_BITS) - 1)
        await bench.cycle("m", occupancy=127)
        bench.fill(at)
        for _ in range(rng.randint(1, 3)):
            await bench.cycle("m", occupancy=127)
        left = rng.randint(4, 8)
        bench.fill(above, left=left, below=rng.randrange(2))
        await bench.end_with(rng, (cut << log2) + rng.choice([-1, 0]), left + 1)


@cocotb.test()
async def a_measurement_begun_anew_among_full_blocks(dut):
    """They are empty then, and carry only when they are full again."""
    rng = random.Random(cocotb.RANDOM_SEED + 6)
    bench = _Bench(dut)
    await bench.start()
    for at in (0, BLOCK_BITS, 2 * BLOCK_BITS) * scaled(1):
        above = at + BLOCK_BITS
        cut = bench.measure(rng, above)
        await bench.cycle("m", start=True)
        await bench.cycle("")
        full = (1 << above) - (1 << at)
        bench.preset(full, full << _LOW_BITS | (1 << _LOW_BITS) - 1)
        await bench.cycle("m", start=True)
        await bench.cycle("m", occupancy=127)
        bench.fill(at)
        for _ in range(3):
            await bench.cycle("m", occupancy=127)
        left = rng.randint(4, 8)
        goal = (cut << above) + rng.choice([-1, 0])
        reached = (goal >> _LOW_BITS) - left // 2
        bench.fill(above, left=left, below=(1 << above) - 1 - reached)
        await bench.end_with(rng, goal, left + 1)
