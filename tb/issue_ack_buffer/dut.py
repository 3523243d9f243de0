# amaranth: UnusedElaboratable=no
"""The buffer of issue acknowledgements with bits that turn in its memory."""

from unittest.mock import patch

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In

from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.layouts import IssueAck
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.secded import code_word
from rtl.parameters import T3Parameters

__all__ = ["DEPTH", "PARAMETERS", "FaultyBuffer"]

PARAMETERS = T3Parameters(address_bits=20, workgroup_bits=6, sets=8, ways=2, wavefronts=4)
DEPTH = 8


def _faulty(queue: type[ProtectedQueue], turned: Signal) -> type[ProtectedQueue]:
    """A queue in whose memory each payload has other bits turned."""

    class FaultyQueue(queue):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            words, check = m.submodules.words, m.submodules.check
            # Beside each word: which of its bits are wrong.
            m.submodules.turned = beside = SyncFIFOBuffered(width=len(turned), depth=words.depth)
            m.d.comb += [
                beside.w_data.eq(turned),
                beside.w_en.eq(words.w_en),
                beside.r_en.eq(words.r_en),
                Value.cast(check.i).eq(words.r_data ^ beside.r_data),
            ]
            return m

    return FaultyQueue


class FaultyBuffer(wiring.Component):
    """The members of the buffer, and what turns.

    Parameters
    ----------
    block : type
        The buffer, or a copy of it.

    Members
    -------
    turned : In
        Bits of the code word that turn if the issue acknowledgement that comes in this cycle is
        kept.
    """

    def __init__(self, block: type[wiring.Component] = IssueAckBuffer):
        self._buffer = block(PARAMETERS, depth=DEPTH)
        bits = code_word(IssueAck(PARAMETERS)).size
        super().__init__({**self._buffer.signature.members, "turned": In(bits)})

    def elaborate(self, platform):
        m = Module()
        buffer = self._buffer
        names = type(buffer).elaborate.__globals__
        queue = _faulty(names["ProtectedQueue"], self.turned)
        with patch.dict(names, ProtectedQueue=queue):
            m.submodules.buffer = buffer.elaborate(platform)
        for name, member in buffer.signature.members.items():
            outer, inner = getattr(self, name), getattr(buffer, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), inner)
            else:
                m.d.comb += outer.eq(inner)
        return m
