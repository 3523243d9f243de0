"""Registers of the whole GPU: the arbiters' policy, and what concerns all contexts."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import (
    EPOCH_BITS,
    SOURCE_BITS,
    ArbiterConfiguration,
    Injection,
)
from rtl.interface.encodings import InjectTarget
from rtl.interface.signatures import ErrorSignature
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ARBITER, leaves, resets
from .map import Register
from .reporting_page import ReportingPage

__all__ = ["GlobalPage"]


class GlobalPage(ReportingPage):
    """The first page.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    port
        See :class:`ReportingPage`.
    arbiter : Out(:func:`ArbiterConfiguration`)
    corrected : In(32)
        What software reads, in the cycle in which the read acts.
    launches : In(1)
        A launch is accepted in this cycle: its epoch is the next one.
    busy : In(1)
        A launch runs or waits, or what is left of one is not gone: the memory is in use.
    number : Out(5)
        Of this GPU. A register.
    next_epoch : Out(9)
        A register, with one bit more than an epoch has: if it is set, no epoch is left.
    error : In(:class:`ErrorSignature`)
        Of no context.
    irq : Out(1)
        Something that interrupts is pending.
    inject : Out(:func:`Injection`)
        A register.
    armed : In(1)
        An injection waits for its word.
    patrol : Out(1)
        Strobe, every PATROL_INTERVAL cycles. A register.
    patrolled : In(32)
        What software reads, like ``corrected``.
    """

    def __init__(self, p: T3Parameters):
        registers = register_map.page(register_map.GLOBAL)
        super().__init__(
            p,
            {
                "arbiter": Out(ArbiterConfiguration(p), init=resets(ARBITER, registers)),
                "corrected": In(32),
                "number": Out(SOURCE_BITS),
                "launches": In(1),
                "busy": In(1),
                "next_epoch": Out(EPOCH_BITS + 1, init=1),
                "error": In(ErrorSignature(p)),
                "irq": Out(1),
                "inject": Out(Injection()),
                "armed": In(1),
                "patrol": Out(1),
                "patrolled": In(32),
            },
            registers,
            prefix="GPU_",
        )
        self._instances = {
            InjectTarget.TRACKER: p.banks,
            InjectTarget.TILES: p.contexts,
            InjectTarget.GROUPS: p.contexts,
            InjectTarget.COMMANDS: p.contexts,
            InjectTarget.ISSUE_ACKS: p.channels,
        }
        self._interval = Signal(registers["PATROL_INTERVAL"]["cycles"].width)
        lock = Signal(name="lock")
        self.locks = {"gpu": lock}
        self._storage |= {
            **dict(leaves(ARBITER, self.arbiter)),
            ("GPU_LOCK", "gpu"): lock,
            ("GPU_NUMBER", "gpu"): self.number,
            ("PATROL_INTERVAL", "cycles"): self._interval,
            ("INJECT", "target"): Value.cast(self.inject.target),
            ("INJECT", "double"): self.inject.double,
            ("INJECT", "instance"): self.inject.instance,
        }
        self._status |= {
            ("CORRECTED", "count"): self.corrected,
            ("CONTEXTS", "count"): Const(p.contexts, 8),
            ("EPOCHS", "next"): self.next_epoch,
            ("INJECT", "armed"): self.armed,
            ("PATROLLED", "count"): self.patrolled,
        }
        self.check_widths()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.inject.set.eq(0)
        patrols = self._time_patrol(m)
        with m.If(self.launches):
            m.d.sync += self.next_epoch.eq(self.next_epoch + 1)
        m.d.comb += self.irq.eq(self.report(m, self.error, {}))
        self.wake(m, self.launches, self.inject.set, patrols)
        self.decode(m)
        return m

    def act(self, m: Module, register: Register, part: dict[str, Value], okay: Signal) -> None:
        """See :meth:`RegisterPage.act`."""
        if register.name == "SCRUB":
            m.d.comb += okay.eq(~part["scrubbed"] | ~self.busy)
            with m.If(part["scrubbed"] & ~self.busy):
                m.d.sync += self.next_epoch.eq(1)
        elif register.name == "INJECT":
            has_memory = Signal()
            m.d.comb += [
                has_memory.eq(self._has_memory(part["target"], part["instance"])),
                okay.eq(has_memory),
            ]
            with m.If(has_memory):
                m.d.sync += self.inject.set.eq(1)
                self.store(m, register, part)
        else:
            super().act(m, register, part, okay)

    def _time_patrol(self, m: Module) -> Value:
        """A new interval counts from the end of the one before. Gives whether there is one."""
        left = Signal.like(self._interval)
        ends = left[1:].any() == 0
        m.d.sync += [
            left.eq(Mux(ends, self._interval, left - 1)),
            self.patrol.eq(ends & self._interval.any()),
        ]
        return self._interval.any() | left.any() | self.patrol

    def _has_memory(self, target: Value, instance: Value) -> Value:
        """Or there is none that is asked for."""
        exists = ((target == kind) & (instance < count) for kind, count in self._instances.items())
        return Cat(target == InjectTarget.NONE, *exists).any()
