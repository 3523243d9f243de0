# amaranth: UnusedElaboratable=no
"""A memory whose words are kept with check bits."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .injection import Injector, InjectSignature
from .patrol import Patrol
from .secded import SecdedCheck, code_word, encode

__all__ = ["ProtectedMemory"]


class ProtectedMemory(wiring.Component):
    """One word is read and one written per cycle. A read does not see the write in its cycle.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a word.
    depth : int
        Words, at least 2.

    Members
    -------
    read_address, read : In
    o : Out(shape)
        In the cycle after ``read``. One wrong bit is corrected; with ``lost`` it means nothing.
    corrected, lost : Out(1)
        Of ``o``: one bit was wrong, more were.
    write_address, write, i : In
    inject : In(:class:`InjectSignature`)
        The next word that is written gets wrong bits.
    patrol : In(1)
        Strobe: a step of the walk over all words is due (:class:`Patrol`).
    patrolled : Out(1)
        In this cycle the walk writes a corrected word.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    words : Memory
        The words, with their check bits.
    read_port, write_port : ReadPort, WritePort
        Of ``words``.
    injector : Injector
    walk : Patrol
    written : Signal
        The traffic wrote in the last cycle.
    fixed : Signal
        With ``walk.holds``: what the walk writes.
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
                "patrol": In(1),
                "patrolled": Out(1),
                "awake": Out(1),
            }
        )
        self.words = Memory(shape=code_word(shape), depth=depth, init=[])
        self.read_port, self.write_port = self.words.read_port(), self.words.write_port()
        self.injector = Injector()
        self.walk = Patrol(depth)
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
            walk.step.eq(self.patrol),
            walk.free.eq(~self.read),
            walk.correctable.eq(check.corrected),
            walk.disturbed.eq(self.write | written),
            self.patrolled.eq(walk.holds & ~self.write),
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
            self.awake.eq(Cat(read.en, write.en, written, walk.awake, injector.awake).any()),
        ]
        return m
