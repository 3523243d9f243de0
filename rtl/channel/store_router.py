"""Router of classified stores to the queues of their targets."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import CommandEntry, RangeEntry
from rtl.interface.encodings import Access, PacketKind, Target, sent_kind
from rtl.interface.layouts import Classified, ErrorReport, Marker, Packet
from rtl.lib.select import one_hot_select, select_at
from rtl.parameters import T3Parameters

from .payloads import EndOfTileMarker, WriteRequest

__all__ = ["RemoteTable", "StoreRouter", "remote_table_of"]

_OF_COMMAND = ("kind", "marks", "atom_offset")


def RemoteTable(p: T3Parameters):
    """Routing table of a context's remote stores: command, peers and slot offset of each range, and
    the commands."""
    entry, command = RangeEntry(p).members, CommandEntry(p).members
    of_range = {"command": entry["command"], "peers": p.peers, "slot_offset": p.dispatch_index_bits}
    of_command = {name: command[name] for name in _OF_COMMAND}
    return data.StructLayout(
        {
            "aborting": 1,
            "ranges": data.ArrayLayout(data.StructLayout(of_range), p.ranges),
            "commands": data.ArrayLayout(data.StructLayout(of_command), p.commands),
        }
    )


def remote_table_of(view: data.View) -> Value:
    """Extract a context's :func:`RemoteTable` from its view."""
    ranges = (
        # A slot has one bit less than the offset.
        Cat(entry.command, entry.peers, entry.slot_offset[:-1])
        for entry in view.maps.ranges
    )
    commands = (command[name] for command in view.maps.commands for name in _OF_COMMAND)
    return Cat(view.aborting, *ranges, *commands)


class StoreRouter(wiring.Component):
    """Store router: turns each store into an access, an end-of-tile marker or a packet.

    Combinational. A store waits only for its own target. The marker of a remote store's tile leaves
    as an END packet if its command marks tiles, and is dropped otherwise. A packet of an aborting
    context is dropped. A packet that finds the queue of its context full is refused while the link
    has no space for the context, since it would hold up the stores of all contexts until there is
    space.

    Members
    -------
    i : In(stream)
        Stores with their targets.
    tables : In(array of :func:`RemoteTable`)
        Routing table of each context.
    writes : Out(stream)
        Accesses for the DRAM.
    ends : Out(stream)
        End-of-tile markers.
    remote : Out(stream).array(contexts)
        Packets of each context.
    space : In(contexts)
        The link has space for packets of the context.
    reports : In(1)
        A refusal can be reported in this cycle.
    refused : Out(1)
        The store is dropped in this cycle, with an error.
    report : Out(:func:`ErrorReport`)
        Report of the store, without the code.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "i": In(stream.Signature(Classified(p))),
                "tables": In(data.ArrayLayout(RemoteTable(p), p.contexts)),
                "writes": Out(stream.Signature(WriteRequest(p))),
                "ends": Out(stream.Signature(EndOfTileMarker(p))),
                "remote": Out(stream.Signature(Packet(p))).array(p.contexts),
                "space": In(p.contexts),
                "reports": In(1),
                "refused": Out(1),
                "report": Out(ErrorReport(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ranges, commands = self._choose(m)
        marks = one_hot_select(commands, self._of_commands("marks"))
        self._route(m, marks)
        self._write(m)
        self._send(m, ranges, commands)
        m.d.comb += [self.ends.p[name].eq(self.i.p[name]) for name in self.ends.p.shape().members]
        names = ("owner", "dispatch_index", "wavefront", "atom")
        m.d.comb += [self.report[name].eq(self.i.p[name]) for name in names]
        return m

    def _choose(self, m: Module) -> tuple[Signal, Signal]:
        """Find the store's range and its command among those of all contexts; both are one-hot."""
        store, tables = self.i.p, self.tables
        ranges = Signal(sum(len(table.ranges) for table in tables))
        commands = Signal(sum(len(table.commands) for table in tables))
        hits = [
            (store.owner == number) & (store.range == index)
            for number, table in enumerate(tables)
            for index in range(len(table.ranges))
        ]
        m.d.comb += ranges.eq(Cat(hits))
        chosen, own = [], iter(ranges)
        for table in tables:
            of_table = [(next(own), entry.command) for entry in table.ranges]
            # Each command is compared before the range is known.
            chosen += [
                Cat(hit & (command == index) for hit, command in of_table).any()
                for index in range(len(table.commands))
            ]
        m.d.comb += commands.eq(Cat(chosen))
        return ranges, commands

    def _of_ranges(self, name: str) -> list[Value]:
        """List a field of the ranges of all contexts."""
        return [entry[name] for table in self.tables for entry in table.ranges]

    def _of_commands(self, name: str) -> list[Value]:
        """List a field of the commands of all contexts."""
        return [command[name] for table in self.tables for command in table.commands]

    def _route(self, m: Module, marks: Value) -> None:
        store = self.i.p
        with m.Switch(store.target):
            for targets, port in (
                ((Target.WRITE, Target.UPDATE), self.writes),
                ((Target.END_OF_TILE,), self.ends),
            ):
                with m.Case(*targets):
                    m.d.comb += [port.valid.eq(self.i.valid), self.i.ready.eq(port.ready)]
            with m.Case(Target.REMOTE):
                dropped = [table.aborting | (store.end & ~marks) for table in self.tables]
                # A dropped packet counts as ready.
                ready = [
                    port.ready | drops for port, drops in zip(self.remote, dropped, strict=True)
                ]
                refuses = self.reports & ~select_at(store.owner, Cat(ready) | self.space)
                m.d.comb += [
                    self.refused.eq(self.i.valid & refuses),
                    self.i.ready.eq(select_at(store.owner, ready) | refuses),
                ]
                m.d.comb += [
                    port.valid.eq(self.i.valid & (store.owner == number) & ~drops)
                    for number, (port, drops) in enumerate(zip(self.remote, dropped, strict=True))
                ]

    def _write(self, m: Module) -> None:
        store, written = self.i.p, self.writes.p
        m.d.comb += [
            written.access.eq(Access.WRITE),
            written.atom.eq(store.atom),
            written.data.eq(store.data),
        ]
        with m.If(store.target == Target.UPDATE):
            m.d.comb += [
                written.access.eq(Access.UPDATE),
                written.owner.eq(store.owner),
                written.dispatch_index.eq(store.dispatch_index),
                written.wavefront.eq(store.wavefront),
                written.op.eq(store.op),
                written.dtype.eq(store.dtype),
            ]

    def _send(self, m: Module, ranges: Value, commands: Value) -> None:
        """Make the packet from the range and the command of this cycle."""
        store, packet = self.i.p, Signal(Packet(self._p))
        kinds = [
            sent_kind(command.kind, command.marks)
            for table in self.tables
            for command in table.commands
        ]
        kind = one_hot_select(commands, kinds)
        names = ("generation", "wavefront", "data", "op", "dtype")
        m.d.comb += [packet[name].eq(store[name]) for name in names]
        m.d.comb += [
            Value.cast(packet.kind).eq(Mux(store.end, PacketKind.END, kind)),
            packet.peers.eq(one_hot_select(ranges, self._of_ranges("peers"))),
            packet.slot.eq(
                store.dispatch_index + one_hot_select(ranges, self._of_ranges("slot_offset"))
            ),
            packet.atom.eq(
                Mux(
                    store.end,
                    Cat(store[name] for name in Marker(self._p).members),
                    store.atom + one_hot_select(commands, self._of_commands("atom_offset")),
                )
            ),
        ]
        m.d.comb += [port.p.eq(packet) for port in self.remote]
