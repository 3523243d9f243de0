"""Check of stores against the state and the tables of their context."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Action, Datatype, ErrorCode, Operation, StoreKind, Target
from rtl.interface.layouts import Classified, ErrorReport, Marker
from rtl.parameters import T3Parameters

from .admission import Admission, is_aborted, is_ahead, is_late, is_of_launch, is_updated
from .payloads import LocatedStore

__all__ = ["STORE_ERRORS", "StoreCheck"]

STORE_ERRORS = (
    ErrorCode.STORE_STALE,
    ErrorCode.STORE_MISMATCH,
    ErrorCode.STORE_LATE,
    ErrorCode.STORE_AHEAD,
)


class StoreCheck(wiring.Component):
    """Store check: classifies stores, and detects errors.

    Combinational. A dropped store, like any other, is taken when ``o`` is ready.

    Members
    -------
    i : In(stream)
        Stores with their locations.
    action, range, shares, op, dtype, beyond : In
        Result of :class:`RangeLookup` for the location; ``range`` is the number.
    admissions : In(array of :func:`Admission`)
    o : Out(stream)
        Stores with their targets.
    drop : Out(1)
        Discard the store at ``o``.
    retires : Out(1)
        The store no longer counts as outstanding once it is taken: it is dropped, or an ordinary
        write.
    causes : Out(4)
        Causes of an error of the store, in the order of ``STORE_ERRORS``.
    report : Out(:func:`ErrorReport`)
        Report of the store, without the code.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "i": In(stream.Signature(LocatedStore(p))),
                "action": In(Action),
                "range": In(Classified(p)["range"].shape),
                "shares": In(p.share_bits),
                "op": In(Operation),
                "dtype": In(Datatype),
                "beyond": In(1),
                "admissions": In(data.ArrayLayout(Admission(p), p.contexts)),
                "o": Out(stream.Signature(Classified(p))),
                "drop": Out(1),
                "retires": Out(1),
                "causes": Out(len(STORE_ERRORS)),
                "report": Out(ErrorReport(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        store, location, admissions = self.i.p, self.i.p.location, self.admissions
        stale, late, ahead = Signal(), Signal(), Signal()
        m.d.comb += [
            stale.eq(~is_of_launch(admissions, location, store.generation)),
            late.eq(is_late(admissions, location, store.dispatch_index)),
            ahead.eq(is_ahead(admissions, location, store.dispatch_index)),
        ]
        end, keep = Signal(), Signal()
        tracked, aborted = is_updated(self.action), is_aborted(admissions, location)
        is_remote = self.action == Action.REMOTE
        is_t3s = tracked | is_remote
        m.d.comb += [
            end.eq(store.kind == StoreKind.END_OF_TILE),
            keep.eq(
                Mux(tracked, ~self.beyond & ~late & ~ahead, ~end | is_remote)
                & ~(is_t3s & (aborted | stale))
            ),
            self.o.valid.eq(self.i.valid),
            self.drop.eq(~keep),
            # A dropped store waits as well, since `drop` arrives late.
            self.i.ready.eq(self.o.ready),
            self.retires.eq(~keep | (self.o.p.target == Target.WRITE)),
            self.causes.eq(
                Mux(
                    aborted,
                    0,
                    Cat(is_t3s & stale, tracked & self.beyond, tracked & late, tracked & ahead),
                ),
            ),
            self.report.owner.eq(location.owner),
            self.report.dispatch_index.eq(store.dispatch_index),
            self.report.wavefront.eq(store.wavefront),
            self.report.atom.eq(store.atom),
        ]
        self._classify(m, tracked, end)
        return m

    def _classify(self, m: Module, tracked: Value, end: Value) -> None:
        store, out = self.i.p, self.o.p
        names = ("atom", "generation", "dispatch_index", "wavefront", "data")
        names += tuple(Marker(self._p).members)
        m.d.comb += [out[name].eq(store[name]) for name in names]
        m.d.comb += [
            out.owner.eq(store.location.owner),
            out.end.eq(end),
            out.total.eq(self.shares),
            out.range.eq(self.range),
            out.op.eq(self.op),
            out.dtype.eq(self.dtype),
        ]
        with m.If(tracked):
            m.d.comb += out.target.eq(Mux(end, Target.END_OF_TILE, Target.UPDATE))
        with m.Elif(self.action == Action.REMOTE):
            m.d.comb += out.target.eq(Target.REMOTE)
        with m.Else():
            m.d.comb += out.target.eq(Target.WRITE)
