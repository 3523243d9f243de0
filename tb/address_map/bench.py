# amaranth: UnusedElaboratable=no
"""Lookups about the edges of random tables, a pair in every cycle, against the golden model."""

import random

import cocotb

from rtl.interface.configuration import MapConfiguration, ProductionConfiguration
from rtl.interface.encodings import Action
from rtl.interface.layouts import Location
from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.address_map import locate, range_of
from sysmodel.engine.golden.queues import RECORD_WORDS
from sysmodel.engine.golden.state import COMMAND, LOCATION, RANGE, C
from tb.address_map.dut import AddressMap
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, set_maps, set_production
from tb.payload import Fields

# Small, so that random values meet.
PARAMETERS = T3Parameters(
    address_bits=14, workgroup_bits=6, sets=8, ways=2, context_bits=2, window_workgroups=16
)
_MAPS = Fields(MapConfiguration(PARAMETERS))
_PRODUCTION = Fields(ProductionConfiguration(PARAMETERS))
_LOCATION = Fields(Location(PARAMETERS))
_ATOMS, _PLACES = 1 << PARAMETERS.atom_address_bits, 1 << PARAMETERS.place_bits
_TABLES, _LOOKUPS = 60, 40

expect(
    "below the base",
    "at the base",
    "last atom",
    "at the limit",
    "other context",
    "disabled window",
    "two windows",
    "no such workgroup",
    "last workgroup",
    "first place",
    "wrapped place",
    "first of a range",
    "last of a range",
    "next to a range",
    "two ranges",
    "range of another window",
    "disabled range",
    "no range",
    *(action.name for action in Action),
)


def make_dut(location: type | None = None, range_: type | None = None):
    copies = {"location": location, "range_": range_}
    return AddressMap(PARAMETERS, **{name: copy for name, copy in copies.items() if copy})


_INPUTS = inputs_of(make_dut())


def _random_tables(rng: random.Random) -> tuple[dict, dict]:
    """Tables, also such that software could not commit: overlapping ones."""
    p = PARAMETERS

    def edges(values: int) -> list[int]:
        return sorted(rng.choice([0, values - 1, rng.randrange(values)]) for _ in range(2))

    windows, ranges, commands = [], [], []
    for _ in range(p.windows):
        base, limit = edges(_ATOMS)
        context = rng.getrandbits(p.context_bits)
        enable = int(rng.random() < 0.9)
        windows.append({"enable": enable, "base": base, "limit": limit, "context": context})
    if rng.random() < 0.5:
        windows[1]["context"] = windows[0]["context"]
    for _ in range(p.ranges):
        first, last = edges(_PLACES)
        ranges.append(
            {
                "enable": int(rng.random() < 0.9),
                "window": rng.randrange(p.windows),
                "first": first,
                "last": last if rng.random() < 0.9 else first,
                "action": rng.choice(list(Action)[1:]).value,
                "command": rng.randrange(p.commands),
            }
        )
    for _ in range(p.commands):
        commands.append({"op": rng.randrange(3), "dtype": rng.randrange(3)})
    workgroups = rng.choice([1, _PLACES, rng.randint(1, _PLACES)])
    production = {"workgroups": workgroups, "first_workgroup": rng.randrange(workgroups)}
    return {"windows": windows, "ranges": ranges, "commands": commands}, production


def _random_lookup(rng: random.Random, maps: dict, production: dict) -> tuple[int, int, int]:
    """Atom, context and workgroup, mostly about an edge."""
    window, entry = rng.choice(maps["windows"]), rng.choice(maps["ranges"])
    atom = rng.choice([window["base"], window["limit"], window["limit"] - 1, rng.randrange(_ATOMS)])
    near = rng.choice([entry["first"], entry["last"]]) + rng.choice([-1, 0, 0, 1])
    first, workgroups = production["first_workgroup"], production["workgroups"]
    workgroup = rng.choice(
        [first, first - 1, workgroups, workgroups - 1, (near + first) % workgroups]
        + [rng.randrange(_PLACES)]
    )
    context = window["context"]
    if rng.random() < 0.15:
        context = rng.getrandbits(PARAMETERS.context_bits)
    return (atom + rng.choice([-1, 0, 0, 0])) % _ATOMS, context, workgroup % _PLACES


class _Model:
    """The golden model's lookup, on the place in the record where the queues keep a location."""

    def __init__(self):
        self.state: GoldenState = golden_state(PARAMETERS)
        self.at = RECORD_WORDS - len(LOCATION)

    def location(self, atom: int, context: int, workgroup: int) -> dict[str, int]:
        locate(self.state, 0, atom, context, workgroup)
        words = self.state.channels[self.at : self.at + len(LOCATION)]
        return dict(zip(LOCATION._fields, map(int, words), strict=True))

    def result(self, location: dict[str, int]) -> list[int]:
        """Action, command, op and dtype."""
        config = self.state.config
        if not location["valid"]:
            return [0, 0, 0, 0]
        entry = range_of(config, location["window"], location["place"])
        if entry < 0:
            return [0, 0, 0, 0]
        command = int(config[entry + RANGE.command])
        at = config[C.at_commands] + command * len(COMMAND)
        return [int(config[entry + RANGE.action]), command] + [
            int(config[at + field]) for field in (COMMAND.op, COMMAND.dtype)
        ]


def _cover_location(lookup, maps: dict, production: dict, location: dict) -> None:
    atom, context, workgroup = lookup
    hits = 0
    for window in maps["windows"]:
        inside = window["base"] <= atom < window["limit"]
        mine = context == window["context"]
        on = window["enable"] and mine
        hits += inside and on
        cover("below the base", on and atom == window["base"] - 1)
        cover("at the base", on and inside and atom == window["base"])
        cover("last atom", on and inside and atom == window["limit"] - 1)
        cover("at the limit", on and atom == window["limit"])
        cover("other context", inside and window["enable"] and not mine)
        cover("disabled window", inside and mine and not window["enable"])
    cover("two windows", hits == 2)
    if hits:
        cover("no such workgroup", workgroup == production["workgroups"])
        cover("last workgroup", workgroup == production["workgroups"] - 1)
        cover("first place", location["valid"] and location["place"] == 0)
        cover("wrapped place", location["valid"] and workgroup < production["first_workgroup"])


def _cover_range(maps: dict, location: dict, action: int) -> None:
    cover(Action(action).name)
    if not location["valid"]:
        return
    place, hits = location["place"], 0
    for entry in maps["ranges"]:
        inside = entry["first"] <= place <= entry["last"]
        mine = entry["window"] == location["window"]
        on = mine and entry["enable"]
        hits += on and inside
        cover("first of a range", on and inside and place == entry["first"])
        cover("last of a range", on and inside and place == entry["last"])
        cover("next to a range", on and place in (entry["first"] - 1, entry["last"] + 1))
        cover("range of another window", inside and entry["enable"] and not mine)
        cover("disabled range", inside and mine and not entry["enable"])
    cover("two ranges", hits >= 2)
    cover("no range", not hits)


@cocotb.test()
async def random_lookups(dut):
    """The location by the tables of one cycle, the range by those of the next."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    model, before = _Model(), None
    for _ in range(scaled(_TABLES)):
        maps, production = _random_tables(rng)
        set_maps(model.state, maps)
        set_production(model.state, production)
        dut.maps.value = _MAPS.pack(maps)
        dut.production.value = _PRODUCTION.pack(production)
        for _ in range(_LOOKUPS):
            lookup = _random_lookup(rng, maps, production)
            for port, value in zip((dut.atom, dut.context, dut.workgroup), lookup, strict=True):
                port.value = value
            await settled()
            expected = model.location(*lookup)
            found = _LOCATION.named(int(dut.location.value))
            assert [found["mapped"], found["valid"]] == [expected["mapped"], expected["valid"]]
            assert found["window"] == (expected["window"] if expected["mapped"] else 0)
            if expected["valid"]:
                assert found["place"] == expected["place"]
            _cover_location(lookup, maps, production, expected)
            if before is not None:
                ports = (dut.action, dut.command, dut.op, dut.dtype)
                result = model.result(before)
                assert [int(port.value) for port in ports] == result
                _cover_range(maps, before, result[0])
            before = expected
            await next_cycle(dut)
