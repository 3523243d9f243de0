"""A long queue, in a memory with check bits."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from .queue import Queue
from .secded import SecdedCheck, code_word, encode

__all__ = ["ProtectedQueue"]


class ProtectedQueue(wiring.Component):
    """First-in first-out queue whose payloads are in a memory, and corrected on their way out.

    What comes in one cycle is visible three cycles later. A payload with one wrong bit is
    corrected, one with more is dropped.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads in the memory.

    Members
    -------
    i, o : stream
        ``i.ready`` and ``o.valid`` are registers.
    empty : Out(1)
        Nothing is here.
    corrected, lost : Out(1)
        In this cycle, a payload was corrected, or dropped.
    suspect : Out(shape)
        With ``lost``: the payload as far as it can be read.
    """

    def __init__(self, shape, *, depth: int):
        self._shape, self._depth = shape, depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "empty": Out(1),
                "corrected": Out(1),
                "lost": Out(1),
                "suspect": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = SyncFIFOBuffered(
            width=code_word(self._shape).size, depth=self._depth
        )
        m.submodules.check = check = SecdedCheck(self._shape)
        m.submodules.checked = checked = Queue(self._shape, depth=2)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        payload = Value.cast(self.i.p)
        leaves = words.r_rdy & words.r_en
        m.d.comb += [
            words.w_data.eq(Cat(payload, encode(payload))),
            words.w_en.eq(self.i.valid),
            self.i.ready.eq(words.w_rdy),
            Value.cast(check.i).eq(words.r_data),
            words.r_en.eq(checked.i.ready),
            checked.i.p.eq(check.o),
            checked.i.valid.eq(words.r_rdy),
            checked.drop.eq(check.lost),
            self.empty.eq((words.level == 0) & ~checked.o.valid),
            self.corrected.eq(leaves & check.corrected),
            self.lost.eq(leaves & check.lost),
            self.suspect.eq(check.i.word),
        ]
        return m
