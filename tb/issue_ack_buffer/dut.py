"""Buffer of issue acknowledgements with inverted bits in its memory."""

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.protected_queue import ProtectedQueue
from rtl.parameters import T3Parameters

__all__ = ["DEPTH", "PARAMETERS", "FaultyBuffer"]

PARAMETERS = T3Parameters(
    address_bits=20, tile_atom_bits=7, workgroup_bits=6, sets=8, ways=2, wavefronts=4, contexts=2
)
DEPTH = 8


def _make_faulty(queue: ProtectedQueue, wrong: Value) -> None:
    """Invert bits of each payload that leaves the memory of a queue."""
    sound = queue.elaborate

    def elaborate(platform):
        m = sound(platform)
        m.d.comb += queue.read.eq(queue.words.o.p ^ wrong)
        return m

    queue.elaborate = elaborate


class FaultyBuffer(wiring.Component):
    """Buffer of issue acknowledgements with inverted bits in its words.

    Parameters
    ----------
    block : type
        The buffer, or a copy of it.

    Members
    -------
    turned : In
        Bits of the memory's word to invert if the issue acknowledgement of this cycle is stored.
    """

    def __init__(self, block: type[wiring.Component] = IssueAckBuffer):
        self._buffer = block(PARAMETERS, depth=DEPTH)
        bits = len(self._buffer.waiting.words.i.p)
        super().__init__({**self._buffer.signature.members, "turned": In(bits)})
        # Inverted bits of each word. They are kept outside the buffer, whose clock may stop.
        self._beside = MemoryQueue(bits, depth=DEPTH, split=True)
        _make_faulty(self._buffer.waiting, self._beside.o.p)

    def elaborate(self, platform):
        m = Module()
        buffer, beside, words = self._buffer, self._beside, self._buffer.waiting.words
        m.submodules.buffer = buffer
        m.submodules.beside = beside
        m.d.comb += [
            beside.i.p.eq(self.turned),
            beside.i.valid.eq(words.i.valid),
            beside.o.ready.eq(words.o.ready),
        ]
        for name, member in buffer.signature.members.items():
            outer, inner = getattr(self, name), getattr(buffer, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), inner)
            else:
                m.d.comb += outer.eq(inner)
        return m
