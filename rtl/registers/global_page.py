"""Registers of the whole GPU: the arbiters' policy, and what concerns all contexts."""

from amaranth.hdl import Const, Module
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ARBITER, leaves, resets
from .page import RegisterPage

__all__ = ["GlobalPage"]


class GlobalPage(RegisterPage):
    """The first page.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    port
        See :class:`RegisterPage`.
    arbiter : Out(:func:`ArbiterConfiguration`)
    corrected : In(32)
        What software reads, in the cycle in which the read acts.
    """

    def __init__(self, p: T3Parameters):
        registers = register_map.page(register_map.GLOBAL)
        super().__init__(
            {
                "arbiter": Out(ArbiterConfiguration(p), init=resets(ARBITER, registers)),
                "corrected": In(32),
            },
            registers,
        )
        self._storage = dict(leaves(ARBITER, self.arbiter))
        self._status = {
            ("CORRECTED", "count"): self.corrected,
            ("CONTEXTS", "count"): Const(p.contexts, 8),
        }

    def elaborate(self, platform):
        m = Module()
        self.decode(m)
        return m
