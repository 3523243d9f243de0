"""Top with two channels, a program for it, and drivers of its ports."""

from collections import Counter, deque

from driver.python import DOWNSTREAM, UPSTREAM, Peer
from rtl.interface.encodings import (
    Access,
    Action,
    ConfigurationError,
    Datatype,
    Operation,
    Origin,
    PacketKind,
    StoreKind,
)
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.fields import is_reported
from rtl.top import T3
from tests.support.register_bus import outcome, read, write
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

__all__ = [
    "BOTH_WAYS",
    "LATENCY",
    "LIMIT_CYCLES",
    "MAP",
    "Memory",
    "OFFSET",
    "ORDER",
    "P",
    "STRIDE",
    "PROGRAM",
    "ROWS",
    "RUN",
    "SHIFT",
    "WAVE",
    "REGION",
    "WORKGROUPS",
    "abort",
    "admit",
    "announce",
    "atoms_of",
    "begun",
    "channel_number",
    "end_packet",
    "launch",
    "offer",
    "packet",
    "peers_of",
    "program",
    "rank_of",
    "settle",
    "simulate",
    "status",
    "store",
    "traffic",
]

P = T3Parameters(
    contexts=1,
    peers=3,
    channels=2,
    system_channels=2,
    interleave_atoms=2,
    sets=8,
    ways=4,
    banks=2,
    credit_window=8,
    command_depth=8,
    egress_slots=8,
)
MAP = register_map.load()
LIMIT_CYCLES = 2 * P.ranges + 4
"""Cycles in which a change of a peer's limit or generation reaches the dispatch limit."""
BOTH_WAYS = 2
"""Peer to which packets of all kinds may leave, and from which they may come."""

# A kernel of four workgroups. Each writes two rows of eight atoms, a wavefront four of each row.
WORKGROUPS, SHIFT = 4, 1
ORDER = (1, 2, 3, 0)  # tile of the output at each dispatch index
ROWS, RUN, STRIDE, WAVE = 2, 8, 32, 4
REGION, OFFSET = 1024, 4096
LATENCY = 9
NO_EPOCH = 256
PROGRAM = [
    ("ADDRESS_SPACE", {"local": 3, "enable": 1}),
    ("WORKGROUPS", {"count": WORKGROUPS}),
    ("TRACKED_FIRST", {"dispatch_index": 1}),
    ("TRACKED_END", {"dispatch_index": 4}),
    ("TO_SEND", {"count": 3}),
    ("CREDIT_WINDOW", {"workgroups": 4}),
    ("COMMAND_WINDOW", {"workgroups": 8}),
    ("REGION_BASE_LO", {"bytes": REGION * 32}),
    ("REGION_LIMIT_LO", {"bytes": (REGION + 256) * 32}),
    ("REGION_COMMIT", {"index": 0, "enable": 1}),
    ("RANGE_PEERS", {"peers": 1 << DOWNSTREAM, "slot_offset": SHIFT}),
    ("RANGE_DISPATCH_INDICES", {"first": 0, "last": 0}),
    ("RANGE_ACTION", {"region": 0, "action": Action.REMOTE.value, "command": 0}),
    ("RANGE_COMMIT", {"index": 0, "enable": 1}),
    ("RANGE_DISPATCH_INDICES", {"first": 1, "last": 2}),
    ("RANGE_ACTION", {"region": 0, "action": Action.DMA.value, "command": 0, "shares": 2}),
    ("RANGE_COMMIT", {"index": 1, "enable": 1}),
    ("RANGE_DISPATCH_INDICES", {"first": 3, "last": 3}),
    ("RANGE_ACTION", {"region": 0, "action": Action.OWN.value, "command": 0, "shares": 2}),
    ("RANGE_COMMIT", {"index": 2, "enable": 1}),
    (
        "COMMAND_TRANSFER",
        {
            "kind": PacketKind.UPDATE.value,
            "op": Operation.MAX.value,
            "dtype": Datatype.FP32.value,
            "granularity": 1,
            "wave_inner_log2": 2,
            "waves_inner_log2": 1,
        },
    ),
    ("COMMAND_OUTER", {"outer_extent": ROWS}),
    ("COMMAND_INNER", {"inner_extent": RUN}),
    ("COMMAND_STRIDE", {"stride": STRIDE, "region": 0}),
    ("COMMAND_WAVES", {"wave_outer_extent": ROWS, "waves0": 2}),
    ("COMMAND_OFFSET_LO", {"bytes": OFFSET * 32}),
    ("COMMAND_COMMIT", {"index": 0}),
]


# Registers whose values in the program only one context can have.
OWNED = ("ADDRESS_SPACE", "REGION_BASE_LO", "REGION_LIMIT_LO")


def rank_of(context):
    """Return the rank of this GPU among the GPUs of a context."""
    return 4 * context


def peers_of(context):
    """Return the peers of a context: those of a ring, and one of all kinds. Their numbers, ranks
    and address spaces differ."""
    sends = {"sends_stores": True, "sends_updates": True}
    takes = {"takes_stores": True, "takes_updates": True}
    rank, gpu, space = rank_of(context), 90 - 20 * context, (5, 3)[context]
    return [
        Peer(gpu=gpu, rank=rank + 1, space=space, **sends),
        Peer(gpu=gpu + 7, rank=rank + 2, space=space + 1, **takes),
        Peer(gpu=gpu + 9, rank=rank + 3, space=space + 2, **sends, **takes),
    ]


def admit(ctx, port, limit):
    """Let all peers of a context show this credit limit."""
    ctx.set(port.credit_limit_in, [limit] * P.peers)


def announce(ctx, port, generation):
    """Let all peers of a context show this generation."""
    ctx.set(port.generation_in, [generation] * P.peers)


async def program(ctx, dut, registers, context=0):
    """Write registers; none of the writes may be refused."""
    for name, fields in registers:
        word, address = MAP[name].pack(**fields), MAP[name].address_in(context)
        if is_reported(MAP[name], fields.get("launch", 0)):
            assert await outcome(ctx, dut, address, word) == ConfigurationError.NONE, name
        else:
            assert await write(ctx, dut, address, word) == 0, name


async def settle(ctx, dut, context=0, *, rank=None, peers=None):
    """Wait until a reset or an abort is over; after a reset, restart the epochs, and set the rank
    and the peers."""
    while (await status(ctx, dut, "STATUS", context))["aborting"]:
        pass
    if (await status(ctx, dut, "EPOCHS", context))["next"] == NO_EPOCH:
        registers = [
            ("EPOCH_RESET", {"restart": 1}),
            ("RANK", {"rank": rank_of(context) if rank is None else rank}),
        ]
        for index, peer in enumerate(peers_of(context) if peers is None else peers):
            registers.append(("PEER", vars(peer)))
            registers.append(("PEER_COMMIT", {"index": index, "enable": 1}))
        await program(ctx, dut, registers, context)


async def launch(ctx, dut, changes=(), context=0):
    """Launch the program with these registers instead of its own."""
    await settle(ctx, dut, context)
    owned = {name: fields for name, fields in reversed(changes) if name in OWNED}
    own = [(name, owned.get(name, fields)) for name, fields in PROGRAM]
    await program(ctx, dut, [*own, *changes, ("CONTROL", {"launch": 1})], context)
    await begun(ctx, dut, context)


async def begun(ctx, dut, context=0):
    """Wait until the requested launch has begun."""
    while (await status(ctx, dut, "STATUS", context))["pending"]:
        pass


async def abort(ctx, dut, context=0):
    """Abort the running launch, and wait until nothing of it is left."""
    await program(ctx, dut, [("CONTROL", {"abort": 1})], context)
    await settle(ctx, dut, context)


async def status(ctx, dut, register, context=0):
    """Return the fields of a register."""
    word, response = await read(ctx, dut, MAP[register].address_in(context))
    assert response == 0
    return MAP[register].unpack(word)


def channel_number(atom):
    """Return an atom's channel of two: the parity of the bits above the interleave."""
    return (atom // P.interleave_atoms).bit_count() % 2


def atoms_of(tile, region=REGION):
    """Return atoms and wavefronts of a tile of the output, in the order of the walk."""
    start = region + 2 + (tile % 2) * RUN + (tile // 2) * ROWS * STRIDE
    return [
        (start + row * STRIDE + index, index // WAVE) for row in range(ROWS) for index in range(RUN)
    ]


class Memory:
    """DRAM of one channel, which serves in order after ``latency`` cycles."""

    def __init__(self, port, latency=LATENCY):
        self.port, self.waiting, self.issue_acks = port, deque(), deque()
        self._latency = latency
        self.seen = Counter()

    @property
    def owes(self):
        """Return whether T3 waits for an acknowledgement or for data."""
        return bool(self.issue_acks) or any(
            request.access == Access.UPDATE or request.origin == Origin.COMMUNICATION
            for _, request in self.waiting
        )

    def drive(self, ctx, cycle):
        """Set the inputs of this cycle, and take the request on offer."""
        port = self.port
        ctx.set(port.memory_owes, self.owes)
        ctx.set(port.returns.valid, 0)
        due = self.waiting and self.waiting[0][0] <= cycle
        if due and self.waiting[0][1].access == Access.READ:
            ctx.set(port.returns.p.slot, self.waiting.popleft()[1].tag)
            ctx.set(port.returns.valid, 1)
        elif due:
            self.issue_acks.append(self.waiting.popleft()[1])
        ctx.set(port.issue_acks.valid, bool(self.issue_acks))
        if self.issue_acks:
            issue_ack = self.issue_acks[0]
            fields = ("access", "atom", "owner", "dispatch_index", "wavefront")
            ctx.set(port.issue_acks.p, {name: getattr(issue_ack, name) for name in fields})
            if ctx.get(port.issue_acks.ready):
                self.issue_acks.popleft()
        ctx.set(port.dram.ready, 1)
        if ctx.get(port.dram.valid):
            request = ctx.get(port.dram.p)
            self.waiting.append((cycle + self._latency, request))
            self.seen[request.access, request.origin, request.atom] += 1


def simulate(bench, p=P, *, background=None):
    """Run a bench on a top, with ``background`` beside it. Each cycle is a tick."""
    dut = device(T3, p)

    async def run(ctx):
        ctx.set(dut.tick, 1)
        for port in dut.channel:
            ctx.set(port.link_space, (1 << p.contexts) - 1)
        await bench(ctx, dut)

    async def run_background(ctx):
        await background(ctx, dut)

    simulate_device(dut, run, background=None if background is None else run_background)


def store(atom, dispatch_index, wavefront, *, end=False):
    return {
        "kind": StoreKind.END_OF_TILE if end else StoreKind.STORE,
        "atom": atom,
        "context": 3,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "tile_atoms": ROWS * WAVE,
        "shares": 1,
    }


def packet(atom, slot, wavefront):
    return {
        "kind": PacketKind.UPDATE,
        "atom": atom,
        "context": 3,
        "source": peers_of(0)[UPSTREAM].rank,
        "slot": slot,
        "wavefront": wavefront,
        "op": Operation.MAX,
        "dtype": Datatype.FP32,
    }


def end_packet(slot, wavefront, tile_atoms=ROWS * WAVE, shares=1):
    """Return the neighbour's END packet of a tile."""
    marker = tile_atoms | shares << P.tile_atom_bits + 2
    return packet(marker, slot, wavefront) | {"kind": PacketKind.END}


def traffic():
    """Return stores and the neighbour's packets of each channel, in dispatch order."""
    stores = [deque() for _ in range(P.channels)]
    packets = [deque() for _ in range(P.channels)]
    for dispatch_index, number in enumerate(ORDER):
        tile = atoms_of(number)
        for atom, wavefront in tile:
            stores[channel_number(atom)].append(store(atom, dispatch_index, wavefront))
            if dispatch_index:
                packets[channel_number(atom)].append(packet(atom, dispatch_index, wavefront))
        for wavefront in range(RUN // WAVE):
            atom = tile[wavefront * WAVE][0]
            stores[channel_number(atom)].append(store(atom, dispatch_index, wavefront, end=True))
            if dispatch_index:
                packets[channel_number(atom)].append(end_packet(dispatch_index, wavefront))
    return stores, packets


async def offer(ctx, **streams):
    """Offer a payload on each stream for one cycle."""
    for stream, payload in streams.values():
        ctx.set(stream.p, payload)
        ctx.set(stream.valid, 1)
    await ctx.tick()
    for stream, _ in streams.values():
        ctx.set(stream.valid, 0)
