"""Check of packets against the state and the tables of their context."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Access, Action, Datatype, ErrorCode, Operation, PacketKind
from rtl.interface.layouts import ErrorReport, Marker
from rtl.parameters import T3Parameters

from .admission import (
    Admission,
    is_aborted,
    is_ahead,
    is_end,
    is_late,
    is_of_former,
    is_of_launch,
    is_tracked,
)
from .payloads import EndOfTileMarker, LocatedPacket, WriteRequest

__all__ = ["PACKET_ERRORS", "PacketCheck"]

PACKET_ERRORS = (
    ErrorCode.PACKET_FORBIDDEN,
    ErrorCode.PACKET_STALE,
    ErrorCode.PACKET_UNMAPPED,
    ErrorCode.PACKET_MISMATCH,
    ErrorCode.PACKET_LATE,
    ErrorCode.PACKET_AHEAD,
)


class PacketCheck(wiring.Component):
    """Packet check: turns packets into updates, writes and end-of-tile markers, and detects errors.

    Combinational. A dropped packet, like any other, is taken when ``o``, or ``ends`` for an
    end-of-tile marker, is ready.

    Members
    -------
    i : In(stream)
        Packets with their locations.
    action, shares, op, dtype, beyond : In
        Result of :class:`RangeLookup` for the location.
    forbidden : In(1)
        Result of :class:`InboundLookup`.
    admissions : In(array of :func:`Admission`)
    o : Out(stream)
        Accesses for the DRAM.
    ends : Out(stream)
        End-of-tile markers.
    drop : Out(1)
        Discard the access at ``o``, or the marker at ``ends``.
    causes : Out(6)
        Causes of an error of the packet, in the order of ``PACKET_ERRORS``.
    report : Out(:func:`ErrorReport`)
        Report of the packet, without the code.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "i": In(stream.Signature(LocatedPacket(p))),
                "action": In(Action),
                "shares": In(p.share_bits),
                "op": In(Operation),
                "dtype": In(Datatype),
                "beyond": In(1),
                "forbidden": In(1),
                "admissions": In(data.ArrayLayout(Admission(p), p.contexts)),
                "o": Out(stream.Signature(WriteRequest(p))),
                "ends": Out(stream.Signature(EndOfTileMarker(p))),
                "drop": Out(1),
                "causes": Out(len(PACKET_ERRORS)),
                "report": Out(ErrorReport(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        packet, location, admissions = self.i.p, self.i.p.location, self.admissions
        end, tracked, stale, other, late, ahead = (
            Signal(name=name) for name in ("end", "tracked", "stale", "other", "late", "ahead")
        )
        is_update = packet.kind == PacketKind.UPDATE
        differs = is_update & ((packet.op != self.op) | (packet.dtype != self.dtype))
        m.d.comb += [
            end.eq(is_end(packet)),
            tracked.eq(is_tracked(self.action, self.shares)),
            other.eq(differs | self.beyond),
            late.eq(is_late(admissions, location, packet.slot)),
            ahead.eq(is_ahead(admissions, location, packet.slot)),
        ]
        of_launch = is_of_launch(admissions, location, packet.generation)
        of_former = is_of_former(admissions, location, packet.generation)
        aborted, keep = is_aborted(admissions, location), Signal()
        permitted = ~self.forbidden
        with m.If(packet.kind == PacketKind.STORE):
            m.d.comb += [
                stale.eq(packet.early | ~of_launch & ~of_former),
                keep.eq(location.mapped & permitted & ~stale & ~aborted),
            ]
        with m.Else():
            m.d.comb += [
                stale.eq(packet.early | ~of_launch),
                keep.eq(tracked & permitted & ~stale & ~other & ~late & ~ahead & ~aborted),
            ]
        m.d.comb += [
            self.o.valid.eq(self.i.valid & ~end),
            self.ends.valid.eq(self.i.valid & end),
            self.drop.eq(~keep),
            # A dropped packet waits as well, since `drop` arrives late.
            self.i.ready.eq(Mux(end, self.ends.ready, self.o.ready)),
        ]
        is_counted, mapped = packet.kind != PacketKind.STORE, location.mapped
        causes = Cat(
            mapped & self.forbidden,
            mapped & stale,
            Mux(is_counted, ~tracked, ~mapped),
            is_counted & other,
            is_counted & late,
            is_counted & ahead,
        )
        m.d.comb += self.causes.eq(Mux(aborted, 0, causes))
        self._access(m)
        self._report(m)
        return m

    def _access(self, m: Module) -> None:
        packet, out = self.i.p, self.o.p
        m.d.comb += [
            out.access.eq(Access.WRITE),
            out.atom.eq(packet.atom),
            out.data.eq(packet.data),
            out.owner.eq(packet.location.owner),
        ]
        with m.If(packet.kind != PacketKind.STORE):
            m.d.comb += [
                # A marker has no access.
                out.access.eq(Mux(packet.kind == PacketKind.PLACE, Access.PLACE, Access.UPDATE)),
                out.dispatch_index.eq(packet.slot),
                out.wavefront.eq(packet.wavefront),
                out.op.eq(packet.op),
                out.dtype.eq(packet.dtype),
            ]

        end, marker = self.ends.p, data.View(Marker(self._p), packet.atom[: Marker(self._p).size])
        m.d.comb += [
            end.owner.eq(packet.location.owner),
            end.dispatch_index.eq(packet.slot),
            end.wavefront.eq(packet.wavefront),
            end.total.eq(self.shares),
        ]
        m.d.comb += [end[name].eq(marker[name]) for name in marker.shape().members]

    def _report(self, m: Module) -> None:
        packet, report = self.i.p, self.report
        m.d.comb += [
            report.owner.eq(packet.location.owner),
            report.dispatch_index.eq(packet.slot),
            report.wavefront.eq(packet.wavefront),
            report.atom.eq(packet.atom),
            report.source.eq(packet.source),
            report.unowned.eq(packet.unowned),
        ]
