"""Proofs of the fabric: packets pass once, unchanged and in order, and none waits for ever."""

from functools import partial

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from rtl.interface.encodings import PacketKind
from rtl.lib.interleave import channel_of
from rtl.link.fabric import Fabric
from rtl.link.turns import MOST_IN_TURN, RunMerge
from rtl.parameters import T3Parameters

from .clock_gating import clock_gating
from .held import held, relate_pointers, word_in
from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_PORTS, _DEPTH = 2, 3


def _geometry(channels: int) -> T3Parameters:
    return T3Parameters(
        channels=channels,
        system_channels=channels,
        interleave_atoms=2,
        contexts=2,
        address_bits=11,
        tile_atom_bits=2,
        share_bits=2,
        workgroup_bits=2,
        wavefronts=1,
        context_bits=1,
        sets=1,
        ways=2,
        credit_window=2,
    )


def _free_ports(m: Module, dut: Fabric) -> None:
    """Give all inputs arbitrary values; the ports' GPUs do not change."""
    for source in (*dut.packets, *dut.from_ports):
        free(m, source.valid, source.p)
    for sink in (*dut.o, *dut.to_ports):
        free(m, sink.ready)
    m.d.comb += Value.cast(dut.gpus).eq(AnyConst(len(Value.cast(dut.gpus))))


def _assert_turns(m: Module, merges: list) -> None:
    """Assert that each merge has one turn."""
    for merge in merges:
        if merge.pick is not None:
            first = merge.pick.first
            m.d.comb += [
                invariant(first.any(), "no turn"),
                invariant((first & (first - 1)) == 0, "two turns"),
            ]
            if isinstance(merge, RunMerge):
                behind = merge.last.rotate_left(1)
                m.d.comb += [
                    invariant(~merge.last.any() | (first == behind), "last: another turn"),
                    invariant(merge.last.any() | ~merge.goes_on, "a turn without an input"),
                    invariant(
                        ~merge.goes_on | (merge.count < MOST_IN_TURN - 1), "a turn without an end"
                    ),
                ]


class RunMergeHarness(Elaboratable):
    """Harness with arbitrary streams and an arbitrary sink: a payload passes unchanged, and an
    input waits for at most one turn of each other input.

    An offer stays until it is taken.
    """

    def __init__(self, merge: type = RunMerge, *, inputs: int):
        self._merge, self._inputs = merge, inputs

    def elaborate(self, platform):
        m = Module()
        shape = data.StructLayout({"atom": 4, "number": 2})
        m.submodules.dut = dut = self._merge(shape, self._inputs, lambda packet: packet.atom)
        free(m, dut.o.ready, *(one for i in dut.i for one in (i.valid, i.p)))
        valid = Cat(i.valid for i in dut.i)
        taken = Cat(moves(i) for i in dut.i)
        most = MOST_IN_TURN * (self._inputs - 1)
        which, others = Signal(range(self._inputs)), Signal(range(most + 2))
        m.d.comb += [which.eq(AnyConst(len(which))), Assume(which < self._inputs)]
        waits = (valid & ~taken).bit_select(which, 1)
        m.d.sync += others.eq(Mux(waits, others + (moves(dut.o) & (others <= most)), 0))
        m.d.comb += [
            Assert(dut.o.valid == valid.any(), "valid: differs from the inputs"),
            Assert((taken & (taken - 1)) == 0, "two inputs go at once"),
            Assert(taken.any() == moves(dut.o), "a payload is lost or invented"),
            Assert(others <= most, "an input waits for more than a turn of another one"),
            Cover(others == most, "an input waits for a turn of each other one"),
        ]
        self._relate(m, dut, which, others, most)
        for source in dut.i:
            held_up = Signal.like(source.p)
            offered = Signal()
            m.d.sync += [offered.eq(source.valid & ~source.ready), held_up.eq(source.p)]
            m.d.comb += [
                Assume(~offered | (source.valid & (source.p == held_up))),
                Assert(~moves(source) | (dut.o.p == source.p), "a payload changes"),
            ]
        _assert_turns(m, [dut])
        return m

    def _relate(self, m: Module, dut: RunMerge, which: Signal, others: Signal, most: int) -> None:
        """Relate the wait to the rest of the turn, and to the turns up to that of the input."""
        inputs, distance = self._inputs, Signal(range(self._inputs))
        with m.Switch(dut.pick.first):
            for index in range(inputs):
                with m.Case(1 << index):
                    m.d.comb += distance.eq(
                        Mux(which >= index, which - index, which + inputs - index)
                    )
        offers, has_turn = (
            each.bit_select(which, 1) for each in (Cat(i.valid for i in dut.i), dut.last)
        )
        rest = Mux(dut.goes_on & ~has_turn, MOST_IN_TURN - 1 - dut.count, 0)
        m.d.comb += invariant(
            ~offers | (others + rest + MOST_IN_TURN * distance <= most),
            "the turn does not come nearer",
        )


class DeparturesHarness(Elaboratable):
    """Harness that counts the packets in each port's queue and observes one arbitrary packet."""

    def __init__(self, fabric: type = Fabric, *, lanes: int):
        self._fabric, self._lanes = fabric, lanes

    def elaborate(self, platform):
        m = Module()
        p = _geometry(2)
        m.submodules.dut = dut = self._fabric(p, ports=_PORTS, lanes=self._lanes, port_depth=_DEPTH)
        _free_ports(m, dut)
        entries = [(entry.enable, entry.gpu) for entry in dut.gpus]
        ports = [self._port_of(source.p.packet.destination, entries) for source in dut.packets]
        which, port = Signal(), Signal()  # channel and port of the observed packet
        m.d.comb += [which.eq(AnyConst(1)), port.eq(AnyConst(1))]
        counts = [Signal(range(_DEPTH + 2), name=f"held_{number}") for number in range(_PORTS)]
        puts = [
            sum(
                moves(source) & (to == number)
                for source, to in zip(dut.packets, ports, strict=True)
            )
            for number in range(_PORTS)
        ]
        for count, put, sink, queue in zip(
            counts, puts, dut.to_ports, dut.port_queues, strict=True
        ):
            m.d.sync += count.eq(count + put - moves(sink))
            m.d.comb += [
                Assert(put <= 1, "a port takes two packets in a cycle"),
                Assert(queue.level == count, "packets are lost or invented"),
            ]
        self._observe(m, dut, ports, which, port, counts)
        self._drop(m, dut, ports)
        for number, sink in enumerate(dut.to_ports):
            assert_held(m, sink, f"port_{number}")
        _assert_turns(m, [*dut.lane_merges, *dut.port_merges])
        return m

    def _port_of(self, gpu: Value, entries: list) -> Value:
        """Find the first port of a GPU; the number of ports without one."""
        found = _PORTS
        for number, (enable, one) in reversed(list(enumerate(entries))):
            found = Mux(enable & (one == gpu), number, found)
        return found

    def _observe(self, m: Module, dut: Fabric, ports, which, port, counts) -> None:
        """Observe a packet of one channel from its acceptance to its departure."""
        follows, ahead = Signal(), Signal(range(_DEPTH + 1))
        payload = Signal.like(dut.packets[0].p)
        sources = zip(dut.packets, ports, strict=True)
        chosen = Cat(
            moves(source) & (which == number) & (to == port)
            for number, (source, to) in enumerate(sources)
        ).any()
        leaves = Cat(moves(sink) & (port == n) for n, sink in enumerate(dut.to_ports)).any()
        level = Mux(port, counts[1], counts[0])
        with m.If(~follows):
            with m.If(AnySeq(1) & chosen):
                m.d.sync += [
                    follows.eq(1),
                    ahead.eq(level - leaves),
                    payload.eq(Mux(which, dut.packets[1].p, dut.packets[0].p)),
                ]
        with m.Elif(leaves):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        m.d.comb += Cover(
            follows & leaves & (ahead == 1), "a packet leaves before the observed one"
        )
        for number, (sink, queue) in enumerate(zip(dut.to_ports, dut.port_queues, strict=True)):
            here = follows & (port == number)
            first = here & (ahead == 0) & sink.valid
            m.d.comb += [
                Assert(~first | (sink.p == payload), "a packet changes or leaves out of order"),
                invariant(~here | (ahead < counts[number]), "the observed packet is not inside"),
            ]
            self._relate(m, queue, number, here, ahead, payload)

    def _relate(self, m: Module, queue, number: int, here: Value, ahead, payload) -> None:
        """Relate the observed packet to the contents of its port's queue."""
        memory = queue.storage
        row = Signal(range(memory.depth), name=f"row_{number}")
        at = memory.read_row + ahead - queue.o.valid
        word = word_in(m, memory, row)
        relate_pointers(m, queue, f"port {number}")
        m.d.comb += [
            row.eq(Mux(at >= memory.depth, at - memory.depth, at)),
            invariant(
                ~here | (Mux(queue.o.valid & (ahead == 0), queue.o.p, word) == Value.cast(payload)),
                "the observed packet changes",
            ),
        ]

    def _drop(self, m: Module, dut: Fabric, ports) -> None:
        """Assert that exactly the packets without a port are dropped and reported."""
        lost, expected = Signal(len(dut.lost)), Signal(len(dut.lost))
        leaving = [
            moves(source) & (to == _PORTS) for source, to in zip(dut.packets, ports, strict=True)
        ]
        owners = [
            Cat(one & (s.p.owner == n) for one, s in zip(leaving, dut.packets, strict=True)).any()
            for n in range(len(dut.lost))
        ]
        m.d.comb += lost.eq(Cat(owners))
        m.d.sync += expected.eq(lost)
        m.d.comb += [
            Assert(dut.lost == expected, "a loss is not reported, or reported to another context"),
            Cover(dut.lost.any(), "a packet without a port"),
        ]


class WaitHarness(Elaboratable):
    """Harness whose ports and channels always take packets: none waits longer than a round.

    Observes one arbitrary channel, and one arbitrary port. An offer stays until it is taken.
    """

    def __init__(self, fabric: type = Fabric, *, channels: int, lanes: int, most: int):
        self._fabric, self._channels, self._lanes, self._most = fabric, channels, lanes, most

    def elaborate(self, platform):
        m = Module()
        p = _geometry(self._channels)
        m.submodules.dut = dut = self._fabric(p, ports=_PORTS, lanes=self._lanes, port_depth=_DEPTH)
        _free_ports(m, dut)
        for sink in (*dut.o, *dut.to_ports):
            m.d.comb += Assume(sink.ready)
        self._watch(m, dut.packets, self._most, "channel")
        self._watch(m, dut.from_ports, _PORTS - 1, "port")
        for queue in dut.port_queues:
            m.d.comb += [
                invariant(queue.stored <= 1, "a port's queue fills"),
                invariant(queue.storage.read_row < queue.capacity, "read row"),
            ]
        for lane, queue in enumerate(dut.lane_queues):
            inside = held(m, queue, f"lane_{lane}")
            m.d.comb += invariant(queue.level <= 1, "a lane's queue fills")
            for index, entry in enumerate(inside.entries):
                slot = entry.slot[: (self._channels - 1).bit_length()]
                channel = Mux(entry.kind == PacketKind.END, slot, channel_of(p, entry.atom))
                here = Cat(channel == n for n in range(lane, self._channels, self._lanes)).any()
                m.d.comb += invariant(~inside.has(index) | here, "a packet of another lane")
        _assert_turns(m, [*dut.lane_merges, *dut.port_merges, *dut.arrival_merges])
        return m

    def _watch(self, m: Module, sources, most: int, name: str) -> None:
        """Assert the bound of each source's wait."""
        for number, source in enumerate(sources):
            waited = Signal(range(most + 2), name=f"{name}_{number}_waited")
            before = Signal.like(source.p, name=f"{name}_{number}_before")
            offered = waited != 0
            m.d.sync += [
                waited.eq(Mux(source.valid & ~source.ready, waited + (waited <= most), 0)),
                before.eq(source.p),
            ]
            m.d.comb += [
                Assume(~offered | (source.valid & (source.p == before))),
                Assert(waited <= most, f"{name} {number} waits too long"),
            ]
            if most:
                m.d.comb += Cover(waited == most, f"{name} {number} waits for a round")


class ArrivalsHarness(Elaboratable):
    """Harness that counts the packets in each lane's queue and observes one arbitrary packet."""

    def __init__(self, fabric: type = Fabric, *, lanes: int):
        self._fabric, self._lanes = fabric, lanes

    def elaborate(self, platform):
        m = Module()
        p = _geometry(2)
        m.submodules.dut = dut = self._fabric(p, ports=_PORTS, lanes=self._lanes, port_depth=_DEPTH)
        _free_ports(m, dut)
        channels = [self._channel_of(source.p) for source in dut.from_ports]
        takes = [moves(sink) for sink in dut.o]
        which = Signal()
        m.d.comb += which.eq(AnyConst(1))
        lane_of = [number % self._lanes for number in range(2)]
        for lane, queue in enumerate(dut.lane_queues):
            count = Signal(range(4), name=f"held_{lane}")
            puts = sum(
                moves(source) & (Mux(channel, lane_of[1], lane_of[0]) == lane)
                for source, channel in zip(dut.from_ports, channels, strict=True)
            )
            leaving = sum(take for number, take in enumerate(takes) if lane_of[number] == lane)
            m.d.sync += count.eq(count + puts - leaving)
            m.d.comb += [
                Assert(puts <= 1, "a lane takes two packets in a cycle"),
                Assert(queue.level == count, "packets are lost or invented"),
            ]
        self._observe(m, dut, channels, which)
        _assert_turns(m, dut.arrival_merges)
        return m

    def _channel_of(self, packet) -> Value:
        """Find the channel of two: a parity of address bits, or the lowest bit of the slot."""
        return Mux(packet.kind == PacketKind.END, packet.slot[0], packet.atom[1:].xor())

    def _observe(self, m: Module, dut: Fabric, channels, which: Signal) -> None:
        """Observe a packet of one port from its acceptance to its arrival."""
        follows, ahead, channel = Signal(), Signal(2), Signal()
        payload = Signal.like(dut.from_ports[0].p)
        chosen = Mux(which, moves(dut.from_ports[1]), moves(dut.from_ports[0]))
        into = Mux(which, channels[1], channels[0])
        at = Signal()
        m.d.comb += at.eq(Mux(follows, channel, into))
        lanes = [dut.lane_queues[number % self._lanes] for number in range(2)]
        level = Mux(at, lanes[1].level, lanes[0].level)
        leaves = Mux(at, moves(lanes[1].o), moves(lanes[0].o))
        with m.If(~follows):
            with m.If(AnySeq(1) & chosen):
                m.d.sync += [
                    follows.eq(1),
                    channel.eq(into),
                    ahead.eq(level - leaves),
                    payload.eq(Mux(which, dut.from_ports[1].p, dut.from_ports[0].p)),
                ]
        with m.Elif(leaves):
            m.d.sync += [ahead.eq(ahead - 1), follows.eq(ahead != 0)]
        last = follows & (ahead == 0)
        of_payload = self._channel_of(payload)
        m.d.comb += invariant(~follows | (channel == of_payload), "channel: another one")
        m.d.comb += Cover(last & leaves, "the observed packet arrives")
        for number, (sink, queue) in enumerate(zip(dut.o, lanes, strict=True)):
            here = follows & (channel == number)
            m.d.comb += [
                Assert(
                    ~(last & sink.valid & here) | (sink.p == payload),
                    "a packet changes or arrives out of order",
                ),
                Assert(~(last & leaves & here) | moves(sink), "a packet goes to another channel"),
                invariant(~here | (ahead < queue.level), "the observed packet is not inside"),
            ]
        for lane, queue in enumerate(dut.lane_queues):
            inside = held(m, queue, f"lane_{lane}")
            of_lane = Cat(channel == n for n in range(2) if n % self._lanes == lane).any()
            here = follows & of_lane
            for index, entry in enumerate(inside.entries):
                m.d.comb += invariant(
                    ~(here & (ahead == index)) | (entry == payload), "the observed packet changes"
                )


_SIZE = "2 ports, queues of 3 packets, packets of 33 bits"
_REASON = "the proof depends on no width"

PROOFS = (
    Proof(
        name="run-merge-3",
        statement="Whenever a payload is offered, a transfer passes one offered payload unchanged; "
        "a waiting input lets each other one pass for at most fifteen payloads",
        blocks=(RunMerge,),
        harness=partial(RunMergeHarness, inputs=3),
        geometry="3 inputs, payloads of 6 bits",
        reason=_REASON,
        depth=2,
        cover_depth=2 * MOST_IN_TURN + 4,
        slow=True,
    ),
    *(
        Proof(
            name=f"fabric-departures-{lanes}",
            statement="Every packet of a channel leaves once, unchanged, through the first port of "
            "its GPU, in order of acceptance; without such a port it is dropped, and reported to "
            "its context in the next cycle",
            blocks=(Fabric,),
            harness=partial(DeparturesHarness, lanes=lanes),
            geometry=f"2 channels, lanes: {lanes}; {_SIZE}",
            reason=_REASON,
            depth=3,
            cover_depth=10,
            slow=lanes == 1,
        )
        for lanes in (1, 2)
    ),
    *(
        Proof(
            name=f"fabric-arrivals-{lanes}",
            statement="Every packet of a port arrives once, unchanged, in the channel of its "
            "address, or of its slot without an address, in order of acceptance",
            blocks=(Fabric,),
            harness=partial(ArrivalsHarness, lanes=lanes),
            geometry=f"2 channels, lanes: {lanes}; {_SIZE}",
            reason=_REASON,
            depth=3,
            cover_depth=8,
            slow=lanes == 1,
        )
        for lanes in (1, 2)
    ),
    *(
        Proof(
            name=f"fabric-waits-{channels}-{lanes}",
            statement="While all ports take packets, a channel's packet waits for at most one "
            "turn of each other channel; while all channels take packets, a port's packet waits "
            "for at most one packet of each other port",
            blocks=(Fabric,),
            harness=partial(WaitHarness, channels=channels, lanes=lanes, most=most),
            geometry=f"{channels} channels, lanes: {lanes}; {_SIZE}",
            reason=_REASON,
            depth=most + 3,
            cover_depth=most + 6,
            slow=True,
        )
        for channels, lanes, most in ((2, 1, MOST_IN_TURN), (2, 2, MOST_IN_TURN))
    ),
    clock_gating(
        "fabric",
        "a fabric",
        Fabric,
        _geometry(2),
        ports=_PORTS,
        port_depth=_DEPTH,
        geometry=f"2 channels; {_SIZE}",
    ),
)
