"""Bench of the address map: lookups near the edges of random tables, two in every cycle, against
the golden model.
"""

import random
from typing import Any

import cocotb
import numpy as np

from rtl.interface.configuration import ContextView
from rtl.interface.encodings import Action
from rtl.interface.layouts import Location
from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.channel.address_map import action_of, has_wavefront, locate
from sysmodel.engine.golden.payloads.layouts import LOCATION
from tb.address_map.dut import AddressMap
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, set_view, slots_of, wavefronts_of
from tb.payload import Fields

# Small, so that random values coincide often.
PARAMETERS = T3Parameters(
    address_bits=14,
    tile_atom_bits=4,
    share_bits=3,
    workgroup_bits=6,
    sets=8,
    ways=2,
    context_bits=2,
    credit_window=16,
    contexts=2,
)
_CONTEXTS = range(PARAMETERS.contexts)
_VIEW = Fields(ContextView(PARAMETERS))
_LOCATION = Fields(Location(PARAMETERS))
_ATOMS, _DISPATCH_INDICES = 1 << PARAMETERS.atom_address_bits, 1 << PARAMETERS.dispatch_index_bits
_TABLES, _LOOKUPS = 60, 40

expect(
    "below the base",
    "at the base",
    "last atom",
    "at the limit",
    "region of another context",
    "two contexts with the address space",
    "no context",
    "context without an address space",
    "aborting",
    "disabled region",
    "two regions",
    "no such dispatch index",
    "first dispatch index",
    "last dispatch index",
    "last slot, beyond the dispatch indices",
    "first of a range",
    "last of a range",
    "next to a range",
    "two ranges",
    "range of another region",
    "disabled range",
    "no range",
    "first wavefront behind the last",
    "last wavefront",
    *(action.name for action in Action),
    "marker outside every region",
    "marker without a context",
    "marker in a range of another region",
    "marker in a range that is not tracked",
    "marker in a slot of a range that leaves",
    "marker in two ranges",
)


def make_dut(location: type | None = None, range_: type | None = None):
    copies = {"location": location, "range_": range_}
    return AddressMap(PARAMETERS, **{name: copy for name, copy in copies.items() if copy})


_INPUTS = inputs_of(make_dut())


def _random_view(rng: random.Random) -> dict[str, Any]:
    """Return a context's random tables, including overlapping ones, which no commit accepts."""
    p = PARAMETERS

    def edges(values: int) -> list[int]:
        return sorted(rng.choice([0, values - 1, rng.randrange(values)]) for _ in range(2))

    regions, ranges, commands = [], [], []
    for _ in range(p.regions):
        base, limit = edges(_ATOMS)
        regions.append({"enable": int(rng.random() < 0.9), "base": base, "limit": limit})
    for _ in range(p.ranges):
        first, last = edges(_DISPATCH_INDICES)
        ranges.append(
            {
                "enable": int(rng.random() < 0.9),
                "region": rng.randrange(p.regions),
                "first": first,
                "last": last if rng.random() < 0.9 else first,
                "action": rng.choice(list(Action)[1:]).value,
                "command": rng.randrange(p.commands),
                "shares": rng.choice([0, rng.getrandbits(p.share_bits)]),
            }
        )
    for _ in range(p.commands):
        waves = [rng.randrange(10) for _ in range(4)]
        commands.append({"op": rng.randrange(3), "dtype": rng.randrange(3), "waves": waves})
    workgroups = rng.choice([1, _DISPATCH_INDICES, rng.randint(1, _DISPATCH_INDICES)])
    ends = [0, workgroups, rng.randint(1, _DISPATCH_INDICES)]
    launch = {"workgroups": workgroups, "tracked_end": rng.choice(ends)}
    local = rng.getrandbits(p.context_bits)
    maps = {"regions": regions, "ranges": ranges, "commands": commands}
    return {
        "aborting": int(rng.random() < 0.1),
        "address_space": {"enable": int(rng.random() < 0.9), "local": local},
        "maps": maps,
        "wavefronts": wavefronts_of(maps),
        "launch_configuration": launch,
        "slots": slots_of(launch),
    }


def _random_lookup(rng: random.Random, view: dict[str, Any]) -> tuple[int, int, int]:
    """Draw atom, address space and dispatch index, mostly near an edge of a range or region of this
    context.
    """
    maps, slots = view["maps"], view["slots"]
    region, entry = rng.choice(maps["regions"]), rng.choice(maps["ranges"])
    atom = rng.choice([region["base"], region["limit"], region["limit"] - 1, rng.randrange(_ATOMS)])
    near = rng.choice([entry["first"], entry["last"]]) + rng.choice([-1, 0, 0, 1])
    dispatch_index = rng.choice([0, slots, slots - 1, near, near, rng.randrange(_DISPATCH_INDICES)])
    space = view["address_space"]["local"]
    if rng.random() < 0.15:
        space = rng.getrandbits(PARAMETERS.context_bits)
    return (atom + rng.choice([-1, 0, 0, 0])) % _ATOMS, space, dispatch_index % _DISPATCH_INDICES


class _Model:
    """Golden model of the lookup: location of a request, and result for a location."""

    def __init__(self):
        self.state: GoldenState = golden_state(PARAMETERS)

    def location(self, atom: int, context: int, dispatch_index: int, end: int) -> np.void:
        location = np.zeros(1, LOCATION)[0]
        locate(self.state, location, atom, context, dispatch_index, bool(end))
        return location

    def result(self, location: np.void, dispatch_index: int, end: int, wavefront: int) -> list[int]:
        """Return action, number and shares of the range, op and dtype, and whether the command
        lacks the wavefront.
        """
        action, number, shares = action_of(self.state, location, dispatch_index, bool(end))
        if not action:
            return [0, 0, 0, 0, 0, 0]
        owner = location["owner"]
        command = self.state.commands[owner, self.state.ranges[owner, number]["command"]]
        found = action, number, shares, command["op"], command["dtype"]
        most = max(command["waves"])
        cover("first wavefront behind the last", wavefront == most)
        cover("last wavefront", wavefront == most - 1)
        return [*map(int, found), int(not has_wavefront(command, wavefront))]


def _cover_location(lookup: tuple[int, int, int, int], views: list[dict[str, Any]]) -> None:
    atom, space, dispatch_index, end = lookup
    spaces = [view["address_space"] for view in views]
    mine = [one["enable"] and one["local"] == space for one in spaces]
    cover("two contexts with the address space", all(mine))
    cover("no context", not any(mine))
    for one in spaces:
        named = not one["enable"] and one["local"] == space
        cover("context without an address space", named and not any(mine))
    owner = mine.index(True) if any(mine) else None
    hits = 0
    for number, view in enumerate(views):
        for region in view["maps"]["regions"]:
            inside = region["base"] <= atom < region["limit"]
            on = region["enable"] and number == owner
            hits += inside and on
            cover("below the base", on and atom == region["base"] - 1)
            cover("at the base", on and inside and atom == region["base"])
            cover("last atom", on and inside and atom == region["limit"] - 1)
            cover("at the limit", on and atom == region["limit"])
            others = inside and region["enable"] and number != owner
            cover("region of another context", others and owner is not None)
            cover("disabled region", inside and number == owner and not region["enable"])
    cover("two regions", hits == 2)
    cover("marker outside every region", end and owner is not None and not hits)
    cover("marker without a context", end and owner is None)
    if hits:
        view = views[owner]
        slots, workgroups = view["slots"], view["launch_configuration"]["workgroups"]
        cover("aborting", view["aborting"])
        cover("no such dispatch index", dispatch_index == slots)
        cover("first dispatch index", dispatch_index == 0)
        cover("last dispatch index", dispatch_index == workgroups - 1 == slots - 1)
        cover("last slot, beyond the dispatch indices", workgroups <= dispatch_index == slots - 1)


def _cover_range(
    views: list[dict[str, Any]], location: np.void, dispatch_index: int, end: int, action: int
) -> None:
    cover(Action(action).name)
    if not location["valid"]:
        return
    hits = 0
    if end:
        _cover_marker(views[int(location["owner"])]["maps"], dispatch_index, action)
        return
    for entry in views[location["owner"]]["maps"]["ranges"]:
        inside = entry["first"] <= dispatch_index <= entry["last"]
        mine = entry["region"] == location["region"]
        on = mine and entry["enable"]
        hits += on and inside
        cover("first of a range", on and inside and dispatch_index == entry["first"])
        cover("last of a range", on and inside and dispatch_index == entry["last"])
        cover("next to a range", on and dispatch_index in (entry["first"] - 1, entry["last"] + 1))
        cover("range of another region", inside and entry["enable"] and not mine)
        cover("disabled range", inside and mine and not entry["enable"])
    cover("two ranges", hits >= 2)
    cover("no range", not hits)


def _cover_marker(maps: dict[str, Any], dispatch_index: int, action: int) -> None:
    ranges = [
        entry
        for entry in maps["ranges"]
        if entry["enable"] and entry["first"] <= dispatch_index <= entry["last"]
    ]
    leaves = Action.REMOTE.value
    tracked = [entry for entry in ranges if entry["action"] != leaves or entry["shares"]]
    elsewhere = bool(tracked) and tracked[0]["region"] != 0
    cover("marker in a range of another region", elsewhere and action)
    cover("marker in a range that is not tracked", ranges and not tracked and not action)
    cover("marker in two ranges", len(tracked) > 1)
    cover("marker in a slot of a range that leaves", action == leaves)


@cocotb.test()
async def random_lookups(dut):
    """The location follows the tables of one cycle, the range follows the tables of the
    next cycle.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    model, before = _Model(), None
    for _ in range(scaled(_TABLES)):
        views = [_random_view(rng) for _ in _CONTEXTS]
        for context, view in enumerate(views):
            set_view(model.state, view, context)
        dut.contexts.value = sum(
            _VIEW.pack(view, rest=rng) << context * _VIEW.width
            for context, view in enumerate(views)
        )
        for _ in range(_LOOKUPS):
            lookup = *_random_lookup(rng, rng.choice(views)), int(rng.random() < 0.3)
            inputs = dut.atom, dut.context, dut.dispatch_index, dut.end
            for port, value in zip(inputs, lookup, strict=True):
                port.value = value
            wavefront = rng.randrange(PARAMETERS.wavefronts)
            dut.wavefront.value = wavefront
            await settled()
            expected = model.location(*lookup)
            found = _LOCATION.named(int(dut.location.value))
            for name in ("mapped", "counted", "valid"):
                assert found[name] == expected[name], name
            # The region of a marker does not matter.
            assert dut.end.value or found["region"] == expected["mapped"] * expected["region"]
            if expected["mapped"]:
                assert found["owner"] == expected["owner"]
            _cover_location(lookup, views)
            if before is not None:
                ports = (dut.action, dut.number, dut.shares, dut.op, dut.dtype, dut.beyond)
                result = model.result(*before, wavefront)
                assert [int(port.value) for port in ports] == result
                _cover_range(views, *before, result[0])
            before = expected, *lookup[2:]
            await next_cycle(dut)
