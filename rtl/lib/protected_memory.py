"""Memory with check bits, scrubbing and error injection."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .injection import Injector, InjectSignature
from .scrubber import Scrubber
from .secded import SecdedCheck, code_word, encode

__all__ = ["ProtectedMemory"]


class ProtectedMemory(wiring.Component):
    """Memory with check bits: one read and one write per cycle.

    A read does not see a write of the same cycle.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Word.
    depth : int
        Words, at least 2.

    Members
    -------
    read_address, read : In
    o : Out(shape)
        Word, in the cycle after ``read``, with a single-bit error corrected. Invalid with ``lost``.
    corrected, lost : Out(1)
        ``o`` had a single-bit error; ``o`` had an uncorrectable error.
    write_address, write, i : In
    inject : In(:class:`InjectSignature`)
        Injects bit errors into the next word written.
    scrub : In(1)
        Strobe: a step of the scrubber is due (:class:`Scrubber`).
    scrub_corrected : Out(1)
        The scrubber writes a corrected word in this cycle.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    words : Memory
        Words with their check bits.
    read_port, write_port : ReadPort, WritePort
        Ports of ``words``.
    injector : Injector
    walk : Scrubber
    written : Signal
        The traffic wrote in the last cycle.
    fixed : Signal
        With ``walk.holds``: the corrected word that the scrubber writes.
    """

    def __init__(self, shape, *, depth: int):
        self._shape = shape
        super().__init__(
            {
                "read_address": In(range(depth)),
                "read": In(1),
                "o": Out(shape),
                "corrected": Out(1),
                "lost": Out(1),
                "write_address": In(range(depth)),
                "write": In(1),
                "i": In(shape),
                "inject": In(InjectSignature()),
                "scrub": In(1),
                "scrub_corrected": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.words = Memory(shape=code_word(shape), depth=depth, init=[])
        self.read_port, self.write_port = self.words.read_port(), self.words.write_port()
        self.injector = Injector()
        self.walk = Scrubber(depth)
        self.written = Signal()
        self.fixed = Signal(Shape.cast(shape).width, reset_less=True)

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = self.words
        m.submodules.check = check = SecdedCheck(self._shape)
        m.submodules.injector = injector = self.injector
        wiring.connect(m, wiring.flipped(self.inject), injector.port)
        m.submodules.walk = walk = self.walk
        read, write = self.read_port, self.write_port
        word = Signal(Shape.cast(self._shape).width)
        written, fixed = self.written, self.fixed
        m.d.sync += written.eq(self.write)
        with m.If(walk.looks):
            m.d.sync += fixed.eq(check.o)
        m.d.comb += [
            walk.step.eq(self.scrub),
            walk.free.eq(~self.read),
            walk.correctable.eq(check.corrected),
            walk.disturbed.eq(self.write | written),
            self.scrub_corrected.eq(walk.holds & ~self.write),
        ]
        m.d.comb += [
            read.addr.eq(Mux(self.read, self.read_address, walk.row)),
            read.en.eq(self.read | walk.reads),
            check.i.eq(read.data),
            self.o.eq(check.o),
            self.corrected.eq(check.corrected),
            self.lost.eq(check.lost),
            write.addr.eq(Mux(self.write, self.write_address, walk.row)),
            write.en.eq(self.write | walk.holds),
            word.eq(Mux(self.write, self.i, fixed)),
            Value.cast(write.data.word).eq(word ^ Mux(self.write, injector.flips, 0)),
            write.data.check.eq(encode(word)),
            injector.write.eq(self.write),
            self.clock_enable.eq(
                Cat(read.en, write.en, written, walk.clock_enable, injector.clock_enable).any()
            ),
        ]
        return m
