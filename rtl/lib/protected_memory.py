# amaranth: UnusedElaboratable=no
"""A memory whose words are kept with check bits."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

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

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    words : Memory
        The words, with their check bits.
    read_port, write_port : ReadPort, WritePort
        Of ``words``.
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
            }
        )
        self.words = Memory(shape=code_word(shape), depth=depth, init=[])
        self.read_port, self.write_port = self.words.read_port(), self.words.write_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = self.words
        m.submodules.check = check = SecdedCheck(self._shape)
        read, write = self.read_port, self.write_port
        m.d.comb += [
            read.addr.eq(self.read_address),
            read.en.eq(self.read),
            check.i.eq(read.data),
            self.o.eq(check.o),
            self.corrected.eq(check.corrected),
            self.lost.eq(check.lost),
            write.addr.eq(self.write_address),
            write.en.eq(self.write),
            write.data.word.eq(self.i),
            write.data.check.eq(encode(Value.cast(self.i))),
        ]
        return m
