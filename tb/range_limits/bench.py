"""Bench of the range limits: any ranges, peers and launches, compared with the golden model in each
cycle.
"""

import random
from typing import Any

import cocotb
from amaranth.lib import data

from rtl.interface.configuration import GENERATION_BITS, LaunchProgress, RangeEntry
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.range_limits import RangeLimits
from sysmodel.engine.golden.registers.launch import ABORT
from sysmodel.engine.golden.trigger.dispatch_gate import step_gates
from sysmodel.engine.golden.trigger.range_limits import continue_walk, step_range_limits
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, put
from tb.payload import Fields

PARAMETERS = T3Parameters(
    workgroup_bits=8, sets=8, credit_window=16, peers=4, ranges=4, regions=2, contexts=3
)
_BITS, _RANGES, _PEERS = PARAMETERS.credit_limit_bits, PARAMETERS.ranges, PARAMETERS.peers
_MOST = (1 << _BITS) - 1
_ENTRIES = Fields(data.ArrayLayout(RangeEntry(PARAMETERS), _RANGES))
_BOUNDS = Fields(data.ArrayLayout(_BITS, _PEERS))
_LIMITS = Fields(data.ArrayLayout(_BITS, _RANGES))
_CONTEXTS, _GENERATIONS = PARAMETERS.contexts, 1 << GENERATION_BITS
_PROGRESS = Fields(data.ArrayLayout(LaunchProgress(PARAMETERS), _CONTEXTS))
# Outputs of the gates, with their fields in the model.
_STROBES = {"waits": "gate_waits", "releases": "releases", "fails": "fails"}
_CYCLES = 6000

expect(
    "limit within a range",
    "limit below 0",
    "limit above all indices",
    "dispatch limit of the first range",
    "dispatch limit of a later range",
    "everything may be dispatched",
    "change in a walk",
    "change at rest",
    "rests",
    "launched again",
    "aborted in a walk",
    "launch while aborting",
    "gate closed",
    "a gate releases a band",
    "a gate releases its range",
    "a gate releases a range whose launch is over",
    "a gate fails",
    "a gate without permission",
    "launch with a lost context",
    "a gate decides on dispatch",
)


def make_dut(block: type = RangeLimits):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Others:
    """Contexts that may be awaited: their progress, at random, mostly near what gates await."""

    def __init__(self, rng: random.Random):
        self._rng = rng
        self.progress = [dict.fromkeys(LaunchProgress(PARAMETERS).members, 0)] * _CONTEXTS
        self.may_await = self.aborts = self.pending = 0

    def draw(self) -> None:
        """Draw the next cycle's values."""
        rng, before = self._rng, self.progress
        self.progress = [one | {"changes": 0} for one in before]
        if rng.random() < 0.1:
            self.progress[rng.randrange(_CONTEXTS)] = {
                "valid": int(rng.random() < 0.9),
                "generation": rng.choice([1, 1, 2, rng.randrange(_GENERATIONS)]),
                "oldest": rng.choice([rng.randrange(40), rng.randrange(257)]),
                "complete": rng.choice([0, 0, 1 << rng.randrange(8), rng.getrandbits(8)]),
                "changes": 1,
            }
        if rng.random() < 0.03:
            self.may_await = rng.choice([6, 6, 6, rng.getrandbits(_CONTEXTS) & 6])
        self.aborts = 1 << rng.randrange(_CONTEXTS) if rng.random() < 0.01 else 0
        if rng.random() < 0.05:
            self.pending = rng.getrandbits(1)


class _Bench:
    """The unit and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.own, self.limits = self.state.contexts[0]["range_limits"], self.state.limits[0]
        self.gates = self.state.contexts[0]["gates"]
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self.ranges: list[dict[str, int]] = []

    def configure(self, ranges: list[dict[str, int]]) -> None:
        self.ranges = ranges
        named = {f"{index}": entry for index, entry in enumerate(ranges)}
        self.dut.ranges.value = _ENTRIES.pack(named, rest=self._rest)
        for index, entry in enumerate(ranges):
            put(self.state.ranges[0, index], entry)

    async def cycle(
        self,
        admitted: list[int],
        credit_limit: int,
        others: _Others,
        *,
        changes: bool = False,
        launch: bool = False,
        aborting: bool = False,
    ) -> None:
        """Drive one cycle, then compare all outputs."""
        dut, own, config = self.dut, self.own, self.state.config
        dut.admitted.value, dut.credit_limit.value = _BOUNDS.pack(admitted), credit_limit
        dut.changes.value, dut.launch.value = int(changes), int(launch)
        dut.aborting.value = int(aborting)
        named = {str(number): one for number, one in enumerate(others.progress)}
        dut.progress.value = _PROGRESS.pack(named)
        dut.may_await.value, dut.aborts.value = others.may_await, others.aborts
        dut.pending.value = others.pending
        self._cover(changes, launch, aborting)
        await settled()
        self._step_gates(others, launch, aborting)
        for name, of_model in _STROBES.items():
            assert bool(getattr(dut, name).value) == bool(self.gates[of_model]), name
        peers = self.state.contexts[0]["peer_status"]
        peers["admitted"][:_PEERS] = admitted
        stops = launch or aborting
        step_range_limits(
            config,
            own,
            self.limits,
            self.state.ranges[0],
            peers,
            credit_limit,
            self.gates["gate_merged"],
            stops,
        )
        walks = changes or bool(self.gates["gate_changes"])
        works = continue_walk(config, own, walks, launch, aborting) or self.gates["gate_works"]
        assert bool(dut.clock_enable.value) == bool(works)
        await next_cycle(dut)
        assert int(dut.dispatch_limit.value) == own["dispatch_limit"]
        assert _LIMITS.unpack(int(dut.limits.value)) == self.limits[:_RANGES].tolist()

    def _step_gates(self, others: _Others, launch: bool, aborting: bool) -> None:
        """Step the model's gates."""
        contexts, gates = self.state.contexts, self.gates
        for number, progress in enumerate(others.progress):
            external = contexts[number]["external"]
            external["own_generation"] = progress["generation"]
            for name in ("valid", "oldest", "complete", "changes"):
                external[f"progress_{name}"] = progress[name]
            aborts = others.aborts >> number & 1
            contexts[number]["cycle"]["strobes_on"] = ABORT if aborts else 0
        own = contexts[0]
        own["may_await"], own["cycle"]["waits"] = others.may_await, others.pending
        own["control"]["launches"], own["aborted"] = launch, aborting
        passes = gates["passes"]
        step_gates(self.state, 0)
        entries = self.state.gates[0][:_RANGES]
        allowed = [others.may_await >> one["gate"]["context"] & 1 for one in self.ranges]
        cover("gate closed", gates["gate_waits"])
        cover("a gate releases a band", gates["releases"] and max(entries["released"]) < _MOST)
        cover("a gate releases its range", gates["releases"] and max(entries["released"]) == _MOST)
        cover("a gate releases a range whose launch is over", gates["releases"] and passes)
        cover("a gate fails", gates["fails"])
        cover("a gate without permission", gates["gate_waits"] and not all(allowed))
        cover("launch with a lost context", launch and gates["lost"])

    def _cover(self, changes: bool, launch: bool, aborting: bool) -> None:
        own, limits = self.own, self.limits[:_RANGES].tolist()
        walks = own["visited"] or own["chosen"] or own["merged"]
        is_open = own["limits_open"] and not launch and not aborting
        for entry, limit in zip(self.ranges, limits, strict=False):
            sends = entry["action"] in (Action.REMOTE.value, Action.DMA.value)
            cover("limit within a range", sends and entry["first"] < limit <= entry["last"])
            cover("limit below 0", is_open and sends and not limit and own["dispatch_limit"])
            cover("limit above all indices", sends and limit == _MOST)
        firsts = [entry["first"] for entry in self.ranges if entry["enable"]]
        ends = own["merged"] == _RANGES
        cover("dispatch limit of the first range", ends and own["dispatch_limit"] in firsts[:1])
        cover("dispatch limit of a later range", ends and own["dispatch_limit"] in firsts[1:])
        gate = min(self.gates["gate_term"], _MOST)
        cover("a gate decides on dispatch", own["merged"] and gate < own["term"])
        cover("everything may be dispatched", own["dispatch_limit"] == _MOST)
        cover("change in a walk", is_open and walks and changes)
        cover("change at rest", is_open and not walks and changes)
        cover("rests", is_open and not walks and not changes)
        cover("launched again", launch and own["limits_open"])
        cover("aborted in a walk", aborting and walks)
        cover("launch while aborting", launch and aborting)


def _random_range(rng: random.Random) -> dict[str, Any]:
    first = rng.randrange(200)
    return {
        "enable": rng.random() < 0.8,
        "first": first,
        "last": rng.choice([first, first + rng.randrange(20), rng.randrange(256)]),
        "action": rng.choice(list(Action)).value,
        "peers": rng.choice([0, 1 << rng.randrange(_PEERS), rng.getrandbits(_PEERS)]),
        "slot_offset": rng.choice([0, rng.randrange(60), rng.getrandbits(_BITS)]),
        "gate": {
            "enable": int(rng.random() < 0.5),
            "context": rng.choice([1, 2, rng.randrange(8)]),
            "generation": rng.choice([1, 1, rng.randrange(_GENERATIONS)]),
            "slot": rng.choice([rng.randrange(40), rng.getrandbits(_BITS)]),
            "workgroups": rng.choice([0, rng.randrange(6), rng.getrandbits(_BITS - 1)]),
            "slots": rng.choice([0, rng.randrange(12), rng.getrandbits(_BITS - 1)]),
        },
    }


@cocotb.test()
async def random_traffic(dut):
    """Random ranges, bounds and launches agree with the model; the strobe of changes is random."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    others = _Others(rng)
    admitted, credit_limit = [0] * _PEERS, 0
    for cycle in range(scaled(_CYCLES)):
        aborting = rng.random() < 0.01
        launch = rng.random() < (0.2 if aborting else 0.02)
        if launch or not cycle:
            bench.configure([_random_range(rng) for _ in range(_RANGES)])
        if rng.random() < 0.1:
            everything = rng.random() < 0.1
            bounds = [_MOST] if everything else [0, _MOST, *rng.sample(range(256), 4)]
            admitted = rng.choices(bounds, k=_PEERS)
            credit_limit = rng.choice([_MOST] if everything else [0, _MOST, rng.randrange(256)])
        changes = rng.random() < 0.1
        others.draw()
        strobes = {"changes": changes, "launch": launch, "aborting": aborting}
        await bench.cycle(admitted, credit_limit, others, **strobes)


@cocotb.test()
async def the_clock_stops(dut):
    await clock_stops(dut, _INPUTS)
