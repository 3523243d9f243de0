import random
from collections import Counter
from dataclasses import replace

import pytest
from amaranth.sim import Simulator

from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Datatype, Granularity, Operation, PacketKind
from rtl.parameters import T3Parameters

SMALL = T3Parameters(channels=4, system_channels=4, interleave_atoms=8)
ONE = T3Parameters(channels=1, system_channels=1, interleave_atoms=1, commands=1, wavefronts=1)
SAMPLE = T3Parameters(channels=2, first_channel=3, system_channels=32)
SINGLE = T3Parameters(channels=4, system_channels=4, interleave_atoms=8, dma_walkers=1)


def command_entry(**fields):
    return {
        "kind": PacketKind.UPDATE,
        "op": Operation.SUM,
        "dtype": Datatype.FP16,
        "context": 1,
        "atom_offset": 0,
        "granularity": Granularity.WORKGROUP,
        "group_log2": 0,
        "outer_extent": 4,
        "outer_extent_edge": 3,
        "inner_extent": 16,
        "inner_extent_edge": 10,
        "stride": 100,
        "wave_outer_extent": 2,
        "wave_inner_log2": 3,
        "waves_inner_log2": 1,
        "waves": [0, 0, 0, 0],
    } | fields


def random_command(rng, p):
    """Geometry of which wavefronts and edges may cut anything."""
    return command_entry(
        kind=rng.choice(list(PacketKind)),
        op=rng.choice(list(Operation)),
        dtype=rng.choice(list(Datatype)),
        context=rng.getrandbits(p.context_bits),
        atom_offset=rng.getrandbits(p.atom_address_bits),
        granularity=rng.choice(list(Granularity)),
        outer_extent=rng.randint(0, 9),
        outer_extent_edge=rng.randint(1, 5),
        inner_extent=rng.choice([0, 1, 7, 8, 16, 33]),
        inner_extent_edge=rng.randint(1, 20),
        stride=rng.choice([0, 16, 37, 1 << 23]),
        wave_outer_extent=rng.randint(1, 4),
        wave_inner_log2=rng.choice([0, 2, 3, 5, 15]),
        waves_inner_log2=rng.randrange(4),
    )


def random_ready(rng, p):
    return {
        "command": rng.randrange(p.commands),
        "dispatch_index": rng.choice([0, 5, 99]),
        "wavefront": rng.randrange(p.wavefronts),
        "start": rng.choice([rng.getrandbits(p.atom_address_bits), 2**p.atom_address_bits - 3]),
        "outer_edge": rng.getrandbits(1),
        "inner_edge": rng.getrandbits(1),
        "last": rng.getrandbits(1),
    }


def channel_number(p, atom):
    block = atom // p.interleave_atoms
    number = 0
    while block:
        number ^= block % p.system_channels
        block //= p.system_channels
        if p.system_channels == 1:
            return 0
    return number


def atoms_of(p, launch_configuration, command, taken):
    """Atoms in row-major order: (row, position in it, atom, wavefront, workgroup)."""
    copy = "dispatch_index" not in taken
    outer_extent = (
        command["outer_extent_edge"] if taken.get("outer_edge") else command["outer_extent"]
    )
    inner_extent = (
        command["inner_extent_edge"] if taken.get("inner_edge") else command["inner_extent"]
    )
    first_row = first_atom = 0
    minor = 2 ** command["waves_inner_log2"]
    width, height = 2 ** command["wave_inner_log2"], command["wave_outer_extent"]
    by_wavefront = not copy and command["granularity"] == Granularity.WAVEFRONT
    if by_wavefront:
        first_atom = taken["wavefront"] % minor * width
        first_row = taken["wavefront"] // minor * height
        outer_extent = max(0, min(outer_extent, first_row + height) - first_row)
        inner_extent = max(0, min(inner_extent, first_atom + width) - first_atom)
    workgroup = 0
    if not copy:
        workgroup = taken["dispatch_index"] + launch_configuration["first_workgroup"]
        if workgroup >= launch_configuration["workgroups"]:
            workgroup -= launch_configuration["workgroups"]
    for row in range(outer_extent):
        for index in range(inner_extent):
            atom = (taken["start"] + row * command["stride"] + index) % 2**p.atom_address_bits
            wavefront = 0
            if by_wavefront:
                wavefront = taken["wavefront"]
            elif not copy:
                above = row // height if height else 0  # 0: the rows of one wavefront
                wavefront = (above * minor + index // width) % p.wavefronts
            yield row, index, atom, wavefront, workgroup


class Reference:
    """The engine, one cycle at a time, from :func:`atoms_of`."""

    def __init__(self, p, launch_configuration, commands):
        self.p, self.launch_configuration, self.commands = p, launch_configuration, commands
        self.last = 1
        # Of each walker: (channel, command, workgroup, atoms), the next segment first.
        self.walks = [[] for _ in range(p.dma_walkers)]
        self.preparing = 0  # cycles until it begins
        self.kept = {}  # walkers whose offer was not taken, by lane

    @property
    def walking(self):
        return any(self.walks)

    def segments_of(self, taken):
        p = self.p
        command = self.commands[taken["command"]]
        walks = [[] for _ in range(p.dma_walkers)]
        for row, index, atom, wavefront, workgroup in atoms_of(
            p, self.launch_configuration, command, taken
        ):
            walk = walks[row % p.dma_walkers]
            if index == 0 or atom % p.interleave_atoms == 0:
                walk.append((channel_number(p, atom), command, workgroup, []))
            walk[-1][3].append((atom, wavefront))
        return walks

    def offers(self):
        """The walker that offers to each lane."""
        offers = {}
        for number, walk in enumerate(self.walks):
            lane = walk[0][0] - self.p.first_channel if walk else -1
            if 0 <= lane < self.p.channels:
                offers.setdefault(lane, number)
        return offers | self.kept

    def cycle(self, ready, copy, credit_limit_in, rooms):
        """What happens: ``(which is taken, the segment that is offered to each lane, issued)``."""
        p = self.p
        if self.preparing:
            self.preparing -= 1
            return None, {}, 0
        if self.walking:
            offers = self.offers()
            offered = {lane: self.walks[number][0] for lane, number in offers.items()}
            for walk in self.walks:
                if walk and not 0 <= walk[0][0] - p.first_channel < p.channels:
                    walk.pop(0)
            for lane, number in offers.items():
                if rooms[lane]:
                    self.walks[number].pop(0)
            self.kept = {lane: number for lane, number in offers.items() if not rooms[lane]}
            return None, offered, 0
        eligible = (
            ready and ready["dispatch_index"] + self.launch_configuration["shift"] < credit_limit_in
        )
        order = [ready if eligible else None, copy]
        first = 1 - self.last
        which = next((w for w in (first, 1 - first) if order[w]), None)
        if which is None:
            return None, {}, 0
        self.last = which
        self.walks = self.segments_of(order[which])
        self.preparing = 2
        return "ready" if which == 0 else "copy", {}, int(which == 0 and ready["last"])


class Bench:
    """Drives an engine and checks every port in every cycle against the reference."""

    def __init__(self, ctx, dut, p, launch_configuration, commands):
        self.ctx, self.dut, self.p = ctx, dut, p
        self.reference = Reference(p, launch_configuration, commands)
        maps = dut.maps.shape().const({"commands": commands})
        ctx.set(dut.maps, maps)
        ctx.set(dut.launch_configuration, launch_configuration)

    async def cycle(self, *, ready=None, copy=None, credit_limit_in=1 << 16, rooms=None):
        """One cycle. Gives what was taken and the segments that left."""
        ctx, dut = self.ctx, self.dut
        rooms = rooms or [1] * self.p.channels
        ctx.set(dut.ready.valid, ready is not None)
        ctx.set(dut.copies.valid, copy is not None)
        if ready is not None:
            ctx.set(dut.ready.p, ready)
        if copy is not None:
            ctx.set(dut.copies.p, copy)
        ctx.set(dut.credit_limit_in, credit_limit_in)
        for lane, room in zip(dut.segments, rooms, strict=True):
            ctx.set(lane.ready, room)
        busy = self.reference.preparing or self.reference.walking
        idle = not busy and ready is None and copy is None
        taken, offered, issued = self.reference.cycle(ready, copy, credit_limit_in, rooms)
        assert ctx.get(dut.idle) == idle
        assert ctx.get(dut.issued) == issued
        assert ctx.get(dut.ready.ready & dut.ready.valid) == (taken == "ready")
        assert ctx.get(dut.copies.ready & dut.copies.valid) == (taken == "copy")
        for index, lane in enumerate(dut.segments):
            assert ctx.get(lane.valid) == (index in offered)
        for lane, segment in offered.items():
            self.check_segment(ctx.get(dut.segments[lane].p), *segment[1:])
        await ctx.tick()
        return taken, [segment for lane, segment in sorted(offered.items()) if rooms[lane]]

    def check_segment(self, segment, command, workgroup, atoms):
        assert segment.length == len(atoms)
        for index, (atom, wavefront) in enumerate(atoms):
            atoms_in_all = 2**self.p.atom_address_bits
            assert (segment.atom + index) % atoms_in_all == atom
            wave = segment.wavefront + (segment.offset + index >> segment.wave_inner_log2)
            assert wave % self.p.wavefronts == wavefront
        assert segment.workgroup == workgroup
        for name in ("context", "kind", "op", "dtype", "atom_offset"):
            assert getattr(segment, name) == command[name]

    async def prepare(self):
        while self.reference.preparing:
            assert await self.cycle() == (None, [])

    async def walk(self, **command):
        """Segments of one command, without any waiting; also the cycles between."""
        taken, _ = await self.cycle(**command)
        assert taken
        await self.prepare()
        segments = []
        while self.reference.walking:
            segments += (await self.cycle())[1]
        return segments


def simulate(p, commands, bench, **launch_configuration):
    dut = DmaEngine(p)
    commands = commands + [command_entry()] * (p.commands - len(commands))
    launch_configuration = {
        "first_workgroup": 0,
        "workgroups": 100,
        "shift": 0,
    } | launch_configuration
    sim = Simulator(dut)
    sim.add_clock(1e-9)

    async def run(ctx):
        await bench(Bench(ctx, dut, p, launch_configuration, commands))

    sim.add_testbench(run)
    sim.run()


READY = {
    "command": 0,
    "dispatch_index": 1,
    "wavefront": 0,
    "start": 64,
    "outer_edge": 0,
    "inner_edge": 0,
    "last": 1,
}


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not {}"):
        DmaEngine({})
    with pytest.raises(ValueError, match="dma_walkers must be at most 16, not 32"):
        T3Parameters(dma_walkers=32)
    with pytest.raises(ValueError, match="dma_walkers must be a power of two, not 3"):
        T3Parameters(dma_walkers=3)


@pytest.mark.parametrize("outer_edge", [0, 1])
@pytest.mark.parametrize("inner_edge", [0, 1])
def test_workgroup_tile(outer_edge, inner_edge):
    """Each atom of the tile once, with the wavefront that wrote it, cut at the interleave."""
    outer_extent, inner_extent = 3 if outer_edge else 4, 10 if inner_edge else 16

    async def bench(engine):
        ready = READY | {"start": 67, "outer_edge": outer_edge, "inner_edge": inner_edge}
        segments = await engine.walk(ready=ready)
        got = [pair for _, _, _, atoms in segments for pair in atoms]
        expected = {
            67 + 100 * row + index: (row // 2) * 2 + index // 8
            for row in range(outer_extent)
            for index in range(inner_extent)
        }
        assert len(got) == len(expected)
        assert dict(got) == expected
        for _, _, _, atoms in segments:
            assert len({atom // 8 for atom, _ in atoms}) == 1

    simulate(SMALL, [command_entry()], bench)


@pytest.mark.parametrize(
    ("wavefront", "outer_edge", "inner_edge", "shape"),
    [
        (0, 0, 0, (2, 8)),
        (3, 0, 0, (2, 8)),
        (3, 1, 0, (1, 8)),
        (1, 0, 1, (2, 2)),
        (3, 1, 1, (1, 2)),
        (5, 0, 0, (0, 0)),
    ],
)
def test_wavefront_tile(wavefront, outer_edge, inner_edge, shape):
    async def bench(engine):
        ready = READY | {"wavefront": wavefront, "outer_edge": outer_edge, "inner_edge": inner_edge}
        segments = await engine.walk(ready=ready)
        got = [pair for _, _, _, atoms in segments for pair in atoms]
        outer_extent, inner_extent = shape
        assert sorted(got) == [
            (64 + 100 * row + index, wavefront)
            for row in range(outer_extent)
            for index in range(inner_extent)
        ]

    simulate(SMALL, [command_entry(granularity=Granularity.WAVEFRONT)], bench)


def test_copy():
    """A copy has the command's rows and run, and belongs to no workgroup."""

    async def bench(engine):
        segments = await engine.walk(copy={"command": 1, "start": 0})
        assert [p[2] for p in segments] == [0] * len(segments)
        got = [pair for _, _, _, atoms in segments for pair in atoms]
        assert sorted(got) == sorted(
            (7 * row + index, 0) for row in range(3) for index in range(20)
        )

    copy = command_entry(
        outer_extent=3, inner_extent=20, stride=7, granularity=Granularity.WAVEFRONT
    )
    simulate(SMALL, [command_entry(), copy], bench, first_workgroup=50)


def test_full_rate_over_commands():
    """One segment per cycle and walker, and three cycles between two commands."""

    async def bench(engine):
        events = []
        for _ in range(60):
            taken, segments = await engine.cycle(ready=READY)
            events.append("t" if taken else str(len(segments)) if segments else "-")
        assert "".join(events) == ("t--" + "1" * 10) * 4 + "t--11111"

    simulate(SINGLE, [command_entry()], bench)


@pytest.mark.parametrize(("rows", "pattern"), [(8, "44"), (7, "43"), (3, "3"), (1, "1")])
def test_four_rows_in_a_cycle(rows, pattern):
    """Rows in different channels: as many segments in a cycle as there are walkers or rows."""

    async def bench(engine):
        for _ in range(2):
            taken, _ = await engine.cycle(ready=READY | {"start": 0})
            assert taken
            await engine.prepare()
            for count in pattern:
                assert len((await engine.cycle())[1]) == int(count)

    command = command_entry(outer_extent=rows, inner_extent=8, stride=8, wave_outer_extent=rows)
    simulate(SMALL, [command], bench)


def test_rows_in_one_channel():
    """The lowest walker goes first."""

    async def bench(engine):
        segments = await engine.walk(ready=READY | {"start": 0})
        assert [atoms[0][0] // 120 for _, _, _, atoms in segments] == [0, 4, 1, 5, 2, 3]

    command = command_entry(outer_extent=6, inner_extent=1, stride=120)
    simulate(SMALL, [command], bench)


@pytest.mark.parametrize("walkers", [1, 2, 4, 16])
def test_wavefront_of_each_row(walkers):
    """Of any height, also one that the walkers do not divide, or that is less than their number."""
    heights = [0, 1, 2, 3, 4, 5, 7, 16, 17]
    p = T3Parameters(
        channels=4, system_channels=4, dma_walkers=walkers, commands=len(heights), wavefronts=128
    )

    async def bench(engine):
        for number, height in enumerate(heights):
            segments = await engine.walk(ready=READY | {"start": 0, "command": number})
            found = sorted(pair for _, _, _, atoms in segments for pair in atoms)
            assert found == [(100 * row, 2 * (row // height) if height else 0) for row in range(39)]

    commands = [
        command_entry(outer_extent=39, inner_extent=1, wave_outer_extent=height)
        for height in heights
    ]
    simulate(p, commands, bench)


def test_empty_command_is_over_at_once():
    async def bench(engine):
        for command in range(2):
            for _ in range(3):
                assert await engine.cycle(ready=READY | {"command": command}) == ("ready", [])
                await engine.prepare()
        assert (await engine.cycle(ready=READY | {"command": 2}))[0] == "ready"
        await engine.prepare()
        assert (await engine.cycle())[1]

    empty = [command_entry(outer_extent=0), command_entry(inner_extent=0), command_entry()]
    simulate(SMALL, empty, bench)


@pytest.mark.parametrize(
    ("dispatch_index", "shift"), [(0, 0), (10, 5), (65535, 65536), (65535, 131071)]
)
def test_ready_waits_for_the_downstream_limit(dispatch_index, shift):
    async def bench(engine):
        ready = READY | {"dispatch_index": dispatch_index}
        if dispatch_index + shift < 131071:
            assert (await engine.cycle(ready=ready, credit_limit_in=dispatch_index + shift))[
                0
            ] is None
            taken = await engine.cycle(ready=ready, credit_limit_in=dispatch_index + shift + 1)
            assert taken[0] == "ready"
        else:
            assert (await engine.cycle(ready=ready, credit_limit_in=131071))[0] is None
        # A copy does not wait.
        while engine.reference.walking:
            await engine.cycle()
        assert (await engine.cycle(copy={"command": 0, "start": 0}, credit_limit_in=0))[0] == "copy"

    simulate(SMALL, [command_entry()], bench, shift=shift)


def test_turns():
    async def bench(engine):
        async def taken(**offers):
            which, _ = await engine.cycle(**offers)
            await engine.prepare()
            return which

        both = {"ready": READY | {"command": 0}, "copy": {"command": 0, "start": 0}}
        got = [await taken(**both) for _ in range(5)]
        assert got == ["ready", "copy", "ready", "copy", "ready"]
        got = [await taken(credit_limit_in=0, **both) for _ in range(3)]
        assert got == ["copy"] * 3
        assert await taken(**both) == "ready"

    simulate(SMALL, [command_entry(outer_extent=0)], bench)


def test_full_lane_stops_the_walk():
    async def bench(engine):
        await engine.cycle(ready=READY)
        await engine.prepare()
        first = engine.reference.walks[0][0][0]
        rooms = [int(lane != first) for lane in range(4)]
        for _ in range(5):
            assert (await engine.cycle(rooms=rooms))[1] == []
        assert (await engine.cycle())[1]

    simulate(SINGLE, [command_entry()], bench)


def test_full_lane_stops_only_the_walkers_that_want_it():
    """What is offered to it stays, also when a lower walker comes."""

    async def bench(engine):
        async def rows(lane_1):
            _, segments = await engine.cycle(rooms=[1, lane_1, 1, 1])
            return [atoms[0][0] // 8 for _, _, _, atoms in segments]

        await engine.cycle(ready=READY | {"start": 0})
        await engine.prepare()
        # Rows 0 to 7 lie in channels 0, 1, 2, 3, 1, 0, 3 and 2.
        assert [await rows(0) for _ in range(4)] == [[0, 2, 3], [7, 6], [], []]
        assert [await rows(1) for _ in range(2)] == [[1], [5, 4]]
        assert (await engine.cycle(ready=READY))[0] == "ready"

    command = command_entry(outer_extent=8, inner_extent=8, stride=8)
    simulate(SMALL, [command], bench)


def test_samples_make_up_the_whole():
    """Tops that each serve some channels send every atom exactly once between them."""
    whole = Counter()
    for first in range(0, 32, 8):
        p = T3Parameters(channels=8, first_channel=first)

        async def bench(engine):
            for _, _, _, atoms in await engine.walk(ready=READY):
                whole.update(atom for atom, _ in atoms)

        simulate(p, [command_entry(outer_extent=20, inner_extent=40)], bench)
    assert whole == {64 + 100 * row + index: 1 for row in range(20) for index in range(40)}


@pytest.mark.parametrize("p", [SMALL, ONE, SAMPLE], ids=["small", "one", "sample"])
@pytest.mark.parametrize(("seed", "walkers"), [(0, 1), (1, 2), (2, 4), (0, 8)])
def test_random(p, walkers, seed):
    print(f"seed {seed}")
    p = replace(p, dma_walkers=walkers)
    rng = random.Random(seed)
    commands = [random_command(rng, p) for _ in range(p.commands)]
    counts = Counter()

    async def bench(engine):
        ready = copy = None
        for step in range(2500):
            if step % 100 == 0:
                rates = [rng.choice([0.05, 0.5, 1]) for _ in range(3)]
                credit_limit_in = rng.choice([0, 10, 50, 1 << 16])
            if ready is None and rng.random() < rates[0]:
                ready = random_ready(rng, p)
            if copy is None and rng.random() < rates[1]:
                start = rng.getrandbits(p.atom_address_bits)
                copy = {"command": rng.randrange(p.commands), "start": start}
            rooms = [int(rng.random() < rates[2]) for _ in range(p.channels)]
            taken, segments = await engine.cycle(
                ready=ready, copy=copy, credit_limit_in=credit_limit_in, rooms=rooms
            )
            counts[taken] += 1
            counts["segment"] += len(segments)
            ready = None if taken == "ready" else ready
            copy = None if taken == "copy" else copy

    simulate(p, commands, bench, first_workgroup=60, shift=4)
    assert counts["ready"] > 3 and counts["copy"] > 3 and counts["segment"] > 20
