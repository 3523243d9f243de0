"""Register page with an error log and interrupts."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters

from .error_log import ErrorLog
from .interrupts import Interrupts
from .map import Register
from .page import RegisterPage

__all__ = ["ReportingPage"]


class ReportingPage(RegisterPage):
    """Base class of the pages with an error log and interrupts.

    Parameters
    ----------
    members : dict
        See :class:`RegisterPage`.
    registers : dict of Register
        See :class:`RegisterPage`.
    prefix : str
        Prefix of the names of the error and interrupt registers.

    Members
    -------
    port : In(:class:`PageSignature`)

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    log : ErrorLog
    interrupts : Interrupts
    """

    def __init__(
        self,
        p: T3Parameters,
        members: Mapping[str, wiring.Member],
        registers: Mapping[str, Register],
        *,
        prefix: str = "",
    ):
        super().__init__(members, registers)
        self._prefix = prefix
        kinds = [kind for kind in ErrorCode if f"{prefix}COUNT_{kind.name}" in registers]
        self.log = log = ErrorLog(p, kinds)
        self.interrupts = Interrupts(len(registers[f"{prefix}INTERRUPTS"].fields))
        self._strobes = {name: Signal(name=name) for name in ("clear_error", "drop_error")}
        enable = registers[f"{prefix}INTERRUPT_ENABLE"]
        self._enable = Signal.like(self.interrupts.enable, init=enable.reset)
        for index, field in enumerate(enable.fields):
            self._status[f"{prefix}INTERRUPTS", field.name] = self.interrupts.pending[index]
            self._storage[f"{prefix}INTERRUPT_ENABLE", field.name] = self._enable[index]
        oldest = log.oldest
        atom_bits = (p.atom_bytes - 1).bit_length()
        address = Cat(Const(0, atom_bits), oldest.atom)
        self._status |= {
            (f"{prefix}STATUS", "configuration_error"): Value.cast(self.shown_error()),
            (f"{prefix}ERROR", "code"): Value.cast(oldest.code),
            (f"{prefix}ERROR", "wavefront"): oldest.wavefront,
            (f"{prefix}ERROR", "dispatch_index"): oldest.dispatch_index,
            (f"{prefix}ERROR_LOCATION", "channel"): oldest.channel,
            (f"{prefix}ERROR_LOCATION", "source"): oldest.source,
            (f"{prefix}ERROR_LOCATION", "errors"): log.level,
            (f"{prefix}ERROR_ADDRESS_LO", "bytes"): address[:32],
            (f"{prefix}ERROR_ADDRESS_HI", "bytes"): address[32:],
            (f"{prefix}ERRORS", "count"): log.total,
            **{
                (f"{prefix}COUNT_{kind.name}", "count"): count
                for kind, count in zip(kinds, log.counts, strict=True)
            },
        }
        self._clear = Signal.like(self.interrupts.clear)

    def report(self, m: Module, error: wiring.PureInterface, events: Mapping[str, Value]) -> Signal:
        """Connect the log and the interrupts.

        Parameters
        ----------
        error
            Interface with :class:`OwnErrorsSignature`.
        events : dict
            Interrupt events other than errors, by field.

        Returns
        -------
        Signal
            An enabled interrupt is pending.
        """
        m.submodules.log = log = self.log
        m.submodules.interrupts = interrupts = self.interrupts
        fields = self._registers[f"{self._prefix}INTERRUPTS"].fields
        of_field = {"error": error.valid, **events}
        clears_error = self._strobes["clear_error"]
        m.d.comb += [
            log.error.valid.eq(error.valid),
            log.error.report.eq(error.report),
            log.error.kinds.eq(error.kinds),
            log.clear.eq(clears_error),
            log.drop.eq(self._strobes["drop_error"]),
            interrupts.events.eq(Cat(of_field[field.name] for field in fields)),
            interrupts.clear.eq(
                self._clear | Cat(clears_error & (field.name == "error") for field in fields)
            ),
            interrupts.enable.eq(self._enable),
        ]
        return interrupts.irq

    def enable_clock(self, m: Module, *causes: Value) -> None:
        """Drive the clock enable from the causes that all pages share and from ``causes``."""
        happens = [self.log.clock_enable, self.interrupts.events.any()]
        m.d.comb += self.clock_enable.eq(
            Cat(self.port.write, *self._strobes.values(), *happens, *causes).any()
        )

    def act(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """See :meth:`RegisterPage.act`."""
        if register.name == f"{self._prefix}INTERRUPTS":
            m.d.comb += self._clear.eq(Cat(part.values()))
        elif register.name == f"{self._prefix}CONTROL":
            self.strobe(m, part)
        else:
            super().act(m, register, part)

    def strobe(self, m: Module, part: dict[str, Value]) -> None:
        """Raise each strobe that is written as one in the next cycle."""
        m.d.sync += [strobe.eq(part[name]) for name, strobe in self._strobes.items()]
