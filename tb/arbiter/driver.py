"""Driver of the arbiter's ports, which compares every cycle with the model."""

import random
from collections.abc import Collection

from rtl.channel.arbitration.arbiter import Arbiter
from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import Origin, Policy
from rtl.interface.layouts import DramRequest
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.arbitration import MEASURING
from tb.arbiter.model import step_unit
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, settled, skip
from tb.golden import SIGNALS, golden_state, set_arbiter
from tb.inside import fill, inside, preset
from tb.payload import Fields
from tb.stream import StreamChecker, offer

__all__ = ["LEVELS", "LOW_BITS", "PARAMETERS", "RUNS", "Driver"]

PARAMETERS = T3Parameters(contexts=1, with_data=True)
LOW_BITS = 7
"""Number of low bits of the sum, below the counted carries."""
LEVELS = (127, 30, 10, 5)
"""Levels, from the lowest occupancy to the highest."""
RUNS = ("active",)
"""Signals of a running kernel with communication that is neither critical nor relaxed."""
_CONFIGURATION = Fields(ArbiterConfiguration(PARAMETERS))
_REQUEST = Fields(DramRequest(PARAMETERS))
_INPUTS = inputs_of(Arbiter(PARAMETERS))
_PLAIN = {
    "automatic": 0,
    "threshold": 127,
    "starvation_limit": 0xFFFF,
    "measure_log2": 0,
    "cuts": [0, 0, 0],
    "levels": [127, 127, 127],
}
_STREAMS = {"c": "compute", "m": "communication"}

expect(
    "both wait",
    "compute first, both wait",
    "compute first, communication is urgent",
    "both have waited for the limit",
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
    "not critical, space is left",
    "not critical, no time to leave space",
    "starvation count of compute saturated",
    "starvation limit reached against compute",
    "starvation limit reached against the occupancy",
    "starvation count saturated",
    "queue full",
    "queue full while starving",
    "measurement begun anew",
    *(f"measured level {level}" for level in LEVELS),
)


class Driver:
    """Offers numbered requests, and compares the granted ones with the model's."""

    def __init__(self, dut):
        self.dut = dut
        self.state = golden_state(PARAMETERS)
        channel = self.state.channels[0]
        self.arbiter, self.measurement = channel["arbiter"], channel["measurement"]
        self.numbers = {"c": 0, "m": 0}
        self.requests = {name: self._request(name) for name in _STREAMS}
        self.served = {"c": 0, "m": 0}
        self.longest_wait = 0
        self._wait = 0

    def _request(self, stream: str) -> int:
        """Make the next request of a stream, which differs from all others in every field."""
        return random.Random(f"{stream}{self.numbers[stream]}").getrandbits(_REQUEST.width)

    async def start(self) -> None:
        await reset(self.dut, _INPUTS)
        self.checker = StreamChecker(self.dut, (), unheld=("o",))

    def configure(self, **configuration) -> None:
        self._configuration = _PLAIN | configuration
        self.dut.configuration.value = _CONFIGURATION.pack(self._configuration)
        set_arbiter(self.state, self._configuration)

    def drive(
        self,
        requests: str,
        *,
        ready: bool,
        occupancy: int,
        start: bool,
        signals: Collection[str] = RUNS,
    ) -> None:
        """Set the inputs of a cycle in which the named streams have a request."""
        dut = self.dut
        for name in SIGNALS:
            getattr(dut, name).value = int(name in signals)
        for name, stream in _STREAMS.items():
            offer(dut, stream, self.requests[name] if name in requests else None)
        dut.o__ready.value = int(ready)
        dut.occupancy.value = occupancy
        dut.start.value = int(start)

    async def cycle(
        self, requests: str, *, ready=True, occupancy=0, start=False, signals=RUNS
    ) -> None:
        """Drive a cycle; each named stream offers its oldest request that was not granted."""
        dut = self.dut
        self.drive(requests, ready=ready, occupancy=occupancy, start=start, signals=signals)
        self._cover(requests, ready, occupancy, start, signals)
        inputs = {"ready": ready, "occupancy": occupancy, "start": start}
        winner = step_unit(self.state, requests, signals, **inputs)
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
        """Wait for a long time in which the queue is full and no input changes."""
        self.drive(requests, ready=False, occupancy=occupancy, start=False)
        for _ in range(cycles):
            inputs = {"ready": False, "occupancy": occupancy, "start": False}
            step_unit(self.state, requests, RUNS, **inputs)
        await skip(self.dut, cycles)

    def preset_waits(self, communication: int, compute: int) -> None:
        """Preset the waiting times of communication and compute, in cycles."""
        inside(self.dut, "starved").value = communication
        inside(self.dut, "compute_starved").value = compute
        self.arbiter["starved"], self.arbiter["compute_starved"] = communication, compute

    def preset(self, samples: int, total: int) -> None:
        """Preset the measurement to ``samples`` cycles with the sum ``total``."""
        carries, low = total >> LOW_BITS, total & (1 << LOW_BITS) - 1
        preset(self.dut, "measurement.count", samples)
        preset(self.dut, "measurement.carries", carries)
        inside(self.dut, "measurement.low").value = low
        self.measurement["samples"], self.measurement["sample_sum"] = samples, total

    def measure(self, rng: random.Random, log2: int) -> int:
        """Configure a measurement of ``2 ** log2`` samples; return one of its cuts."""
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
        """Drive the last samples of a measurement, up to a total, and some further cycles."""
        for _ in range(left):
            occupancy = min(total - int(self.measurement["sample_sum"]), 127)
            await self.cycle("m", occupancy=occupancy)
        assert self.measurement["measuring_step"] != MEASURING
        for _ in range(8):
            await self.cycle("m", occupancy=rng.getrandbits(7))

    def fill(self, bits: int, *, left: int = 0, below: int = 0) -> None:
        """Preset the lower bits of the samples and of the sum's carries to ones, less ``left``
        samples and ``below`` carries."""
        own, ones = self.measurement, (1 << bits) - 1
        samples, total = int(own["samples"]), int(own["sample_sum"])
        carries, low = total >> LOW_BITS, total & (1 << LOW_BITS) - 1
        assert own["measuring_step"] == MEASURING
        # Compared here, before the registers are overwritten.
        for name, expected in (("count", samples), ("carries", carries)):
            assert int(inside(self.dut, f"measurement.{name}.o").value) == expected, name
        fill(self.dut, "measurement.count", bits, short=left)
        fill(self.dut, "measurement.carries", bits, short=below)
        carries = (carries | ones) - below
        own["samples"], own["sample_sum"] = (samples | ones) - left, carries << LOW_BITS | low

    def _cover(
        self, requests: str, ready: bool, occupancy: int, start: bool, signals: Collection[str]
    ) -> None:
        own, measurement, configuration = self.arbiter, self.measurement, self._configuration
        both, m = len(requests) == 2, "m" in requests
        cover("queue full", requests and not ready)
        measures, level = measurement["measuring_step"] == MEASURING, int(measurement["measured"])
        cover("measurement begun anew", start and measures and measurement["samples"])
        if configuration["automatic"]:
            if level in LEVELS:
                cover(f"measured level {level}", requests == "m")
        policy = configuration["policy"]
        cover("both wait", policy == Policy.ROUND_ROBIN and both)
        compute_first = policy == Policy.COMPUTE_FIRST
        cover("compute first, both wait", compute_first and both)
        threshold = level if configuration["automatic"] else configuration["threshold"]
        limit = max(1, configuration["starvation_limit"])
        due = own["starved"] >= limit
        patient = "c" not in requests or own["compute_starved"] < limit
        urgent = due and (patient or own["arbiter_last"] == Origin.COMPUTE.value)
        cover("both have waited for the limit", both and due and not patient and ready)
        cover("compute first, communication is urgent", compute_first and both and urgent)
        calm = threshold == 127 or occupancy < threshold
        only = requests == "m" and not urgent
        cover("starvation count saturated", own["starved"] == 65535 and m)
        cover("starvation count of compute saturated", own["compute_starved"] == 65535)
        if policy in (Policy.MCA, Policy.MCA_PAPER):
            name, waited = policy.name, m and own["starved"]
            gate = policy == Policy.MCA_PAPER or "active" in signals
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
            on = "critical" in signals and "congested" not in signals
            stuck = {"critical", "congested"} <= set(signals)
            cover("critical, communication goes first", on and both and patient)
            cover("critical, compute has waited for its limit", on and both and not patient)
            cover("not critical, compute goes first", not on and both and not urgent)
            relaxed = "relaxed" in signals and "congested" not in signals
            cover("congested, compute goes first", stuck and both and not urgent)
            cover("not critical, space is left", not on and only and relaxed and not calm)
            cover(
                "not critical, no time to leave space", not on and only and not relaxed and not calm
            )
