"""Bench of the queues: random traffic, against the queues of the golden model."""

import random

import cocotb

from sysmodel.engine.golden.channel.queues import (
    Q,
    back,
    commit,
    front,
    has,
    has_space,
    mark,
    waiting,
)
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.queue.dut import DEPTHS, WIDTH, Queues
from tb.stream import Pace, StreamChecker, offer

make_dut = Queues

_INPUTS = inputs_of(Queues())
_MODELS = dict(zip(DEPTHS, Q, strict=False))  # queue of the golden model for each queue
_CYCLES = 1500

expect(
    "full",
    "empty after full",
    "refused while full and giving",
    "back to back through one entry",
    "dropped",
    "dropped into the last place",
    "stalled",
)


class _Bench:
    """One of the queues, and its model."""

    def __init__(self, dut, depth: int):
        self._dut = dut
        names = ("valid", "ready", "payload")
        self._ready = getattr(dut, f"i{depth}__ready")
        self._take = [getattr(dut, f"o{depth}__{name}") for name in names]
        self._drop, self._level = getattr(dut, f"drop{depth}"), getattr(dut, f"level{depth}")
        self.depth, self.queue = depth, _MODELS[depth]
        self.entries = [0] * 8
        self.levels = self.heads = 0
        self.taken = 0
        self._was_full = False

    def drive(self, payload: int | None, *, ready: bool, drop: bool) -> None:
        offer(self._dut, f"i{self.depth}", payload)
        self._take[1].value, self._drop.value = int(ready), int(drop)
        self._inputs = payload, ready, drop

    def check(self) -> None:
        """Compare the outputs, and step the model."""
        (payload, ready, drop), queue = self._inputs, self.queue
        level = waiting(self.levels, queue)
        can, gives = has_space(self.levels, queue, self.depth), has(self.levels, queue)
        assert int(self._level.value) == level, f"depth {self.depth}"
        assert bool(self._ready.value) == can, f"depth {self.depth}"
        assert bool(self._take[0].value) == gives, f"depth {self.depth}"
        if gives:
            oldest = self.entries[front(self.heads, queue)]
            assert int(self._take[2].value) == oldest, f"depth {self.depth}"
        offered = payload is not None
        put, take = offered and can and not drop, gives and ready
        if put:
            self.entries[back(self.levels, self.heads, queue)] = payload
        self.levels, self.heads = commit(
            self.levels, self.heads, mark(queue) * take, mark(queue) * put
        )
        self.taken += take

        self._was_full = level == self.depth or (self._was_full and level > 0)
        cover("full", level == self.depth)
        cover("empty after full", self._was_full and level == 1 and take and not put)
        cover("refused while full and giving", offered and not can and take)
        cover("back to back through one entry", level == 1 and put and take)
        cover("dropped", offered and can and drop)
        cover("dropped into the last place", offered and drop and level == self.depth - 1)
        cover("stalled", gives and not ready)


async def _start(dut) -> tuple[list[_Bench], StreamChecker]:
    await reset(dut, _INPUTS)
    return [_Bench(dut, d) for d in DEPTHS], StreamChecker(dut, [f"o{d}" for d in DEPTHS])


@cocotb.test()
async def random_traffic(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    benches, checker = await _start(dut)
    paces = [Pace(rng, ("put", "take")) for _ in benches]
    for cycle in range(scaled(_CYCLES)):
        if cycle % 100 == 0:
            drops = rng.choice([0, 0.3, 0.9])
        for bench, pace in zip(benches, paces, strict=True):
            acts = pace.acts()
            payload = rng.getrandbits(WIDTH) if acts["put"] else None
            bench.drive(payload, ready=acts["take"], drop=rng.random() < drops)
        await settled()
        for bench in benches:
            bench.check()
        checker.sample()
        await next_cycle(dut)


@cocotb.test()
async def fill_then_drain_then_full_rate(dut):
    benches, checker = await _start(dut)
    cycles = [(True, False)] * 10 + [(True, True)] * 10 + [(False, True)] * 10 + [(True, True)] * 50
    for number, (put, take) in enumerate(cycles):
        for bench in benches:
            bench.drive(number * 97 % (1 << WIDTH) if put else None, ready=take, drop=False)
        await settled()
        for bench in benches:
            bench.check()
        checker.sample()
        await next_cycle(dut)
    for bench in benches:
        # After the first payload, one payload in every cycle.
        assert checker.transfers[f"o{bench.depth}"] == bench.taken
        assert bench.taken >= 10 + bench.depth + 49 - 1
