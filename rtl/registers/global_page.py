"""Register page of the whole GPU: arbitration policy, injection, scrubbing, links and errors."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration, Injection
from rtl.interface.encodings import ConfigurationError, InjectTarget
from rtl.interface.signatures import MOST_LINKS, OwnErrorsSignature
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ARBITER, leaves, resets
from .map import Register
from .reporting_page import ReportingPage

__all__ = ["GlobalPage"]


class GlobalPage(ReportingPage):
    """Register page of the GPU, the first page.

    Members
    -------
    port
        See :class:`ReportingPage`.
    arbiter : Out(:func:`ArbiterConfiguration`)
    corrected : In(32)
        Count of cycles with a correction, sampled when the read takes effect.
    error : In(:class:`OwnErrorsSignature`)
        Errors of no context.
    irq : Out(1)
        An enabled interrupt is pending.
    inject : Out(:func:`Injection`)
        Injection request. Register.
    armed : In(1)
        An injection waits for its word.
    scrub : Out(1)
        Strobe, every SCRUB_INTERVAL cycles. Register.
    scrub_corrected : In(32)
        Count of cycles with a correction by a scrubber, sampled like ``corrected``.
    link_off : Out
        See :class:`~rtl.interface.signatures.T3Signature`. Register.
    """

    def __init__(self, p: T3Parameters):
        registers = register_map.page(register_map.GLOBAL)
        super().__init__(
            p,
            {
                "arbiter": Out(ArbiterConfiguration(p), init=resets(ARBITER, registers)),
                "corrected": In(32),
                "error": In(OwnErrorsSignature(p)),
                "irq": Out(1),
                "inject": Out(Injection()),
                "armed": In(1),
                "scrub": Out(1),
                "scrub_corrected": In(32),
                "link_off": Out(min(p.channels, MOST_LINKS)),
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
        self._interval = Signal(registers["SCRUB_INTERVAL"]["cycles"].width)
        lock = Signal(name="lock", init=registers["GPU_LOCK"]["gpu"].reset)
        self.locks = {"gpu": lock}
        self._storage |= {
            **dict(leaves(ARBITER, self.arbiter)),
            ("GPU_LOCK", "gpu"): lock,
            ("SCRUB_INTERVAL", "cycles"): self._interval,
            ("LINK_OFF", "links"): self.link_off,
            ("INJECT", "target"): Value.cast(self.inject.target),
            ("INJECT", "double"): self.inject.double,
            ("INJECT", "instance"): self.inject.instance,
        }
        self._status |= {
            ("CORRECTED", "count"): self.corrected,
            ("CONTEXTS", "count"): Const(p.contexts, 8),
            ("INJECT", "armed"): self.armed,
            ("SCRUB_CORRECTED", "count"): self.scrub_corrected,
        }
        self.check_widths()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.inject.set.eq(0)
        scrubs = self._time_scrub(m)
        m.d.comb += self.irq.eq(self.report(m, self.error, {}))
        self.enable_clock(m, self.inject.set, scrubs)
        self.decode(m)
        return m

    def act(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """See :meth:`RegisterPage.act`."""
        if register.name == "INJECT":
            has_memory = Signal()
            m.d.comb += has_memory.eq(self._has_memory(part["target"], part["instance"]))
            with m.If(has_memory):
                m.d.sync += self.inject.set.eq(1)
                self.store(m, register, part)
            with m.Else():
                m.d.comb += self.refusal.eq(ConfigurationError.UNKNOWN_INDEX)
        else:
            super().act(m, register, part)

    def _time_scrub(self, m: Module) -> Value:
        """Generate the scrub strobe; a new interval takes effect at the end of the current one.
        Return whether the timer is running.
        """
        left = Signal.like(self._interval)
        ends = left[1:].any() == 0
        m.d.sync += [
            left.eq(Mux(ends, self._interval, left - 1)),
            self.scrub.eq(ends & self._interval.any()),
        ]
        return self._interval.any() | left.any() | self.scrub

    def _has_memory(self, target: Value, instance: Value) -> Value:
        """Test whether the target of an injection exists, or is NONE."""
        exists = ((target == kind) & (instance < count) for kind, count in self._instances.items())
        return Cat(target == InjectTarget.NONE, *exists).any()
