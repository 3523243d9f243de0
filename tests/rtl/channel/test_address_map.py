"""Both steps of the lookup, one after the other, against a reference in plain Python."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.interface.configuration import CommandEntry
from rtl.interface.encodings import Action, Granularity, PacketKind
from rtl.parameters import T3Parameters

# Small enough that random windows, places and ranges meet each other.
SMALL = T3Parameters(
    address_bits=11,
    workgroup_bits=4,
    context_bits=2,
    windows=3,
    ranges=5,
    commands=3,
    sets=8,
)
SINGLE = T3Parameters(
    address_bits=11, workgroup_bits=4, context_bits=2, windows=1, ranges=1, commands=1, sets=8
)
ATOMS = 1 << SMALL.atom_address_bits

NO_WINDOW = {"enable": 0, "base": 0, "limit": 0, "context": 0}
NO_RANGE = {"enable": 0, "window": 0, "first": 0, "last": 0, "action": 0, "command": 0}


def window(base, limit, context=1):
    return {"enable": 1, "base": base, "limit": limit, "context": context}


def places(first, last, action, *, window=0, command=0):
    return {
        "enable": 1,
        "window": window,
        "first": first,
        "last": last,
        "action": action,
        "command": command,
    }


def fill(entries, count, empty):
    return list(entries) + [empty] * (count - len(entries))


def random_command(rng, p):
    def leaf(name, shape):
        match name:
            case "kind":
                return rng.choice(list(PacketKind))
            case "op" | "dtype":
                return rng.randrange(3)
            case "granularity":
                return rng.choice(list(Granularity))
            case "waves":
                return [rng.randrange(16) for _ in range(4)]
        return rng.randrange(1 << shape)

    return {name: leaf(name, field.shape) for name, field in CommandEntry(p)}


def reference(p, maps, first_workgroup, workgroups, atom, context, workgroup):
    """Window hit, action, place and number of the command (None without a range)."""
    place = workgroup - first_workgroup
    if place < 0:
        place += workgroups
    # Wraps only where the first workgroup lies beyond the production's end.
    place %= 1 << p.place_bits
    hits = [
        number
        for number, entry in enumerate(maps["windows"])
        if entry["enable"]
        and atom in range(entry["base"], entry["limit"])
        and entry["context"] == context
    ]
    if hits and workgroup < workgroups:
        for entry in maps["ranges"]:
            if entry["enable"] and entry["window"] == hits[0]:
                if place in range(entry["first"], entry["last"] + 1):
                    return True, Action(entry["action"]), place, entry["command"]
    return bool(hits), Action.NONE, place, None


class Lookup:
    """A location's lookup, and at its end a range's."""

    def __init__(self, p):
        self.p = p
        self.location, self.range = LocationLookup(p), RangeLookup(p)

    def simulate(self, bench):
        m = Module()
        m.submodules += [self.location, self.range]
        m.d.comb += self.range.location.eq(self.location.location)
        simulator = Simulator(m)
        simulator.add_testbench(bench)
        simulator.run()


def check(ctx, dut, maps, order, atom, context, workgroup):
    ctx.set(dut.location.atom, atom)
    ctx.set(dut.location.context, context)
    ctx.set(dut.location.workgroup, workgroup)
    mapped, action, place, command = reference(dut.p, maps, *order, atom, context, workgroup)
    at = f"atom {atom}, context {context}, workgroup {workgroup} of {order}, {maps}"
    location = ctx.get(dut.location.location)
    assert location.mapped == mapped, at
    assert location.valid == (mapped and workgroup < order[1]), at
    assert location.place == place, at
    assert ctx.get(dut.range.action) == action, at
    assert ctx.get(dut.range.command) == (command or 0), at
    fields = {"op": 0, "dtype": 0} if command is None else maps["commands"][command]
    assert ctx.get(dut.range.op).value == fields["op"], at
    assert ctx.get(dut.range.dtype).value == fields["dtype"], at
    return action


def program(ctx, dut, maps, order):
    for lookup in (dut.location, dut.range):
        ctx.set(lookup.maps, maps)
    ctx.set(dut.location.production, {"first_workgroup": order[0], "workgroups": order[1]})


def directed(p, windows, ranges, rng):
    return {
        "windows": fill(windows, p.windows, NO_WINDOW),
        "ranges": fill(ranges, p.ranges, NO_RANGE),
        "commands": [random_command(rng, p) for _ in range(p.commands)],
    }


@pytest.mark.parametrize("p", [None, {}, 3])
def test_parameters(p):
    for lookup in (LocationLookup, RangeLookup):
        with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not"):
            lookup(p)


def test_window_edges_and_contexts():
    """Every atom, in every context, around two windows of different ones."""
    rng, dut = random.Random(1), Lookup(SMALL)
    maps = directed(
        SMALL,
        [window(8, 24, context=1), NO_WINDOW, window(24, 40, context=2)],
        [
            places(0, 15, Action.DMA, window=0, command=1),
            places(0, 15, Action.OWN, window=2, command=2),
        ],
        rng,
    )

    async def bench(ctx):
        program(ctx, dut, maps, (0, 16))
        for context in range(4):
            actions = [check(ctx, dut, maps, (0, 16), atom, context, 3) for atom in range(ATOMS)]
            assert actions.count(Action.DMA) == (16 if context == 1 else 0)
            assert actions.count(Action.OWN) == (16 if context == 2 else 0)

    dut.simulate(bench)


def test_lowest_number_wins():
    """Commits refuse overlaps; the lookup is defined all the same."""
    rng, dut = random.Random(2), Lookup(SMALL)
    maps = directed(
        SMALL,
        [window(0, 8), window(0, 16), window(0, 32)],
        [
            places(4, 6, Action.OWN, window=1, command=0),
            places(0, 15, Action.DMA, window=1, command=1),
            places(0, 15, Action.REMOTE, window=2, command=2),
        ],
        rng,
    )

    async def bench(ctx):
        program(ctx, dut, maps, (0, 16))
        seen = {
            (atom, workgroup): check(ctx, dut, maps, (0, 16), atom, 1, workgroup)
            for atom in (0, 7, 8, 15, 16, 31, 32)
            for workgroup in range(16)
        }
        assert seen[7, 5] == Action.NONE  # window 0 hides window 1, and has no range
        assert seen[8, 5] == Action.OWN
        assert seen[8, 7] == Action.DMA
        assert seen[16, 5] == Action.REMOTE

    dut.simulate(bench)


def test_places():
    """Every production order and workgroup of a four-bit id, at its wrap and beyond its end."""
    rng, dut = random.Random(3), Lookup(SMALL)
    maps = directed(
        SMALL,
        [window(0, ATOMS - 1)],
        [
            places(0, 0, Action.REMOTE, command=0),
            places(1, 6, Action.DMA, command=1),
            places(7, 14, Action.OWN, command=2),
        ],
        rng,
    )

    async def bench(ctx):
        for workgroups in range(17):
            for first in range(max(workgroups, 1)):
                program(ctx, dut, maps, (first, workgroups))
                actions = [
                    check(ctx, dut, maps, (first, workgroups), 5, 1, workgroup)
                    for workgroup in range(16)
                ]
                assert actions.count(Action.REMOTE) == min(workgroups, 1)
                assert actions.count(Action.DMA) == min(max(workgroups - 1, 0), 6)
                assert actions.count(Action.OWN) == min(max(workgroups - 7, 0), 8)

    dut.simulate(bench)


def test_places_of_wide_workgroups():
    """Workgroup ids of reference width, about the ends of the production and of its halves."""
    seed, p = 5, T3Parameters()
    print("seed", seed)
    rng, dut = random.Random(seed), Lookup(p)
    maps = directed(p, [window(0, 1 << 20)], [places(0, 0xFFFF, Action.OWN)], rng)
    edges = [0, 1, 255, 256, 257, 0x0FFF, 0x7FFF, 0xFF00, 0xFFFF]

    async def bench(ctx):
        for _ in range(60):
            workgroups = rng.choice([rng.randrange(1, 0x10001), *edges[1:], 0x10000])
            first = rng.choice([e for e in edges if e < workgroups] + [rng.randrange(workgroups)])
            program(ctx, dut, maps, (first, workgroups))
            near = {first, first - 1, first + 1, workgroups - 1, workgroups, *edges}
            for workgroup in near & set(range(0x10000)):
                check(ctx, dut, maps, (first, workgroups), 5, 1, workgroup)

    dut.simulate(bench)


def test_window_of_a_location():
    """The lowest window of the atom and context, whether or not the workgroup is valid."""
    rng, dut = random.Random(6), Lookup(SMALL)
    windows = [window(0, 8), window(0, 16), window(16, 32)]
    maps = directed(SMALL, windows, [], rng)

    async def bench(ctx):
        program(ctx, dut, maps, (0, 4))
        for workgroup in (3, 4):
            seen = []
            for atom in (7, 8, 15, 16, 31):
                check(ctx, dut, maps, (0, 4), atom, 1, workgroup)
                seen.append(ctx.get(dut.location.location.window))
            assert seen == [0, 1, 1, 2, 2]

    dut.simulate(bench)


@pytest.mark.parametrize("p", [SMALL, SINGLE], ids=["small", "single"])
def test_random(p):
    seed = 4
    print("seed", seed)
    rng, dut = random.Random(seed), Lookup(p)
    seen = set()

    def random_maps():
        windows, ranges = [], []
        for _ in range(p.windows):
            low, high = sorted(rng.sample(range(ATOMS), 2))
            windows.append(window(low, high, rng.randrange(2)) if rng.random() < 0.8 else NO_WINDOW)
        for _ in range(p.ranges):
            low, high = sorted(rng.choices(range(16), k=2))
            entry = places(
                low,
                high,
                rng.choice([Action.REMOTE, Action.DMA, Action.OWN]),
                window=rng.randrange(p.windows),
                command=rng.randrange(p.commands),
            )
            ranges.append(entry if rng.random() < 0.8 else entry | {"enable": 0})
        return directed(p, windows, ranges, rng)

    async def bench(ctx):
        for _ in range(150):
            maps, order = random_maps(), (rng.randrange(16), rng.randrange(17))
            program(ctx, dut, maps, order)
            edges = [entry[end] for entry in maps["windows"] for end in ("base", "limit")]
            for _ in range(12):
                atom = (rng.choice(edges) + rng.choice([-1, 0, 0, 1])) % ATOMS
                if rng.random() < 0.5:
                    atom = rng.randrange(ATOMS)
                seen.add(check(ctx, dut, maps, order, atom, rng.randrange(3), rng.randrange(16)))

    dut.simulate(bench)
    assert seen == set(Action)
