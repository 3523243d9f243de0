"""Bench of the status of a peer: words of any generation, compared with the golden model in every
cycle.
"""

import random

import cocotb
import numpy as np

from rtl.context.peer_status import PeerStatus
from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS, PeerLaunch
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.context.peer_status import step_peer_status
from sysmodel.engine.ports import CONTEXT_INPUTS, J
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state
from tb.payload import Fields

PARAMETERS = T3Parameters(workgroup_bits=8, sets=8, credit_window=16, contexts=1)
_MOST = (1 << PARAMETERS.credit_limit_bits) - 1
_GENERATIONS = 1 << GENERATION_BITS
_PEER_LAUNCH = Fields(PeerLaunch())
_CYCLES = 20_000

expect(
    "admits what the peer shows",
    "admits everything",
    "behind, and admits nothing",
    "ahead, but not near",
    "aborts",
    "aborts ahead",
    "abort is reported once",
    "abort of a peer that is not near",
    "stale",
    "old",
    "not enabled",
    "enabled no more",
    "launch while the peer aborts",
)


def make_dut(block: type = PeerStatus):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())
_SHOWN = ("credit_limit_in", "generation_in", "aborted_in")


class _Bench:
    """The unit and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.own = self.state.contexts[0]["peer_status"][0]
        self._inputs = np.zeros(J[0] + CONTEXT_INPUTS, np.int64)
        self._before = self._enabled = 0

    async def cycle(self, **values: int) -> None:
        """Drive one cycle, then compare all outputs."""
        dut, own = self.dut, self.own
        for name, value in values.items():
            getattr(dut, name).value = int(value)
        dut.generation.value = self._before
        for name in _SHOWN:
            self._inputs[getattr(J, f"{name}_0")] = values[name]
        await settled()
        self._cover(**values)
        changes = step_peer_status(
            own,
            values["enable"],
            values["launch_generation"],
            self._before,
            values["launch"],
            values["launched"],
            _MOST,
            self._inputs,
            0,
        )
        assert bool(dut.clock_enable.value) == bool(changes)
        self._before = values["launch_generation"]
        await next_cycle(dut)
        assert int(dut.admitted.value) == own["admitted"]
        assert int(dut.aborts.value) == own["aborts"]
        launch = _PEER_LAUNCH.named(int(dut.peer_launch.value))
        assert launch["admits"] == own["seen_admits"]
        assert launch["generation"] == own["seen_generation"]

    def _cover(
        self,
        *,
        enable: int,
        launch: int,
        launched: int,
        launch_generation: int,
        credit_limit_in: int,
        generation_in: int,
        aborted_in: int,
    ) -> None:
        own = self.own
        ahead = (generation_in - launch_generation + _GENERATIONS // 2) % _GENERATIONS
        ahead -= _GENERATIONS // 2
        shows = enable and launched and ahead >= 0 and aborted_in >> max(ahead, 0) & 1
        offers = enable and credit_limit_in and not launch
        cover("admits what the peer shows", 0 < own["admitted"] < _MOST)
        cover("admits everything", own["admitted"] == _MOST and ahead > 0)
        cover("behind, and admits nothing", offers and ahead < 0)
        cover("ahead, but not near", offers and ahead > 0 and not own["peer_known"])
        cover("aborts", own["aborts"])
        cover("aborts ahead", own["aborts"] and ahead > 0)
        cover("abort is reported once", shows and own["reported"])
        cover("abort of a peer that is not near", shows and not own["peer_known"])
        cover("stale", own["peer_stale"])
        cover("old", own["old"])
        cover("not enabled", not enable and credit_limit_in and aborted_in)
        cover("enabled no more", self._enabled and not enable)
        cover("launch while the peer aborts", launch and shows)
        self._enabled = enable


@cocotb.test()
async def random_words(dut):
    """Words and launches in bursts and with long rests agree with the model, including combinations
    that no peer shows.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    names = ("enable", "launch", "launched", "launch_generation", *_SHOWN)
    values = dict.fromkeys(names, 0)
    for cycle in range(scaled(_CYCLES)):
        quiet = cycle // 200 % 4 == 3
        values["launch"] = int(rng.random() < (0.01 if quiet else 0.08))
        if values["launch"]:
            step = rng.choice([1, 1, 1, 2, 7])
            values["launch_generation"] = (values["launch_generation"] + step) % _GENERATIONS
        if rng.random() < (0.01 if quiet else 0.15):
            near = values["launch_generation"] + rng.choice([0, 0, 1, rng.randrange(-9, 9)])
            values["generation_in"] = rng.choice([near, near, rng.randrange(16)]) % _GENERATIONS
            limits = [0, 5, _MOST - 1, rng.randrange(_MOST)]
            values["credit_limit_in"] = rng.choice(limits)
            values["aborted_in"] = rng.choice([0, 0, 1, rng.getrandbits(ABORT_BITS)])
        if rng.random() < 0.02:
            values["enable"], values["launched"] = int(rng.random() < 0.8), int(rng.random() < 0.8)
        await bench.cycle(**values)


@cocotb.test()
async def the_clock_stops(dut):
    await clock_stops(dut, _INPUTS)
