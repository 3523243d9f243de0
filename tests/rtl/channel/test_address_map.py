"""Both steps of the lookup, one after the other, against a reference in plain Python."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.interface.configuration import CommandEntry
from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters

# Small enough that random regions, dispatch indices and ranges often coincide.
SMALL = T3Parameters(
    address_bits=11,
    workgroup_bits=4,
    context_bits=2,
    regions=3,
    ranges=5,
    commands=3,
    sets=8,
    contexts=3,
    tile_atom_bits=2,
    share_bits=2,
)
SINGLE = T3Parameters(
    contexts=1,
    address_bits=11,
    workgroup_bits=4,
    context_bits=2,
    regions=1,
    ranges=1,
    commands=1,
    sets=8,
    tile_atom_bits=2,
    share_bits=2,
)
ATOMS = 1 << SMALL.atom_address_bits

NO_REGION = {"enable": 0, "base": 0, "limit": 0}
_OF_RANGE = ("enable", "region", "first", "last", "action", "command", "shares")
NO_RANGE = dict.fromkeys((*_OF_RANGE, "peers", "slot_offset"), 0)


def region(base, limit):
    return {"enable": 1, "base": base, "limit": limit}


def dispatch_indices(first, last, action, *, region=0, command=0, shares=1):
    return {
        "enable": 1,
        "region": region,
        "first": first,
        "last": last,
        "action": action,
        "command": command,
        "shares": shares,
        "peers": 0,
        "slot_offset": 0,
    }


def fill(entries, count, empty):
    return list(entries) + [empty] * (count - len(entries))


def random_command(rng, p):
    def leaf(name, shape):
        match name:
            case "op" | "dtype":
                return rng.randrange(3)
            case "region":
                return rng.randrange(p.regions)
            case "granularity":
                return rng.choice(list(Granularity))
            case "waves":
                return [rng.randrange(16) for _ in range(4)]
        return rng.randrange(1 << shape)

    return {name: leaf(name, field.shape) for name, field in CommandEntry(p)}


def view(maps, workgroups, space=1, aborting=0, tracked_end=0):
    """A context of this address space, or of none."""
    return {
        "aborting": aborting,
        "address_space": {"enable": space is not None, "local": space or 0},
        "maps": maps,
        "wavefronts": [max(maps["commands"][one["command"]]["waves"]) for one in maps["ranges"]],
        "launch_configuration": {"workgroups": workgroups, "tracked_end": tracked_end},
        "slots": max(workgroups, tracked_end),
    }


def owner_of(views, context):
    """The lowest context with this address space, or None."""
    spaces = (one["address_space"] for one in views)
    hits = [n for n, one in enumerate(spaces) if one["enable"] and one["local"] == context]
    return hits[0] if hits else None


def is_tracked(entry):
    """Test whether tiles arrive in the range's slots, or are updated here."""
    leaves = entry["action"] == Action.REMOTE
    return entry["enable"] and (entry["shares"] > 0 or not leaves)


def tracked_range(maps, slots, dispatch_index):
    """Number of the range of a packet's end-of-tile marker, or None."""
    if dispatch_index < slots:
        for number, entry in enumerate(maps["ranges"]):
            if is_tracked(entry):
                if dispatch_index in range(entry["first"], entry["last"] + 1):
                    return number
    return None


def reference(maps, slots, atom, dispatch_index):
    """Region hit, and the number of the range or None."""
    hits = [
        number
        for number, entry in enumerate(maps["regions"])
        if entry["enable"] and atom in range(entry["base"], entry["limit"])
    ]
    if hits and dispatch_index < slots:
        for number, entry in enumerate(maps["ranges"]):
            if entry["enable"] and entry["region"] == hits[0]:
                if dispatch_index in range(entry["first"], entry["last"] + 1):
                    return True, number
    return bool(hits), None


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


def check(ctx, dut, views, atom, context, dispatch_index, end=False):
    ctx.set(dut.location.atom, atom)
    ctx.set(dut.location.context, context)
    for lookup in (dut.location, dut.range):
        ctx.set(lookup.dispatch_index, dispatch_index)
        ctx.set(lookup.end, end)
    owner = owner_of(views, context)
    at = f"atom {atom}, context {context}, dispatch index {dispatch_index}, end {end} of {views}"
    location = ctx.get(dut.location.location)
    if owner is None:
        assert not location.mapped and not location.counted and not location.valid, at
        assert ctx.get(dut.range.action) == Action.NONE, at
        return Action.NONE
    maps = views[owner]["maps"]
    launch = views[owner]["launch_configuration"]
    slots = max(launch["workgroups"], launch["tracked_end"])
    mapped, number = reference(maps, slots, atom, dispatch_index)
    if end:
        mapped, number = True, tracked_range(maps, slots, dispatch_index)
    entry = None if number is None else maps["ranges"][number]
    action = Action(entry["action"]) if entry else Action.NONE
    command = entry["command"] if entry else None
    assert location.owner == owner, at
    assert location.mapped == mapped, at
    assert location.counted == (mapped and not views[owner]["aborting"]), at
    assert location.valid == (mapped and dispatch_index < slots), at
    assert ctx.get(dut.range.action) == action, at
    assert ctx.get(dut.range.number) == (number or 0), at
    assert ctx.get(dut.range.shares) == (entry["shares"] if entry else 0), at
    fields = {"op": 0, "dtype": 0} if command is None else maps["commands"][command]
    assert ctx.get(dut.range.op).value == fields["op"], at
    assert ctx.get(dut.range.dtype).value == fields["dtype"], at
    for wavefront in range(dut.p.wavefronts):
        ctx.set(dut.range.wavefront, wavefront)
        beyond = command is not None and wavefront >= max(maps["commands"][command]["waves"])
        assert ctx.get(dut.range.beyond) == beyond, at
    return action


def program(ctx, dut, *views):
    """Return all contexts; contexts that are not given have no address space."""
    views = [*views, *[{}] * (dut.p.contexts - len(views))]
    for lookup in (dut.location, dut.range):
        ctx.set(lookup.contexts, lookup.contexts.shape().const(views))


def directed(p, regions, ranges, rng):
    return {
        "regions": fill(regions, p.regions, NO_REGION),
        "ranges": fill(ranges, p.ranges, NO_RANGE),
        "commands": [random_command(rng, p) for _ in range(p.commands)],
    }


@pytest.mark.parametrize("p", [None, {}, 3])
def test_parameters(p):
    for lookup in (LocationLookup, RangeLookup):
        with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not"):
            lookup(p)


def test_region_edges_and_contexts():
    """Every atom, in every address space, around two regions of different contexts."""
    rng, dut = random.Random(1), Lookup(SMALL)
    first = directed(
        SMALL, [region(8, 24)], [dispatch_indices(0, 15, Action.DMA, region=0, command=1)], rng
    )
    second = directed(
        SMALL,
        [NO_REGION, NO_REGION, region(24, 40)],
        [dispatch_indices(0, 15, Action.OWN, region=2, command=2)],
        rng,
    )

    async def bench(ctx):
        views = [view(first, 16, 1), view(first, 9, None), view(second, 16, 2)]
        program(ctx, dut, *views)
        for context in range(4):
            actions = [check(ctx, dut, views, atom, context, 3) for atom in range(ATOMS)]
            assert actions.count(Action.DMA) == (16 if context == 1 else 0)
            assert actions.count(Action.OWN) == (16 if context == 2 else 0)

    dut.simulate(bench)


def test_lowest_number_wins():
    """Commits refuse overlaps, but the lookup of overlapping entries is still defined."""
    rng, dut = random.Random(2), Lookup(SMALL)
    maps = directed(
        SMALL,
        [region(0, 8), region(0, 16), region(0, 32)],
        [
            dispatch_indices(4, 6, Action.OWN, region=1, command=0),
            dispatch_indices(0, 15, Action.DMA, region=1, command=1),
            dispatch_indices(0, 15, Action.REMOTE, region=2, command=2),
        ],
        rng,
    )

    async def bench(ctx):
        # Two contexts with the same address space, too.
        views = [view(maps, 16), view(directed(SMALL, [region(0, 99)], [], rng), 16)]
        program(ctx, dut, *views)
        seen = {
            (atom, dispatch_index): check(ctx, dut, views, atom, 1, dispatch_index)
            for atom in (0, 7, 8, 15, 16, 31, 32)
            for dispatch_index in range(16)
        }
        assert seen[7, 5] == Action.NONE  # region 0 hides region 1, and has no range
        assert seen[8, 5] == Action.OWN
        assert seen[8, 7] == Action.DMA
        assert seen[16, 5] == Action.REMOTE

    dut.simulate(bench)


def test_dispatch_indices():
    """Every dispatch index or slot of four bits, in launches of every size, and beyond their
    end."""
    rng, dut = random.Random(3), Lookup(SMALL)
    maps = directed(
        SMALL,
        [region(0, ATOMS - 1)],
        [
            dispatch_indices(0, 0, Action.REMOTE, command=0),
            dispatch_indices(1, 6, Action.DMA, command=1),
            dispatch_indices(7, 14, Action.OWN, command=2),
        ],
        rng,
    )

    async def bench(ctx):
        for slots in range(17):
            # The launch has as many dispatch indices, or tracked slots.
            bounds = rng.choice([(slots, 0), (slots, slots), (rng.randrange(slots + 1), slots)])
            views = [view(maps, bounds[0], tracked_end=bounds[1])]
            program(ctx, dut, *views)
            actions = [check(ctx, dut, views, 5, 1, index) for index in range(16)]
            ends = min(slots, 1), min(slots, 7), min(slots, 15)
            assert actions[: ends[0]] == [Action.REMOTE] * ends[0]
            assert actions[ends[0] : ends[1]] == [Action.DMA] * (ends[1] - ends[0])
            assert actions[ends[1] : ends[2]] == [Action.OWN] * (ends[2] - ends[1])
            assert actions[ends[2] :] == [Action.NONE] * (16 - ends[2])

    dut.simulate(bench)


def test_wide_dispatch_indices():
    """Dispatch indices of reference width, about the ends of the launch and of its halves."""
    seed, p = 5, T3Parameters(contexts=1)
    print("seed", seed)
    rng, dut = random.Random(seed), Lookup(p)
    maps = directed(p, [region(0, 1 << 20)], [dispatch_indices(0, 0xFFFF, Action.OWN)], rng)
    edges = [0, 1, 255, 256, 257, 0x0FFF, 0x7FFF, 0xFF00, 0xFFFF]

    async def bench(ctx):
        for _ in range(60):
            workgroups = rng.choice([rng.randrange(1, 0x10001), *edges[1:], 0x10000])
            views = [view(maps, workgroups)]
            program(ctx, dut, *views)
            near = {workgroups - 1, workgroups, workgroups + 1, *edges}
            for dispatch_index in near & set(range(0x10000)):
                action = check(ctx, dut, views, 5, 1, dispatch_index)
                assert (action == Action.OWN) == (dispatch_index < workgroups)

    dut.simulate(bench)


def test_region_of_a_location():
    """The lowest region of the atom and context, whether or not the dispatch index is valid."""
    rng, dut = random.Random(6), Lookup(SMALL)
    regions = [region(0, 8), region(0, 16), region(16, 32)]
    maps = directed(SMALL, regions, [], rng)

    async def bench(ctx):
        views = [view(maps, 4)]
        program(ctx, dut, *views)
        for dispatch_index in (3, 4):
            seen = []
            for atom in (7, 8, 15, 16, 31):
                check(ctx, dut, views, atom, 1, dispatch_index)
                seen.append(ctx.get(dut.location.location.region))
            assert seen == [0, 1, 1, 2, 2]

    dut.simulate(bench)


def test_an_end_packet_has_no_atom():
    """An END packet is mapped if it has an owner, and finds the lowest tracked range of any region.
    A range whose stores leave is tracked if it has shares."""
    rng, dut = random.Random(7), Lookup(SMALL)
    ranges = [
        dispatch_indices(0, 15, Action.REMOTE, region=0, shares=0),
        dispatch_indices(4, 6, Action.OWN, region=1, shares=2),
        dispatch_indices(5, 9, Action.DMA, region=2, shares=3),
        dispatch_indices(0, 7, Action.REMOTE, region=1, shares=1),
    ]
    maps = directed(SMALL, [region(0, 8)], ranges, rng)

    async def bench(ctx):
        views = [view(maps, 9), view(directed(SMALL, [region(0, 9)], [], rng), 9, 2)]
        program(ctx, dut, *views)
        for atom in (3, 50):
            for context in range(4):
                for dispatch_index in range(16):
                    action = check(ctx, dut, views, atom, context, dispatch_index, end=True)
                    is_own = context == 1 and dispatch_index in range(4, 7)
                    is_sent = context == 1 and dispatch_index in (7, 8)
                    leaves = context == 1 and dispatch_index in range(4)
                    found = [action == one for one in (Action.OWN, Action.DMA, Action.REMOTE)]
                    assert found == [is_own, is_sent, leaves]

    dut.simulate(bench)


@pytest.mark.parametrize(
    ("p", "maps"),
    [
        pytest.param(SMALL, 75, id="small"),
        pytest.param(SMALL, 150, id="small-long", marks=pytest.mark.verify),
        pytest.param(SINGLE, 150, id="single"),
    ],
)
def test_random(p, maps):
    seed = 4
    print("seed", seed)
    rng, dut = random.Random(seed), Lookup(p)
    seen = set()

    def random_maps():
        regions, ranges = [], []
        for _ in range(p.regions):
            low, high = sorted(rng.sample(range(ATOMS), 2))
            regions.append(region(low, high) if rng.random() < 0.8 else NO_REGION)
        for _ in range(p.ranges):
            low, high = sorted(rng.choices(range(16), k=2))
            entry = dispatch_indices(
                low,
                high,
                rng.choice([Action.REMOTE, Action.DMA, Action.OWN]),
                region=rng.randrange(p.regions),
                command=rng.randrange(p.commands),
                shares=rng.randrange(4),
            )
            ranges.append(entry if rng.random() < 0.8 else entry | {"enable": 0})
        return directed(p, regions, ranges, rng)

    async def bench(ctx):
        for _ in range(maps):
            spaces = [rng.choice([0, 1, 2, None]) for _ in range(p.contexts)]
            views = [
                view(random_maps(), rng.randrange(17), space, rng.randrange(2), rng.randrange(17))
                for space in spaces
            ]
            program(ctx, dut, *views)
            entries = [entry for one in views for entry in one["maps"]["regions"]]
            edges = [entry[end] for entry in entries for end in ("base", "limit")]
            for _ in range(12):
                atom = (rng.choice(edges) + rng.choice([-1, 0, 0, 1])) % ATOMS
                if rng.random() < 0.5:
                    atom = rng.randrange(ATOMS)
                at = atom, rng.randrange(3), rng.randrange(16)
                for end in (False, True):
                    seen.add((end, check(ctx, dut, views, *at, end)))

    dut.simulate(bench)
    assert seen == {(end, one) for end in (False, True) for one in Action}
