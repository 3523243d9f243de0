"""Merges, and the round-robin arbiter that one of them contains, side by side."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from rtl.lib.gating import clock_gated
from rtl.lib.round_robin import Merge, Merge2, RoundRobinPick

__all__ = ["MERGES", "PICKS", "WIDTH", "RoundRobin"]

WIDTH = 7
MERGES = (1, 2, 5)
PICKS = (1, 3, 8)


class RoundRobin(wiring.Component):
    """Blocks side by side: a :class:`Merge2` with the ports ``two``, merges of *n* streams with the
    ports ``merge<n>``, and arbiters of *n* requests with the ports ``pick<n>``.

    Parameters
    ----------
    merge2, merge, pick : type
        The blocks, or copies of them.
    """

    def __init__(
        self,
        merge2: type[wiring.Component] = Merge2,
        merge: type[wiring.Component] = Merge,
        pick: type[wiring.Component] = RoundRobinPick,
    ):
        self._blocks = {
            "two": merge2(WIDTH),
            **{f"merge{inputs}": merge(WIDTH, inputs) for inputs in MERGES},
            **{f"pick{inputs}": pick(inputs) for inputs in PICKS},
        }
        super().__init__({name: Out(block.signature) for name, block in self._blocks.items()})

    def elaborate(self, platform):
        m = Module()
        for name, block in self._blocks.items():
            # A merge of one stream has no register.
            gated = isinstance(block, Merge) and block.pick
            m.submodules[name] = clock_gated(block) if gated else block
            # One by one: `connect` does not take the flipped side of an array.
            ports = block.signature.flatten(block)
            outside = block.signature.flatten(getattr(self, name))
            for (_, member, inner), (_, _, outer) in zip(ports, outside, strict=True):
                is_input = member.flow is wiring.In
                m.d.comb += inner.eq(outer) if is_input else outer.eq(inner)
        return m
