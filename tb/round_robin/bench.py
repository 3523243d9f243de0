"""Bench of the round-robin merges and arbiters, against the requests and the input served last."""

import random
from collections import Counter

import cocotb

from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.round_robin.dut import MERGES, PICKS, WIDTH, RoundRobin
from tb.stream import Pace, StreamChecker, offer

make_dut = RoundRobin

_INPUTS = inputs_of(make_dut())
# Number of inputs of each merge, and of requests of each arbiter.
_MERGES = {"two": ("two__a", "two__b")}
_MERGES |= {f"merge{n}": tuple(f"merge{n}__i__{i}" for i in range(n)) for n in MERGES}
_PICKS = {f"pick{n}": n for n in PICKS}
_CYCLES = 1200

expect(
    "all ask",
    "the last one asks alone again",
    "goes around",
    "no request",
    "the choice is not made use of",
)


class _Turns:
    """Model of a round-robin arbiter: grants the first request behind the input served last."""

    def __init__(self, inputs: int):
        self._inputs, self._first = inputs, 0

    def choose(self, asks: list[bool], *, takes: bool) -> int | None:
        order = [(self._first + i) % self._inputs for i in range(self._inputs)]
        chosen = next((i for i in order if asks[i]), None)
        several = self._inputs > 1
        cover("no request", chosen is None)
        cover("all ask", all(asks) and several)
        cover("goes around", chosen is not None and chosen < self._first)
        last = (self._first - 1) % self._inputs
        cover("the last one asks alone again", several and chosen == last and sum(asks) == 1)
        cover("the choice is not made use of", chosen is not None and not takes)
        if chosen is not None and takes:
            self._first = (chosen + 1) % self._inputs
        return chosen


class _Bench:
    """All merges and arbiters, with the payload at each input that is offered and not accepted."""

    def __init__(self, dut):
        self.dut = dut
        self.turns = {name: _Turns(len(inputs)) for name, inputs in _MERGES.items()}
        self.turns |= {name: _Turns(inputs) for name, inputs in _PICKS.items()}
        self.offered: dict[str, int] = {}
        self.served: Counter[str] = Counter()
        # A merge's output follows its inputs.
        ends = [f"{name}__o" for name in _MERGES]
        self.checker = StreamChecker(dut, sum(_MERGES.values(), ()), unheld=ends)

    async def cycle(self, rng: random.Random, asks: dict[str, bool]) -> None:
        """Drive one cycle with these requests and these uses of the grants."""
        dut, requests = self.dut, {}
        for name, inputs in _MERGES.items():
            getattr(dut, f"{name}__o__ready").value = int(asks[name])
            for port in inputs:
                if asks[port] and port not in self.offered:
                    self.offered[port] = rng.getrandbits(WIDTH)
                offer(dut, port, self.offered.get(port))
        for name, inputs in _PICKS.items():
            requests[name] = [asks[f"{name}{index}"] for index in range(inputs)]
            getattr(dut, f"{name}__take").value = int(asks[name])
            bits = sum(1 << index for index, one in enumerate(requests[name]) if one)
            getattr(dut, f"{name}__requests").value = bits
        await settled()
        self.checker.sample()
        for name, inputs in _MERGES.items():
            self._check_merge(name, inputs, takes=asks[name])
        for name in _PICKS:
            chosen = self.turns[name].choose(requests[name], takes=asks[name])
            grant = 0 if chosen is None else 1 << chosen
            assert int(getattr(dut, f"{name}__grant").value) == grant, name
        await next_cycle(dut)

    def _check_merge(self, name: str, inputs: tuple[str, ...], *, takes: bool) -> None:
        dut = self.dut
        chosen = self.turns[name].choose([port in self.offered for port in inputs], takes=takes)
        assert bool(getattr(dut, f"{name}__o__valid").value) == (chosen is not None), name
        if chosen is not None:
            payload = self.offered[inputs[chosen]]
            assert int(getattr(dut, f"{name}__o__payload").value) == payload, name
        for index, port in enumerate(inputs):
            # No other requester sees ready.
            moves = port in self.offered and bool(getattr(dut, f"{port}__ready").value)
            assert moves == (takes and index == chosen), port
            if moves:
                del self.offered[port]
                self.served[port] += 1


def _sides() -> list[str]:
    """Names of all streams and requests."""
    requests = [f"{name}{index}" for name, inputs in _PICKS.items() for index in range(inputs)]
    return [*_MERGES, *sum(_MERGES.values(), ()), *_PICKS, *requests]


@cocotb.test()
async def random_requests(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, pace = _Bench(dut), Pace(rng, _sides(), rates=(0, 0.1, 0.5, 0.9, 1))
    for _ in range(scaled(_CYCLES)):
        await bench.cycle(rng, pace.acts())


@cocotb.test()
async def equal_shares(dut):
    """Inputs that request continuously are served equally often, one in every cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, rounds = _Bench(dut), 20
    cycles = rounds * 2 * 5  # a multiple of every number of streams
    for _ in range(cycles):
        await bench.cycle(rng, dict.fromkeys(_sides(), True))
    for inputs in _MERGES.values():
        assert {bench.served[port] for port in inputs} == {cycles // len(inputs)}
