"""Buffer of issue acknowledgements in front of the queue that merges them into events."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import IssueAck
from rtl.interface.signatures import ErrorSignature
from rtl.lib.injection import InjectSignature
from rtl.lib.protected_queue import ProtectedQueue
from rtl.parameters import T3Parameters

__all__ = ["IssueAckBuffer"]


class IssueAckBuffer(wiring.Component):
    """Buffer for bursts of issue acknowledgements, so that the DRAM need not wait for the tracker.

    An issue acknowledgement passes straight through while the buffer is empty and ``o`` is ready;
    otherwise it waits in a memory with check bits.

    Parameters
    ----------
    depth : int
        Issue acknowledgements in the memory.

    Members
    -------
    i : In(stream)
        Issue acknowledgements; ``ready`` is a register.
    o : Out(stream)
        ``valid`` depends combinationally on ``i.valid`` and on ``o.ready``.
    error : Out(:class:`ErrorSignature`)
        An issue acknowledgement was lost to bit errors; reports its owner, and its tile as it was
        read.
    leaves : Out(1)
        An issue acknowledgement leaves the memory in this cycle; arrives earlier than ``error``.
    corrected : Out(1)
        A bit error was corrected in this cycle.
    inject : In(:class:`InjectSignature`)
        Injects bit errors into the next issue acknowledgement that waits.
    empty : Out(1)
        No issue acknowledgement waits.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    waiting : ProtectedQueue
    """

    def __init__(self, p: T3Parameters, *, depth: int):
        super().__init__(
            {
                "i": In(stream.Signature(IssueAck(p))),
                "o": Out(stream.Signature(IssueAck(p))),
                "error": Out(ErrorSignature(p)),
                "leaves": Out(1),
                "corrected": Out(1),
                "inject": In(InjectSignature()),
                "empty": Out(1),
                "clock_enable": Out(1),
            }
        )
        # A loss is reported to the owner, and ends one of the owner's updates.
        self.waiting = ProtectedQueue(IssueAck(p), depth=depth, sure=("owner",))

    def elaborate(self, platform):
        m = Module()
        m.submodules.waiting = waiting = self.waiting
        wiring.connect(m, wiring.flipped(self.inject), waiting.inject)
        straight = waiting.empty & self.o.ready
        m.d.comb += [
            self.i.ready.eq(waiting.i.ready),
            waiting.i.p.eq(self.i.p),
            waiting.i.valid.eq(self.i.valid & ~straight),
            waiting.o.ready.eq(self.o.ready),
            self.o.valid.eq(waiting.o.valid | (self.i.valid & straight)),
            self.o.p.eq(Mux(waiting.o.valid, waiting.o.p, self.i.p)),
            self.leaves.eq(waiting.leaves),
            self.corrected.eq(waiting.corrected),
            self.empty.eq(waiting.empty),
            self.clock_enable.eq(waiting.clock_enable),
            self.error.valid.eq(waiting.lost),
            self.error.report.eq(
                Cat(
                    Const(ErrorCode.TRACKER_CORRUPT),
                    waiting.suspect.owner,
                    waiting.suspect.dispatch_index,
                    waiting.suspect.wavefront,
                )
            ),
        ]
        return m
