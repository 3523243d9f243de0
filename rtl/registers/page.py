"""Register page: decodes writes and reads of the register port."""

from collections.abc import Mapping

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .map import ALWAYS, PAGE_BITS, Field, Register

__all__ = ["PageSignature", "RegisterPage"]


class PageSignature(wiring.Signature):
    """Interface between the register port and a page.

    Members
    -------
    write : Out(1)
        A write of a whole word takes effect in this cycle.
    write_address, word : Out
        Address within the page, and data of the write.
    privileged : Out(1)
        Privileged software writes.
    okay : In(1)
        The write is accepted. Combinational.
    read_address : Out
        Address of the read within the page.
    known : In(1)
        A register exists at the read address. Combinational, like ``data``.
    data : In(32)
    """

    def __init__(self):
        super().__init__(
            {
                "write": Out(1),
                "write_address": Out(PAGE_BITS),
                "word": Out(32),
                "privileged": Out(1),
                "okay": In(1),
                "read_address": Out(PAGE_BITS),
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
    """

    def __init__(self, members: Mapping[str, wiring.Member], registers: Mapping[str, Register]):
        super().__init__({"port": In(PageSignature()), "clock_enable": Out(1), **members})
        self._registers = registers
        self._storage: dict[tuple[str, str], Value] = {}
        self._status: dict[tuple[str, str], Value] = {}
        self._strobes: dict[str, Signal] = {}
        self.locks: dict[str, Value] = {}

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

    def act(self, m: Module, register: Register, part: dict[str, Value], okay: Signal) -> None:
        """Perform a write of a register.

        Parameters
        ----------
        part : dict
            Fields of the word by name.
        okay : Signal
            Acceptance of the write, which this method drives.
        """
        m.d.comb += okay.eq(1)
        self.store(m, register, part)

    def refuse(self, m: Module) -> None:
        """Handle an unprivileged write of a locked register."""

    def store(self, m: Module, register: Register, part: Mapping[str, Value]) -> None:
        """Store the fields of a word in their registers."""
        for field in register.fields:
            if not field.writable:
                continue
            m.d.sync += self._storage[register.name, field.name].eq(part[field.name])

    def decode(self, m: Module) -> None:
        """Decode writes and reads."""
        port = self.port
        m.d.sync += [strobe.eq(0) for strobe in self._strobes.values()]
        with m.If(port.write):
            with m.Switch(port.write_address):
                for register in self._registers.values():
                    if register.writable:
                        part = {
                            field.name: port.word[field.low :][: field.width]
                            for field in register.fields
                        }
                        with m.Case(register.offset):
                            with m.If(self._is_locked(register)):
                                self.refuse(m)
                            with m.Else():
                                self.act(m, register, part, port.okay)
        with m.Switch(port.read_address):
            for register in self._registers.values():
                with m.Case(register.offset):
                    m.d.comb += port.known.eq(1)
                    m.d.comb += [
                        port.data[field.low :][: field.width].eq(self._value(register.name, field))
                        for field in register.fields
                        if field.readable
                    ]

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
