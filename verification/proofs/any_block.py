"""Abstraction of a block that has a proof of its own: its outputs are arbitrary."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from .streams import free

__all__ = ["AnyBlock"]


class AnyBlock(wiring.Component):
    """Stand-in with the ports of another block and arbitrary outputs in every cycle.

    Parameters
    ----------
    block : Component
        Block to stand in for.
    """

    def __init__(self, block: wiring.Component):
        super().__init__(block.signature)

    def elaborate(self, platform):
        m = Module()
        ports = self.signature.flatten(self)
        free(m, *(value for _, member, value in ports if member.flow is Out))
        return m
