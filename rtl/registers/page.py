"""Register page: decodes writes and reads of the register port."""

from collections.abc import Mapping

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ConfigurationError

from .fields import is_reported
from .map import ALWAYS, PAGE_BITS, Field, Register

__all__ = ["PageSignature", "RegisterPage"]


class PageSignature(wiring.Signature):
    """Interface between the register port and a page.

    Members
    -------
    write : Out(1)
        A write to the page takes effect, or is refused, in this cycle.
    whole : Out(1)
        The write has all bytes of a word.
    write_address, word : Out
        Address within the page, and data of the write.
    privileged : Out(1)
        Privileged software writes.
    read_address : Out
        Address of the read within the page.
    read_privileged : Out(1)
        Privileged software reads.
    known : In(1)
        A register exists at the read address. Combinational, like ``data``.
    data : In(32)
    """

    def __init__(self):
        super().__init__(
            {
                "write": Out(1),
                "whole": Out(1),
                "write_address": Out(PAGE_BITS),
                "word": Out(32),
                "privileged": Out(1),
                "read_address": Out(PAGE_BITS),
                "read_privileged": Out(1),
                "known": In(1),
                "data": In(32),
            }
        )


class RegisterPage(wiring.Component):
    """Base class of the pages: plain fields, strobes and read-only status.

    A page overrides :meth:`act` for writes with other effects.

    Parameters
    ----------
    members : dict
        Members of the component besides ``port``.
    registers : dict of Register
        Registers of the page by name.

    Members
    -------
    port : In(:class:`PageSignature`)

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    locks : dict of Value
        Lock fields by name.
    refusal : Signal
        Reason for which the write of this cycle is refused, or NONE. Combinational.
    configuration_error, privileged_error : Signal
        Reason for which the last write, and the last privileged write, that could be refused was
        refused, or NONE. Registers.
    """

    def __init__(self, members: Mapping[str, wiring.Member], registers: Mapping[str, Register]):
        super().__init__({"port": In(PageSignature()), "clock_enable": Out(1), **members})
        self._registers = registers
        self._storage: dict[tuple[str, str], Value] = {}
        self._status: dict[tuple[str, str], Value] = {}
        self._strobes: dict[str, Signal] = {}
        self.locks: dict[str, Value] = {}
        self.refusal = Signal(ConfigurationError)
        self.configuration_error = Signal(ConfigurationError)
        self.privileged_error = Signal(ConfigurationError)

    def shown_error(self) -> Value:
        """Return the reason that the current read sees: privileged software sees that of its own
        last write, which no other software's write replaces.
        """
        return Mux(self.port.read_privileged, self.privileged_error, self.configuration_error)

    def check_widths(self) -> None:
        """Refuse a value that is wider than its field.

        Raises
        ------
        ValueError
        """
        for (register, field), value in (self._storage | self._status).items():
            if len(value) > self._registers[register][field].width:
                raise ValueError(
                    f"{register}.{field} must have at least the {len(value)} bits that the "
                    f"parameters ask for, not {self._registers[register][field].width}"
                )

    def act(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """Perform a write of a register, or drive ``refusal``.

        Parameters
        ----------
        part : dict
            Fields of the word by name.
        """
        self.store(m, register, part)

    def store(self, m: Module, register: Register, part: dict[str, Value]) -> None:
        """Set the plain fields of a register from a word's fields."""
        for field in register.fields:
            if not field.writable:
                continue
            m.d.sync += self._storage[register.name, field.name].eq(part[field.name])

    def decode(self, m: Module) -> None:
        """Decode writes and reads."""
        port, reported = self.port, Signal()
        m.d.sync += [strobe.eq(0) for strobe in self._strobes.values()]
        with m.If(port.write):
            m.d.comb += [self.refusal.eq(ConfigurationError.NOT_WRITABLE), reported.eq(1)]
            with m.If(port.whole):
                self._decode_write(m, reported)
        with m.If(reported):
            m.d.sync += self.configuration_error.eq(self.refusal)
            with m.If(port.privileged):
                m.d.sync += self.privileged_error.eq(self.refusal)
        with m.Switch(port.read_address):
            for register in self._registers.values():
                with m.Case(register.offset):
                    m.d.comb += port.known.eq(1)
                    m.d.comb += [
                        port.data[field.low :][: field.width].eq(self._value(register.name, field))
                        for field in register.fields
                        if field.readable
                    ]

    def _decode_write(self, m: Module, reported: Signal) -> None:
        """Decode a write of a whole word; the result of a write that cannot be refused is not
        ``reported``, so that an interrupt handler does not hide a refusal.
        """
        port = self.port
        with m.Switch(port.write_address):
            for register in self._registers.values():
                if not register.writable:
                    continue
                part = {
                    field.name: port.word[field.low :][: field.width] for field in register.fields
                }
                with m.Case(register.offset):
                    with m.If(self._is_locked(register)):
                        m.d.comb += self.refusal.eq(ConfigurationError.LOCKED)
                    with m.Else():
                        m.d.comb += [
                            self.refusal.eq(ConfigurationError.NONE),
                            reported.eq(is_reported(register, part.get("launch", 0))),
                        ]
                        self.act(m, register, part)

    def _is_locked(self, register: Register) -> Value:
        """Test whether a register is locked for the current write."""
        if not register.lock:
            return Const(0)
        return ~self.port.privileged & (
            Const(1) if register.lock == ALWAYS else self.locks[register.lock]
        )

    def _value(self, register: str, field: Field):
        key = (register, field.name)
        if field.writable and not field.clears:
            return self._storage[key]
        return self._status[key] if field.reset is None else field.reset
