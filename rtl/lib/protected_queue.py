"""Long queue in a memory with check bits."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .injection import Injector, InjectSignature
from .memory_queue import MemoryQueue
from .queue import Queue
from .secded import SecdedCheck, code_word, encode

__all__ = ["ProtectedQueue"]


class ProtectedQueue(wiring.Component):
    """First-in first-out queue in a memory whose payloads are corrected as they leave it.

    A payload that enters an empty queue is visible three cycles later. A payload with a single-bit
    error is corrected, a payload with an uncorrectable error is dropped.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Payload.
    depth : int
        Payloads in the memory.
    sure : sequence of str
        Fields of the payload that ``suspect`` shows without errors. A copy of these fields is
        stored beside the code word. Both errors of a code word with two bit errors are in the code
        word, so that its copy has none.

    Members
    -------
    i, o : stream
        ``i.ready`` and ``o.valid`` are registers.
    empty : Out(1)
        The queue holds no payload.
    leaves : Out(1)
        A word leaves the memory for the check; arrives earlier than its result.
    corrected, lost : Out(1)
        In this cycle a payload was corrected; a payload was dropped.
    suspect : Out(shape)
        With ``lost``: the dropped payload as it was read, with its errors, except for the fields
        ``sure``.
    inject : In(:class:`InjectSignature`)
        Injects bit errors into the next payload.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    words : MemoryQueue
        Payloads as :meth:`word_of` stores them.
    check : SecdedCheck
        Checker of the word that leaves ``words``.
    checked : Queue
        Corrected payloads.
    injector : Injector
    read : Signal
        Word at the end of ``words``, as it was read.
    """

    def __init__(self, shape, *, depth: int, sure: Sequence[str] = ()):
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "empty": Out(1),
                "leaves": Out(1),
                "corrected": Out(1),
                "lost": Out(1),
                "suspect": Out(shape),
                "inject": In(InjectSignature()),
                "clock_enable": Out(1),
            }
        )
        self._sure = tuple(sure)
        width = code_word(shape).size + sum(Shape.cast(shape[name].shape).width for name in sure)
        self.words = MemoryQueue(width, depth=depth, split=True)
        self.read = Signal(width)
        self.check = SecdedCheck(shape)
        self.checked = Queue(shape, depth=2)
        self.injector = Injector()

    def word_of(self, payload) -> Value:
        """Compute the word that the memory stores for a payload: the code word and the copies."""
        bits = Value.cast(payload)
        return Cat(bits, encode(bits), *(payload[name] for name in self._sure))

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = self.words
        m.submodules.check = check = self.check
        m.submodules.checked = checked = self.checked
        m.submodules.injector = injector = self.injector
        wiring.connect(m, wiring.flipped(self.inject), injector.port)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        code = len(Value.cast(check.i))
        m.d.comb += [
            words.i.p.eq(self.word_of(self.i.p) ^ injector.flips),
            injector.write.eq(words.i.valid & words.i.ready),
            words.i.valid.eq(self.i.valid),
            self.i.ready.eq(words.i.ready),
            self.read.eq(words.o.p),
            Value.cast(check.i).eq(self.read[:code]),
            words.o.ready.eq(checked.i.ready),
            self.leaves.eq(words.o.valid & words.o.ready),
            checked.i.p.eq(check.o),
            checked.i.valid.eq(words.o.valid),
            checked.drop.eq(check.lost),
            self.empty.eq((words.level == 0) & ~checked.o.valid),
            self.corrected.eq(self.leaves & check.corrected),
            self.lost.eq(self.leaves & check.lost),
            self.suspect.eq(check.i.word),
            Cat(self.suspect[name] for name in self._sure).eq(self.read[code:]),
            self.clock_enable.eq(words.clock_enable | checked.clock_enable | injector.clock_enable),
        ]
        return m
