"""Bench of the range limits: any ranges, peers and launches, compared with the golden model in each
cycle.
"""

import random
from typing import Any

import cocotb
from amaranth.lib import data

from rtl.interface.configuration import RangeEntry
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.range_limits import RangeLimits
from sysmodel.engine.golden.trigger.range_limits import continue_walk, step_range_limits
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, put
from tb.payload import Fields

PARAMETERS = T3Parameters(
    workgroup_bits=8, sets=8, credit_window=16, peers=4, ranges=4, regions=2, contexts=1
)
_BITS, _RANGES, _PEERS = PARAMETERS.credit_limit_bits, PARAMETERS.ranges, PARAMETERS.peers
_MOST = (1 << _BITS) - 1
_ENTRIES = Fields(data.ArrayLayout(RangeEntry(PARAMETERS), _RANGES))
_BOUNDS = Fields(data.ArrayLayout(_BITS, _PEERS))
_LIMITS = Fields(data.ArrayLayout(_BITS, _RANGES))
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
)


def make_dut(block: type = RangeLimits):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """The unit and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.own, self.limits = self.state.contexts[0]["range_limits"], self.state.limits[0]
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
        self._cover(changes, launch, aborting)
        await settled()
        peers = self.state.contexts[0]["peer_status"]
        peers["admitted"][:_PEERS] = admitted
        stops = launch or aborting
        step_range_limits(
            config, own, self.limits, self.state.ranges[0], peers, credit_limit, stops
        )
        works = continue_walk(config, own, changes, launch, aborting)
        assert bool(dut.clock_enable.value) == bool(works)
        await next_cycle(dut)
        assert int(dut.dispatch_limit.value) == own["dispatch_limit"]
        assert _LIMITS.unpack(int(dut.limits.value)) == self.limits[:_RANGES].tolist()

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
    }


@cocotb.test()
async def random_traffic(dut):
    """Random ranges, bounds and launches agree with the model; the strobe of changes is random."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
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
        await bench.cycle(admitted, credit_limit, changes=changes, launch=launch, aborting=aborting)


@cocotb.test()
async def the_clock_stops(dut):
    await clock_stops(dut, _INPUTS)
