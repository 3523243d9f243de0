# amaranth: UnusedElaboratable=no
"""A memory whose words are kept with check bits."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .injection import Injector, InjectSignature
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

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    words : Memory
        The words, with their check bits.
    read_port, write_port : ReadPort, WritePort
        Of ``words``.
    injector : Injector
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
            }
        )
        self.words = Memory(shape=code_word(shape), depth=depth, init=[])
        self.read_port, self.write_port = self.words.read_port(), self.words.write_port()
        self.injector = Injector()

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = self.words
        m.submodules.check = check = SecdedCheck(self._shape)
        m.submodules.injector = injector = self.injector
        wiring.connect(m, wiring.flipped(self.inject), injector.port)
        read, write, word = self.read_port, self.write_port, Value.cast(self.i)
        m.d.comb += [
            read.addr.eq(self.read_address),
            read.en.eq(self.read),
            check.i.eq(read.data),
            self.o.eq(check.o),
            self.corrected.eq(check.corrected),
            self.lost.eq(check.lost),
            write.addr.eq(self.write_address),
            write.en.eq(self.write),
            Value.cast(write.data.word).eq(word ^ injector.flips),
            write.data.check.eq(encode(word)),
            injector.write.eq(self.write),
        ]
        return m
