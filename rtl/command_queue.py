"""Ready DMA commands that wait for the engine."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from .encodings import ErrorCode
from .layouts import ReadyCommand
from .parameters import T3Parameters
from .queue import Queue
from .secded import SecdedCheck, code_word, encode
from .signatures import ErrorSignature

__all__ = ["CommandQueue"]


class CommandQueue(wiring.Component):
    """A queue of ``command_depth`` commands in a memory with check bits.

    A command is visible three cycles after it came. One with a wrong bit is corrected on its way
    out; one with more is dropped and reported.

    Parameters
    ----------
    p : :class:`T3Parameters`

    Members
    -------
    i, o : stream
    empty : Out(1)
        No command is here.
    error : Out(:class:`ErrorSignature`)
        Of a dropped command, with its tile as far as it can be read.
    corrected : Out(1)
        In this cycle, a wrong bit was corrected.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "i": In(stream.Signature(ReadyCommand(p))),
                "o": Out(stream.Signature(ReadyCommand(p))),
                "empty": Out(1),
                "error": Out(ErrorSignature(p)),
                "corrected": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = ReadyCommand(self._p)
        m.submodules.words = words = SyncFIFOBuffered(
            width=code_word(shape).size, depth=self._p.command_depth
        )
        m.submodules.check = check = SecdedCheck(shape)
        m.submodules.checked = checked = Queue(shape, depth=2)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        command = Value.cast(self.i.p)
        m.d.comb += [
            words.w_data.eq(Cat(command, encode(command))),
            words.w_en.eq(self.i.valid),
            self.i.ready.eq(words.w_rdy),
            Value.cast(check.i).eq(words.r_data),
            words.r_en.eq(checked.i.ready),
            checked.i.p.eq(check.o),
            checked.i.valid.eq(words.r_rdy),
            checked.drop.eq(check.lost),
            self.empty.eq((words.level == 0) & ~checked.o.valid),
            self.corrected.eq(words.r_rdy & words.r_en & check.corrected),
            self.error.valid.eq(words.r_rdy & words.r_en & check.lost),
            self.error.report.code.eq(ErrorCode.TRIGGER_CORRUPT),
            self.error.report.place.eq(check.i.word.place),
            self.error.report.wavefront.eq(check.i.word.wavefront),
        ]
        return m
