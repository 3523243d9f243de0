"""A block that does what it likes, in the place of one that is proven on its own."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from .streams import free

__all__ = ["AnyBlock"]


class AnyBlock(wiring.Component):
    """Has the ports of another block; its outputs are anything in every cycle.

    Parameters
    ----------
    block : Component
        The other one.
    """

    def __init__(self, block: wiring.Component):
        super().__init__(block.signature)

    def elaborate(self, platform):
        m = Module()
        ports = self.signature.flatten(self)
        free(m, *(value for _, member, value in ports if member.flow is Out))
        return m
