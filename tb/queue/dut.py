"""Queues of every depth that the hardware has, side by side."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.gating import clock_gated
from rtl.lib.queue import Queue

__all__ = ["DEPTHS", "WIDTH", "Queues"]

DEPTHS = (2, 4, 8)
WIDTH = 13


class Queues(wiring.Component):
    """Clock-gated queues of several depths; the ports of the queue of depth *d* have names that
    end in *d*.

    Parameters
    ----------
    block : type
        The queue, or a copy of it.
    """

    def __init__(self, block: type[wiring.Component] = Queue):
        self._queues = {depth: block(WIDTH, depth=depth) for depth in DEPTHS}
        members = {}
        for depth in DEPTHS:
            members |= {
                f"i{depth}": In(stream.Signature(WIDTH)),
                f"o{depth}": Out(stream.Signature(WIDTH)),
                f"drop{depth}": In(1),
                f"level{depth}": Out(range(depth + 1)),
            }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for depth, queue in self._queues.items():
            m.submodules[f"queue{depth}"] = clock_gated(queue)
            wiring.connect(m, wiring.flipped(getattr(self, f"i{depth}")), queue.i)
            wiring.connect(m, queue.o, wiring.flipped(getattr(self, f"o{depth}")))
            m.d.comb += [
                queue.drop.eq(getattr(self, f"drop{depth}")),
                getattr(self, f"level{depth}").eq(queue.level),
            ]
        return m
