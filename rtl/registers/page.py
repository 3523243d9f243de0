"""One page of registers behind the port: decodes writes and reads."""

from collections.abc import Mapping

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .map import ALWAYS, PAGE_BITS, Field, Register

__all__ = ["PageSignature", "RegisterPage"]


class PageSignature(wiring.Signature):
    """A page as the port sees it.

    Members
    -------
    write : Out(1)
        A write of a whole word acts in this cycle.
    write_address, word : Out
        It; the address is within the page.
    privileged : Out(1)
        It is privileged software's.
    okay : In(1)
        It has an effect. Combinational.
    read_address : Out
        Within the page.
    known : In(1)
        There is such a register. Combinational, like ``data``.
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
    """Base of the pages: plain fields, strobes, and what software only reads.

    A page says what else a write does by overriding :meth:`act`.

    Parameters
    ----------
    members : dict
        Of the component, apart from ``port``.
    registers : dict of Register
        Of this page, by name.

    Members
    -------
    port : In(:class:`PageSignature`)
    awake : Out(1)
        Something may change in this cycle. Combinational.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    locks : dict of Value
        By name.
    """

    def __init__(self, members: Mapping[str, wiring.Member], registers: Mapping[str, Register]):
        super().__init__({"port": In(PageSignature()), "awake": Out(1), **members})
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
        """What a write of this register does in its cycle.

        Parameters
        ----------
        part : dict
            The word's fields by name.
        okay : Signal
            Is to be driven.
        """
        m.d.comb += okay.eq(1)
        self.store(m, register, part)

    def refuse(self, m: Module) -> None:
        """What a write does that is not privileged, of a register that is locked."""

    def store(self, m: Module, register: Register, part: Mapping[str, Value]) -> None:
        """The word's fields into their registers."""
        for field in register.fields:
            if not field.writable:
                continue
            m.d.sync += self._storage[register.name, field.name].eq(part[field.name])

    def decode(self, m: Module) -> None:
        """Both switches over the page's registers."""
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
        """For this write."""
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
