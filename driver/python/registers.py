"""Access to the registers of a page by name."""

from collections.abc import Mapping, Sequence
from operator import index

from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.registers.fields import is_reported
from rtl.registers.map import MAX_CONTEXTS, Register, load

from .bus import Bus
from .errors import HardwareError, RefusedError, T3Error
from .version import check_version

__all__ = ["Page", "Write", "wide"]

Write = tuple[str, Mapping[str, int]]
"""Register, and its fields; fields without a value get their reset value."""


def wide(name: str, value: int, *, signed: bool = False) -> list[Write]:
    """Make the writes of a pair of registers, ``name_LO`` and ``name_HI``, with a number of bytes.

    Raises
    ------
    ValueError
        If the value does not fit 64 bits, in two's complement if it is ``signed``.
    """
    low, high = load()[f"{name}_LO"]["bytes"].width, load()[f"{name}_HI"]["bytes"].width
    bits = low + high
    least, end = (-1 << bits - 1, 1 << bits - 1) if signed else (0, 1 << bits)
    if not least <= index(value) < end:
        raise ValueError(f"{name} must be at least {least} and less than {end}, not {value!r}")
    value = index(value) % (1 << bits)
    return [
        (f"{name}_LO", {"bytes": value % (1 << low)}),
        (f"{name}_HI", {"bytes": value >> low}),
    ]


class Page:
    """Register page of the GPU or of a context.

    Parameters
    ----------
    context : int
        Number of the context; 0 for the GPU's page.
    prefix : str
        Prefix of the names of the status, error and interrupt registers.

    Raises
    ------
    T3Error
        If no T3 is behind the bus, or the driver does not work with its version.
    ValueError
        If the map or the hardware has no context of this number.
    """

    def __init__(self, bus: Bus, context: int = 0, prefix: str = ""):
        self._bus, self._context, self._prefix = bus, context, prefix
        if not prefix:
            self._check_context(MAX_CONTEXTS)
        check_version(bus)
        if not prefix:
            # A mapping hides that a page does not exist: its writes seem to be accepted.
            self._check_context(self.read("CONTEXTS")["count"])

    def _check_context(self, contexts: int) -> None:
        if not 0 <= index(self._context) < contexts:
            raise ValueError(
                f"the number of a context must be at least 0 and less than {contexts}, "
                f"not {self._context!r}"
            )

    def check(self, writes: Sequence[Write]) -> None:
        """Check that all values fit their fields.

        Raises
        ------
        ValueError
        """
        for name, fields in writes:
            _pack(load()[name], fields)

    def write(self, name: str, **fields: int) -> None:
        """Write a register, as :meth:`write_all`."""
        self.write_all([(name, fields)])

    def write_all(self, writes: Sequence[Write]) -> None:
        """Write registers in order, once all values have been checked; read after each write that
        the page may refuse whether it did.

        Raises
        ------
        RefusedError
            If the hardware refused a write; the writes behind it are not made.
        ValueError
            If a value does not fit its field; no write is made.
        """
        self.check(writes)
        for name, fields in writes:
            register = load()[name]
            word = _pack(register, fields)
            if not self._bus.write(register.address_in(self._context), word):
                raise T3Error(f"the bus reports an error for the write of {self._label(name)}")
            if is_reported(register, fields.get("launch", 0)):
                self._raise_refusal(name)

    def _raise_refusal(self, name: str) -> None:
        if code := self.read(f"{self._prefix}STATUS")["configuration_error"]:
            raise RefusedError(self._label(name), ConfigurationError(code))

    def _label(self, name: str) -> str:
        return name if self._prefix else f"{name} of context {self._context}"

    def read(self, name: str) -> dict[str, int]:
        """Read the fields of a register."""
        register = load()[name]
        return register.unpack(self._bus.read(register.address_in(self._context)))

    def take_errors(self) -> list[HardwareError]:
        """Remove the errors from the log, and return them, oldest first.

        Errors that occur meanwhile are left for the next call.

        Raises
        ------
        RefusedError
            If a lock prevents the removal.
        """
        return [self._take_error() for _ in range(self._place()["errors"])]

    def _place(self) -> dict[str, int]:
        return self.read(f"{self._prefix}ERROR_LOCATION")

    def _take_error(self) -> HardwareError:
        place, error = self._place(), self.read(f"{self._prefix}ERROR")
        low, high = (
            self.read(f"{self._prefix}ERROR_ADDRESS_{part}")["bytes"] for part in ("LO", "HI")
        )
        self.write(f"{self._prefix}CONTROL", drop_error=1)
        return HardwareError(
            ErrorCode(error["code"]),
            error["dispatch_index"],
            error["wavefront"],
            place["channel"],
            place["source"],
            high << 32 | low,
        )

    def count(self, code: ErrorCode) -> int:
        """Read the number of cycles in which an error was reported, which saturates at 65,535.

        Raises
        ------
        KeyError
            If the page has no counter for the error.
        """
        return self.read(f"{self._prefix}COUNT_{code.name}")["count"]

    def clear_errors(self) -> None:
        """Clear the log, all counters and the interrupt."""
        self.write(f"{self._prefix}CONTROL", clear_error=1)

    def enable_interrupts(self, **kinds: bool) -> None:
        """Enable these kinds of interrupts, and disable all others."""
        self.write(f"{self._prefix}INTERRUPT_ENABLE", **{"error": False, **kinds})

    def take_interrupts(self) -> set[str]:
        """Clear the pending interrupts, and return their kinds."""
        name = f"{self._prefix}INTERRUPTS"
        seen = {kind for kind, happened in self.read(name).items() if happened}
        self.write(name, **dict.fromkeys(seen, 1))
        return seen


def _pack(register: Register, fields: Mapping[str, int]) -> int:
    return register.pack(**{field: index(value) for field, value in fields.items()})
