"""Hold of a context's regions: a region stays its context's until no access can name it."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import RegionEntry
from rtl.parameters import T3Parameters

from .foreign_regions import Claims

__all__ = ["RegionHold"]


class RegionHold(wiring.Component):
    """Hold of a context's regions while its accesses may name them.

    Accesses of a launch name active regions, and copies the regions that were programmed when the
    copies were started. A launch that changes or removes an active region therefore begins in two
    steps: it *closes* these regions, so that no request enters them, and begins when the context
    has drained. A launch that keeps the active regions does not wait.

    Members
    -------
    programmed, active : In(array of :func:`RegionEntry`)
        Regions of the next launch and of the current one.
    removes : In(regions)
        An enabled programmed region is removed in this cycle.
    launched, aborting : In(1)
        A launch began since the last abort; an abort is in progress.
    pending, ready, takes : In(1)
        A launch is pending; it may begin if it need not wait here; it begins.
    copies : In(1)
        A copy waits for the DMA engine.
    dma_idle, drained : In(1)
        See :class:`~rtl.registers.context_signature.ContextRegistersSignature`.
    closes : Out(regions)
        The active regions that the pending launch changes or removes. They are disabled when the
        launch is ``ready``.
    waits : Out(1)
        The pending launch has to wait.
    fixed : Out(regions)
        Copies may still read the programmed region, or one that was removed there, and it is not
        active, so that it must not be replaced by another one.
    claims : Out(:func:`Claims`)
    closing : Out(1)
        Regions were closed so shortly before that ``drained`` does not cover all requests in them.
    was_reading : Out(1)
        Copies could still read the regions that they name, in the last cycle. Register.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    reading : Signal
        Copies may still read the regions that they name. Combinational.
    kept : Signal
        Programmed regions that were removed, and that copies may still read.
    closed : Signal
        Active regions that were closed.
    settled : Signal
        Closed regions have been closed for so long that ``drained`` covers all requests in them.
    """

    def __init__(self, p: T3Parameters):
        regions = data.ArrayLayout(RegionEntry(p), p.regions)
        super().__init__(
            {
                "programmed": In(regions),
                "active": In(regions),
                "removes": In(p.regions),
                "launched": In(1),
                "aborting": In(1),
                "pending": In(1),
                "ready": In(1),
                "takes": In(1),
                "copies": In(1),
                "dma_idle": In(1),
                "drained": In(1),
                "closes": Out(p.regions),
                "waits": Out(1),
                "fixed": Out(p.regions),
                "claims": Out(Claims(p)),
                "closing": Out(1),
                "was_reading": Out(1),
            }
        )
        self.reading, self.settled = Signal(), Signal()
        self.kept, self.closed = Signal(p.regions), Signal(p.regions)

    def elaborate(self, platform):
        m = Module()
        closed, in_use = self.closed, self.launched | self.aborting
        # After an abort, packets that wait for the link hold data that has been read.
        read = self.dma_idle | self.drained
        m.d.comb += self.reading.eq(self.copies | (self.was_reading & ~read))
        m.d.sync += self.was_reading.eq(self.reading)
        with m.If(self.reading):
            m.d.sync += self.kept.eq(self.kept | self.removes)
        with m.Elif(self.was_reading):
            m.d.sync += self.kept.eq(0)
        pairs = list(zip(self.programmed, self.active, strict=True))
        for index, (programmed, active) in enumerate(pairs):
            same, claimed = Signal(name=f"same_{index}"), Signal(name=f"claimed_{index}")
            claim, claim_in_use = self.claims[index], self.claims[len(pairs) + index]
            m.d.comb += [
                same.eq((programmed.base == active.base) & (programmed.limit == active.limit)),
                claimed.eq(programmed.enable | self.kept[index]),
                self.fixed[index].eq(self.reading & claimed & ~(in_use & active.enable & same)),
                self.closes[index].eq(self.launched & active.enable & ~(programmed.enable & same)),
                claim.eq(programmed),
                claim.enable.eq(claimed),
                claim_in_use.eq(active),
                claim_in_use.enable.eq((active.enable | closed[index]) & in_use),
            ]
        m.d.comb += self.closing.eq(closed.any() & ~self.settled)
        waits = Cat(self.closes, closed.any() & ~(self.settled & self.drained)).any()
        m.d.comb += self.waits.eq(self.launched & waits)
        # A request that came in the cycle in which its region was closed counts two cycles later.
        with m.If(self.pending):
            m.d.sync += self.settled.eq(closed.any())
        with m.If(self.takes):
            m.d.sync += [closed.eq(0), self.settled.eq(0)]
        with m.Elif(self.ready):
            m.d.sync += closed.eq(closed | self.closes)
        return m
