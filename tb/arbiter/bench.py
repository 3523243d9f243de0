"""Arbiter under long random traffic: its choice in every cycle, order, loss, and starvation."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from rtl.configuration import ArbiterConfiguration
from rtl.encodings import Policy
from rtl.layouts import DramRequest
from rtl.parameters import T3Parameters
from tb.arbiter.reference import Reference

PARAMETERS = T3Parameters(payload=True)
_CONFIGURATION = ArbiterConfiguration(PARAMETERS)
_ATOM = DramRequest(PARAMETERS)["atom"]
_PLAIN = {
    "automatic": 0,
    "threshold": 127,
    "starvation_limit": 0xFFFF,
    "measure_log2": 0,
    "cuts": [0, 0, 0],
    "levels": [127, 127, 127],
}
_STREAMS = {"c": "compute", "m": "communication"}


def _random_configuration(rng: random.Random) -> dict:
    return {
        "policy": rng.choice(list(Policy)),
        "automatic": rng.getrandbits(1),
        "threshold": rng.choice([0, 5, 10, 30, 127]),
        "starvation_limit": rng.choice([0, 3, 50, 0xFFFF]),
        "measure_log2": rng.randrange(10),
        "cuts": sorted(rng.sample(range(80), 3)),
        "levels": [30, 10, 5],
    }


class _Bench:
    """Offers numbered requests, and checks what leaves against the reference."""

    def __init__(self, dut):
        self.dut = dut
        self.reference = Reference()
        self.numbers = {"c": 0, "m": 0}
        self.served = {"c": 0, "m": 0}
        self.longest_wait = 0
        self._wait = 0

    async def start(self) -> None:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 2, "ns").start())
        dut.rst.value = 1
        for port in (dut.compute__valid, dut.communication__valid, dut.o__ready, dut.start):
            port.value = 0
        for _ in range(2):
            await FallingEdge(dut.clk)
        dut.rst.value = 0

    def configure(self, **configuration) -> None:
        self._configuration = _PLAIN | configuration
        self.dut.configuration.value = _CONFIGURATION.const(self._configuration).as_bits()

    async def cycle(self, requests: str, *, ready=True, occupancy=0, start=False) -> None:
        """One cycle in which the named streams have a request, the oldest that has not left."""
        dut = self.dut
        for name, stream in _STREAMS.items():
            getattr(dut, f"{stream}__valid").value = int(name in requests)
            # The parity tells the streams apart.
            number = 2 * self.numbers[name] + (name == "m")
            getattr(dut, f"{stream}__payload").value = number << _ATOM.offset
        dut.o__ready.value = int(ready)
        dut.occupancy.value = occupancy
        dut.start.value = int(start)
        winner = self.reference.cycle(
            self._configuration, "c" in requests, "m" in requests, ready, occupancy, start
        )
        # Between the edges: the outputs have followed the inputs.
        await Timer(500, "ps")
        assert bool(dut.o__valid.value) == (winner is not None)
        if winner:
            payload = int(dut.o__payload.value)
            assert payload >> _ATOM.offset == 2 * self.numbers[winner] + (winner == "m")
        for name, stream in _STREAMS.items():
            moves = bool(getattr(dut, f"{stream}__ready").value) and name in requests
            assert moves == (ready and winner == name)
            self.numbers[name] += moves
            self.served[name] += moves
        self._wait = 0 if winner == "m" and ready or "m" not in requests else self._wait + 1
        self.longest_wait = max(self.longest_wait, self._wait)
        await FallingEdge(dut.clk)


@cocotb.test()
async def every_choice(dut):
    """All policies and loads, against the reference."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = _Bench(dut)
    await bench.start()
    for _ in range(40):
        bench.configure(**_random_configuration(rng))
        rates = {name: rng.choice([0.1, 0.5, 0.9, 1]) for name in "cm"}
        room, most = rng.choice([0.3, 0.9, 1]), rng.randrange(1, 128)
        for cycle in range(500):
            requests = "".join(name for name in "cm" if rng.random() < rates[name])
            await bench.cycle(
                requests,
                ready=rng.random() < room,
                occupancy=rng.randrange(most),
                start=cycle == 5,
            )
    assert min(bench.served.values()) > 1000


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
    """Full load and a full DRAM queue: communication waits its limit, and never longer."""
    bench = _Bench(dut)
    await bench.start()
    for limit in (1, 9, 100):
        bench.configure(policy=Policy.MCA, threshold=5, starvation_limit=limit)
        bench.longest_wait = 0
        before = bench.served["m"]
        for _ in range(10 * (limit + 1)):
            await bench.cycle("cm", occupancy=64)
        assert bench.longest_wait == limit
        assert bench.served["m"] - before == 10
