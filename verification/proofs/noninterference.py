"""Proofs of non-interference by self-composition: what another context does changes no result.

Two copies of a block get the same request and the same state of the request's context. Everything
that belongs to the other context is arbitrary in each copy. The results are then equal.
"""

from collections.abc import Iterable
from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.inbound_lookup import InboundLookup
from rtl.channel.link_merge import LinkMerge
from rtl.channel.monitor import ChannelMonitor
from rtl.channel.packet_check import PacketCheck
from rtl.channel.store_check import StoreCheck
from rtl.channel.store_router import StoreRouter
from rtl.interface.encodings import PacketKind, Target
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=3,
    wavefronts=2,
    context_bits=2,
    peers=3,
    sets=1,
    regions=2,
    ranges=2,
    commands=2,
)
_P_DATA = replace(_P, with_data=True)
_GEOMETRY = "2 contexts, 2 regions, 2 ranges, 2 commands, addresses of 6 bits, 8 workgroups"
_REASON = "the proof depends on no width"


class CheckHarness(Elaboratable):
    """Harness with two copies of a check that differ in the other context's admission state.

    Parameters
    ----------
    check : type
        Class of the check: stream ``i``, ``admissions``, and inputs that come from the location.
    inputs, outputs, streams : tuple of str
        Ports besides ``i`` and the admissions; ``streams`` are outputs.
    """

    def __init__(
        self,
        check: type,
        *,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        streams: tuple[str, ...] = ("o",),
    ):
        self._check, self._inputs, self._outputs = check, inputs, outputs
        self._streams = streams

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._check(_P)
        m.submodules.two = two = self._check(_P)
        free(m, one.i.valid, one.i.p)
        m.d.comb += [two.i.valid.eq(one.i.valid), two.i.p.eq(one.i.p)]
        for name in self._inputs:
            mine, same = getattr(one, name), getattr(two, name)
            free(m, mine)
            m.d.comb += Value.cast(same).eq(Value.cast(mine))
        owner = one.i.p.location.owner
        differs = _vary(m, owner, one.admissions, two.admissions)
        ports = [(getattr(one, name), getattr(two, name), name) for name in self._outputs]
        for name in self._streams:
            mine, yours = getattr(one, name), getattr(two, name)
            free(m, mine.ready)
            m.d.comb += yours.ready.eq(mine.ready)
            ports += [(mine.p, yours.p, name), (mine.valid, yours.valid, f"{name}: valid")]
        ports += [(one.i.ready, two.i.ready, "ready")]
        m.d.comb += Assert(one.report.owner == owner, "report: another context's error")
        m.d.comb += [
            Assert(Value.cast(mine) == Value.cast(yours), f"{name}: depends on another context")
            for mine, yours, name in ports
        ]
        m.d.comb += [
            Cover(moves(one.i) & ~one.drop & differs & (owner == number), f"{number}: passes")
            for number in range(_P.contexts)
        ]
        return m


class InboundHarness(Elaboratable):
    """Harness with two copies of the inbound filter that differ in the other context's table, which
    accept packets of peers only."""

    def __init__(self, lookup: type = InboundLookup):
        self._lookup = lookup

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._lookup(_P)
        m.submodules.two = two = self._lookup(_P)
        free(m, one.packet)
        m.d.comb += two.packet.eq(one.packet)
        owner, of_peer = one.packet.location.owner, Signal()
        differs = _vary(m, owner, one.tables, two.tables)
        for number, table in enumerate(one.tables):
            takes = Cat(
                (peer.rank == one.packet.source)
                & _permits(one.packet, peer.enable, peer.takes_stores, peer.takes_updates)
                for peer in table.peers
            )
            with m.If(owner == number):
                m.d.comb += of_peer.eq(takes.any())
        m.d.comb += [
            Assert(one.forbidden | of_peer, "a packet of no peer is accepted"),
            Assert(one.forbidden == two.forbidden, "forbidden: depends on another context"),
            Cover(differs & ~one.forbidden, "a packet passes"),
            Cover(differs & one.forbidden, "a packet is forbidden"),
        ]
        return m


class RouterHarness(Elaboratable):
    """Harness with two copies of the store router that differ in the other context's table, and in
    the space of the other context's queue and link."""

    def __init__(self, router: type = StoreRouter):
        self._router = router

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._router(_P)
        m.submodules.two = two = self._router(_P)
        free(m, one.i.valid, one.i.p, one.writes.ready, one.ends.ready)
        free(m, one.space, one.reports, two.space)
        m.d.comb += [
            two.reports.eq(one.reports),
            two.i.valid.eq(one.i.valid),
            two.i.p.eq(one.i.p),
            two.writes.ready.eq(one.writes.ready),
            two.ends.ready.eq(one.ends.ready),
        ]
        owner = one.i.p.owner
        differs = _vary(m, owner, one.tables, two.tables)
        for number, (mine, yours) in enumerate(zip(one.remote, two.remote, strict=True)):
            other = Signal(name=f"other_{number}")
            free(m, mine.ready, other)
            own = owner == number
            m.d.comb += [
                yours.ready.eq(Mux(own, mine.ready, other)),
                Assume(~own | (one.space[number] == two.space[number])),
                Assert(mine.valid == yours.valid, f"remote {number}: depends on another context"),
                Assert(~mine.valid | own, f"remote {number}: a store of another context"),
                Assert(
                    ~mine.valid | (mine.p == yours.p),
                    f"remote {number}: the packet depends on another context",
                ),
                Cover(moves(mine) & differs, f"{number}: a remote store"),
            ]
            for index, entry in enumerate(one.tables[number].ranges):
                slot = (one.i.p.dispatch_index + entry.slot_offset)[: len(mine.p.slot)]
                m.d.comb += Assert(
                    ~mine.valid
                    | (one.i.p.range != index)
                    | ((mine.p.peers == entry.peers) & (mine.p.slot == slot)),
                    f"remote {number}: peers or slot of another range",
                )
        remote = one.i.p.target == Target.REMOTE
        m.d.comb += [
            Assert(one.i.ready == two.i.ready, "ready: depends on another context"),
            Assert(one.refused == two.refused, "refused: depends on another context"),
            Assert(~one.refused | moves(one.i), "a refused store stays"),
            Cover(one.refused & differs, "a refused store"),
            Assert(one.writes.valid == two.writes.valid, "writes: depends on another context"),
            Assert(one.writes.p == two.writes.p, "writes: the access depends on another context"),
            Assert(one.ends.valid == two.ends.valid, "ends: depends on another context"),
            Assert(one.ends.p == two.ends.p, "ends: the marker depends on another context"),
            Cover(remote & one.i.p.end & moves(one.i) & differs, "the marker of a remote tile"),
            Cover(moves(one.i) & ~remote & differs, "another store"),
        ]
        return m


class LinkMergeHarness(Elaboratable):
    """Harness with arbitrary packets that wait until they are taken: each peer of a packet that may
    get its kind gets a copy, unless its own context aborts. Tables change at any time."""

    def __init__(self, merge: type = LinkMerge):
        self._merge = merge

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._merge(_P)
        free(m, dut.space, dut.tables, dut.o.ready)
        first, last = dut.merge.pick.first, dut.merge.last
        m.d.comb += invariant(last & (last - 1) == 0, "merge: two contexts sent last")
        m.d.comb += invariant(first & (first - 1) == 0, "pick: two contexts are first")
        m.d.comb += invariant(first.any(), "pick: no context is first")
        for number in range(_P.contexts):
            self._observe(m, dut, number)
        return m

    def _observe(self, m: Module, dut: LinkMerge, number: int) -> None:
        """Assert the copies of a context's packets."""
        remote, sends, own = dut.remote[number], dut.sends[number], dut.own[number]
        table, other = dut.tables[number], dut.tables[1 - number]
        waiting = [
            self._hold(m, one, f"{number}_{name}")
            for one, name in ((remote, "remote"), (sends, "sends"))
        ]
        given, of_lane = Signal(_P.peers, name=f"given_{number}"), Signal(name=f"of_lane_{number}")
        packet = Signal.like(remote.p, name=f"packet_{number}")
        left, lowest = (Signal(_P.peers, name=f"{name}_{number}") for name in ("left", "lowest"))
        sent, taken = Signal(name=f"sent_{number}"), Signal(name=f"taken_{number}")
        last = Signal(name=f"last_{number}")
        may_get = [
            _permits(packet, peer.enable, peer.sends_stores, peer.sends_updates)
            for peer in table.peers
        ]
        m.d.comb += [
            packet.eq(Mux(moves(own.b), Value.cast(sends.p), Value.cast(remote.p))),
            left.eq(packet.peers & Cat(may_get) & ~given),
            lowest.eq(left & -left),
            sent.eq(moves(dut.o) & (dut.o.p.owner == number)),
            taken.eq(moves(remote) | moves(sends)),
            last.eq((left & ~lowest) == 0),
        ]
        with m.If(taken):
            m.d.sync += given.eq(0)
        with m.Elif(sent):
            m.d.sync += [given.eq(given | lowest), of_lane.eq(moves(own.b))]
        copy = dut.o.p.packet
        same = Cat(
            Value.cast(copy[name]) == Value.cast(packet[name])
            for name in packet.shape().members
            if name != "peers"
        )
        addressed = [
            ~lowest[index] | ((copy.destination == peer.gpu) & (copy.context == peer.space))
            for index, peer in enumerate(table.peers)
        ]
        m.d.comb += [
            Assert(~(moves(remote) & moves(sends)), f"{number}: two packets at once"),
            Assert(~moves(remote) | moves(own.a), f"{number}: a packet is taken, but not seen"),
            Assert(~moves(sends) | moves(own.b), f"{number}: a packet is taken, but not seen"),
            Assert(~sent | (moves(own.a) | moves(own.b)), f"{number}: a copy of no packet"),
            Assert(~sent | left.any(), f"{number}: a copy for no peer"),
            Assert(~sent | Cat(same, *addressed).all(), f"{number}: another packet"),
            Assert(~sent | (copy.source == table.rank), f"{number}: another rank"),
            Assert(
                ~(sent & given.any()) | (of_lane == moves(own.b)),
                f"{number}: a packet between the copies of another one",
            ),
            Assert(
                ~taken | table.aborting | ~left.any() | (sent & last),
                f"{number}: a peer gets no copy",
            ),
            Assert(~(sent & last) | taken, f"{number}: a packet stays after its last copy"),
            Assert(~(sent & table.aborting), f"{number}: sent in an abort"),
            Cover(sent & other.aborting, f"{number}: sent while the other context aborts"),
            Cover(taken & ~sent & ~other.aborting & left.any(), f"{number}: dropped by an abort"),
            Cover(taken & ~sent & ~table.aborting, f"{number}: no peers"),
            Cover(taken & table.aborting & given.any(), f"{number}: aborted between two copies"),
            Cover(
                sent & given.any() & (packet.peers & ~left & ~given).any(),
                f"{number}: a peer that may not get the packet",
            ),
            Cover(
                sent & taken & given.any() & remote.valid & sends.valid,
                f"{number}: another packet waits for the copies",
            ),
        ]
        held = Mux(of_lane, waiting[1], waiting[0])
        m.d.comb += [
            invariant(dut.served[number] == given, f"{number}: served"),
            invariant(~given.any() | (own.last == of_lane), f"{number}: last"),
            invariant(
                ~given.any() | ((given & held == given) & (given != held)),
                f"{number}: no packet with these copies",
            ),
        ]

    def _hold(self, m: Module, port, name: str) -> Signal:
        """Offer an arbitrary packet until it is taken; return the peers of the packet that was not
        taken in the last cycle, or 0."""
        free(m, port.valid, port.p)
        offered, before = Signal(name=f"{name}_offered"), Signal.like(port.p, name=f"{name}_before")
        m.d.sync += [offered.eq(port.valid & ~port.ready), before.eq(port.p)]
        m.d.comb += Assume(~offered | (port.valid & (port.p == before)))
        peers = Signal(_P.peers, name=f"{name}_peers")
        m.d.comb += peers.eq(Mux(offered, before.peers, 0))
        return peers


def _permits(packet, enable: Value, stores: Value, updates: Value) -> Value:
    """Signal that a peer's permissions allow a packet; a marker belongs to stores or to updates."""
    is_update = packet.kind == PacketKind.UPDATE
    is_store = (packet.kind == PacketKind.STORE) | (packet.kind == PacketKind.PLACE)
    return enable & Mux(is_store, stores, Mux(is_update, updates, stores | updates))


class MonitorHarness(Elaboratable):
    """Harness with two copies of the channel's monitor whose events of one context are equal."""

    def __init__(self, monitor: type = ChannelMonitor):
        self._monitor = monitor

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._monitor(_P_DATA)
        m.submodules.two = two = self._monitor(_P_DATA)
        owner = 1  # the context that is compared; the other one is arbitrary in each copy
        # The inbound queue is in order of arrival: each context waits for what is before it.
        for name in ("memory_owes", "inbound", "checked"):
            free(m, getattr(one, name))
            m.d.comb += getattr(two, name).eq(getattr(one, name))
        free(m, one.changes, two.changes)
        for name in _EVENTS:
            for dut in (one, two):
                free(m, getattr(dut, name))
            mine, yours = (_is_of(getattr(dut, name), owner) for dut in (one, two))
            m.d.comb += Assume(mine == yours)
        free(m, one.count, two.count, one.lane_idle, two.lane_idle, one.remote, two.remote)
        m.d.comb += [
            Assume(~_is_of(one.counted, owner) | (one.count == two.count)),
            Assume(one.lane_idle[owner] == two.lane_idle[owner]),
            Assume(one.remote[owner] == two.remote[owner]),
            Assume(one.changes[owner] == two.changes[owner]),
        ]
        for name in ("dma_idle", "idle", "drained", "stores_drained"):
            mine, yours = getattr(one, name)[owner], getattr(two, name)[owner]
            m.d.comb += [
                Assert(mine == yours, f"{name}: depends on another context"),
                Cover(mine & ~getattr(one, name)[0], f"{name}: of this context only"),
                Cover(~mine & getattr(one, name)[0], f"{name}: of the other context only"),
            ]
        stale = one.stale
        m.d.comb += [
            Assert(stale == two.stale, "stale: depends on a context"),
            Assert(~stale | ~one.drained.any(), "drained while the memory owes something"),
            Assert(~stale | ~one.idle.any(), "idle while the memory owes something"),
            Cover(~stale & one.memory_owes, "the memory owes nothing from before the reset"),
        ]
        pairs = [
            (getattr(one, name)[owner], getattr(two, name)[owner]) for name in ("on_link", "older")
        ]
        for name in ("outstanding", "copies_outstanding", "unreduced"):
            mine, yours = (getattr(dut, name)[owner] for dut in (one, two))
            pairs += [
                (getattr(mine, register), getattr(yours, register))
                for register in ("count", "begun", "ended", "ended_together")
            ]
        m.d.comb += [
            invariant(mine == yours, f"state {index}: depends on another context")
            for index, (mine, yours) in enumerate(pairs)
        ]
        return m


_EVENTS = (
    "store", "update", "copy", "store_retired", "routed", "marked", "lost", "counted", "written",
    "to_link", "from_link", "updated", "reduced",
)  # fmt: skip


def _is_of(event, owner: int) -> Value:
    return event.valid & (event.owner == owner)


def _vary(m: Module, owner: Value, one: Iterable, two: Iterable) -> Signal:
    """Make the owner's element of two arrays equal, and the others arbitrary; signal that others
    differ."""
    differs = Signal()
    different = []
    for number, (mine, yours) in enumerate(zip(one, two, strict=True)):
        other = Signal.like(Value.cast(mine), name=f"other_{number}")
        free(m, mine, other)
        m.d.comb += Value.cast(yours).eq(Mux(owner == number, Value.cast(mine), other))
        different.append(Value.cast(mine) != Value.cast(yours))
    m.d.comb += differs.eq(Cat(different).any())
    return differs


def _proof(name: str, noun: str, block: type, harness, *, depth: int = 1, cover: int = 1) -> Proof:
    return Proof(
        name=f"noninterference-{name}",
        statement=noun,
        blocks=(block,),
        harness=harness,
        geometry=_GEOMETRY,
        reason=_REASON,
        depth=depth,
        cover_depth=cover,
    )


def _packet_check(check: type = PacketCheck) -> CheckHarness:
    inputs = ("action", "shares", "op", "dtype", "beyond", "forbidden")
    outputs = ("drop", "causes", "report")
    return CheckHarness(check, inputs=inputs, outputs=outputs, streams=("o", "ends"))


def _store_check(check: type = StoreCheck) -> CheckHarness:
    inputs = ("action", "range", "shares", "op", "dtype", "beyond")
    return CheckHarness(check, inputs=inputs, outputs=("drop", "retires", "causes", "report"))


PROOFS = (
    _proof(
        "packet-check",
        "The check of a packet does not depend on launch, window, generation or abort of another "
        "context",
        PacketCheck,
        _packet_check,
    ),
    _proof(
        "store-check",
        "The check of a store does not depend on launch, window, generation or abort of another "
        "context",
        StoreCheck,
        _store_check,
    ),
    _proof(
        "inbound-lookup",
        "The inbound filter's decision on a packet does not depend on another context's table; "
        "it accepts a packet only from the rank of an enabled peer of the packet's context from "
        "which the context takes its kind",
        InboundLookup,
        InboundHarness,
    ),
    _proof(
        "store-router",
        "The target of a store, and the time that it waits there, do not depend on another "
        "context's tables, abort or queue; its packet has the peers and the slot offset of the "
        "store's range",
        StoreRouter,
        RouterHarness,
    ),
    _proof(
        "link-merge",
        "A packet goes only to enabled peers of its own context that it names and that may get "
        "its kind; when it is taken, each of them has got one copy, the lowest first and without "
        "a packet of the context in between, unless its own context aborts",
        LinkMerge,
        LinkMergeHarness,
        cover=3,
    ),
    _proof(
        "monitor",
        "Idle and drained of a context do not depend on another context's events",
        ChannelMonitor,
        MonitorHarness,
        cover=4,
    ),
)
