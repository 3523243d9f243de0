"""The DMA engine's ports, driven and checked in every cycle against a reference of its walk."""

from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Datatype, ErrorCode, Granularity, Operation, PacketKind
from tests.support.reused import device
from tests.support.reused import simulate as simulate_device


def command_entry(**fields):
    return {
        "kind": PacketKind.UPDATE,
        "op": Operation.SUM,
        "dtype": Datatype.FP16,
        "atom_offset": 0,
        "granularity": Granularity.WORKGROUP,
        "group_log2": 0,
        "outer_extent": 4,
        "outer_extent_edge": 3,
        "inner_extent": 16,
        "inner_extent_edge": 10,
        "stride": 100,
        "region": 0,
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
        atom_offset=rng.getrandbits(p.atom_address_bits),
        granularity=rng.choice(list(Granularity)),
        outer_extent=rng.randint(0, 9),
        outer_extent_edge=rng.randint(1, 5),
        inner_extent=rng.choice([0, 1, 7, 8, 16, 33]),
        inner_extent_edge=rng.randint(1, 20),
        stride=rng.choice([0, 16, 37, 1 << 23]),
        region=rng.randrange(p.regions),
        wave_outer_extent=rng.randint(1, 4),
        wave_inner_log2=rng.choice([0, 2, 3, 5, 15]),
        waves_inner_log2=rng.randrange(4),
    )


def whole_space(p):
    """A region that lacks only the last atom, as no region can have it."""
    return {"enable": 1, "base": 0, "limit": 2**p.atom_address_bits - 1}


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
    """Remainder of the address of its granule."""
    block, degree = atom // p.interleave_atoms, p.system_channels.bit_length() - 1
    if degree == 0:
        return 0
    divisor = 1 << degree | 1
    while block >> degree:
        block ^= divisor << (block.bit_length() - 1 - degree)
    return block


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

    def __init__(self, p, launch_configuration, commands, regions):
        self.p, self.launch_configuration, self.commands = p, launch_configuration, commands
        self.regions = regions
        self.region = None  # of the command in hand
        self.taken = None  # the command in hand
        self.last = 1
        # Of each walker: (channel, command, workgroup, atoms), the next segment first.
        self.walks = [[] for _ in range(p.dma_walkers)]
        self.preparing = 0  # cycles until it begins
        self.kept = {}  # walkers whose offer was not taken, by lane

    @property
    def walking(self):
        return any(self.walks)

    def region_of(self, taken):
        return dict(self.regions[self.commands[taken["command"]]["region"]])

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

    def inside(self, segment):
        region = self.region
        return region["enable"] and all(
            region["base"] <= atom < region["limit"] for atom, _ in segment[3]
        )

    def lane(self, walk):
        """Of a walker's segment; None if it is of none that is served, or may not be read."""
        lane = walk[0][0] - self.p.first_channel
        return lane if 0 <= lane < self.p.channels and self.inside(walk[0]) else None

    def report(self):
        """Workgroup and wavefront if a segment is dropped because it is outside, else None."""
        for walk in self.walks:
            if not self.preparing and walk and not self.inside(walk[0]):
                _, command, workgroup, _ = walk[0]
                by_wavefront = command["granularity"] == Granularity.WAVEFRONT
                return workgroup, self.taken.get("wavefront", 0) if by_wavefront else 0
        return None

    def offers(self):
        """The walker that offers to each lane."""
        offers = {}
        for number, walk in enumerate(self.walks):
            lane = self.lane(walk) if walk else None
            if lane is not None:
                offers.setdefault(lane, number)
        return offers | self.kept

    def cycle(self, ready, copy, credit_limit_in, rooms, *, aborting=False):
        """What happens: ``(which are taken, the segment that is offered to each lane, issued)``."""
        if aborting:
            self.walks, self.preparing, self.kept = [[] for _ in self.walks], 0, {}
            return "all", {}, 0
        if self.preparing:
            if self.preparing == 2 and "dispatch_index" in self.taken:
                self.region = self.region_of(self.taken)
            self.preparing -= 1
            return None, {}, 0
        if self.walking:
            offers = self.offers()
            offered = {lane: self.walks[number][0] for lane, number in offers.items()}
            for walk in self.walks:
                if walk and self.lane(walk) is None:
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
        self.taken = order[which]
        self.walks = self.segments_of(self.taken)
        self.preparing = 2
        # A copy has its region with it.
        self.region = self.region_of(self.taken)
        return "ready" if which == 0 else "copy", {}, int(which == 0 and ready["last"])


class Bench:
    """Drives an engine and checks every port in every cycle against the reference."""

    def __init__(self, ctx, dut, p, launch_configuration, commands, regions):
        self.ctx, self.dut, self.p = ctx, dut, p
        self.reference = Reference(p, launch_configuration, commands, regions)
        self.set_regions(regions)
        ctx.set(dut.maps.commands, commands)
        ctx.set(dut.launch_configuration, launch_configuration)
        self.remote_space = 3
        ctx.set(dut.remote_space, self.remote_space)

    def set_regions(self, regions):
        self.reference.regions = regions
        self.ctx.set(self.dut.maps.regions, regions)

    async def cycle(
        self, *, ready=None, copy=None, credit_limit_in=1 << 16, rooms=None, aborting=False
    ):
        """One cycle. Gives what was taken and the segments that left."""
        ctx, dut = self.ctx, self.dut
        rooms = rooms or [1] * self.p.channels
        ctx.set(dut.ready.valid, ready is not None)
        ctx.set(dut.copies.valid, copy is not None)
        if ready is not None:
            ctx.set(dut.ready.p, ready)
        if copy is not None:
            command = self.reference.commands[copy["command"]]
            region = self.reference.regions[command["region"]]
            ctx.set(dut.copies.p, copy | {"command": command, "region": region})
        ctx.set(dut.credit_limit_in, credit_limit_in)
        ctx.set(dut.aborting, aborting)
        for lane, room in zip(dut.segments, rooms, strict=True):
            ctx.set(lane.ready, room)
        preparing = self.reference.preparing
        busy = preparing or self.reference.walking
        idle = not busy and ready is None and copy is None
        report = None if aborting else self.reference.report()
        taken, offered, issued = self.reference.cycle(
            ready, copy, credit_limit_in, rooms, aborting=aborting
        )
        assert ctx.get(dut.idle) == idle
        assert ctx.get(dut.over) == (not preparing)
        assert ctx.get(dut.issued) == issued
        assert ctx.get(dut.error.valid) == (report is not None)
        if report:
            found = ctx.get(dut.error.report)
            assert found.code == ErrorCode.DMA_OUTSIDE
            assert (found.dispatch_index, found.wavefront) == report
        assert ctx.get(dut.ready.ready & dut.ready.valid) == (
            taken == "ready" or (taken == "all" and ready is not None)
        )
        assert ctx.get(dut.copies.ready & dut.copies.valid) == (
            taken == "copy" or (taken == "all" and copy is not None)
        )
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
        assert segment.context == self.remote_space
        assert segment.generation == self.reference.launch_configuration["generation"]
        for name in ("kind", "op", "dtype", "atom_offset"):
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


def simulate(p, commands, bench, *, regions=None, **launch_configuration):
    dut = device(DmaEngine, p)
    regions = regions or [whole_space(p)] * p.regions
    commands = commands + [command_entry()] * (p.commands - len(commands))
    launch_configuration = {
        "first_workgroup": 0,
        "workgroups": 100,
        "shift": 0,
        "generation": 9,
    } | launch_configuration

    async def run(ctx):
        await bench(Bench(ctx, dut, p, launch_configuration, commands, regions))

    simulate_device(dut, run)
