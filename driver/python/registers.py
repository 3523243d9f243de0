"""Access to the registers of a page by name."""

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import load

from .bus import Bus
from .errors import HardwareError, T3Error

__all__ = ["Page"]


class Page:
    """Register page of the GPU or of a context.

    Parameters
    ----------
    context : int
        Number of the context; 0 for the GPU's page.
    prefix : str
        Prefix of the names of the error and interrupt registers.
    """

    def __init__(self, bus: Bus, context: int = 0, prefix: str = ""):
        self._bus, self._context, self._prefix = bus, context, prefix

    def write(self, name: str, **fields: int) -> bool:
        """Write a register; fields without a value get their reset value.

        Raises
        ------
        ValueError
            If a value does not fit its field.
        """
        register = load()[name]
        word = register.pack(**{field: int(value) for field, value in fields.items()})
        return self._bus.write(register.address_in(self._context), word)

    def must_write(self, name: str, **fields: int) -> None:
        """Write a register whose write is refused only by a lock or for an invalid target.

        Raises
        ------
        T3Error
            If the hardware refused the write.
        ValueError
            If a value does not fit its field.
        """
        if not self.write(name, **fields):
            raise T3Error(f"the hardware refused {name}")

    def write_wide(self, name: str, value: int) -> None:
        """Write a pair of registers, ``name_LO`` and ``name_HI``, with a number of bytes."""
        value &= (1 << 64) - 1
        self.write(f"{name}_LO", bytes=value & 0xFFFF_FFFF)
        self.write(f"{name}_HI", bytes=value >> 32)

    def read(self, name: str) -> dict[str, int]:
        """Read the fields of a register."""
        register = load()[name]
        return register.unpack(self._bus.read(register.address_in(self._context)))

    def take_errors(self) -> list[HardwareError]:
        """Remove the errors from the log, and return them, oldest first.

        Errors that occur meanwhile are left for the next call.

        Raises
        ------
        T3Error
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
        self.must_write(f"{self._prefix}CONTROL", drop_error=1)
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
        self.must_write(f"{self._prefix}CONTROL", clear_error=1)

    def enable_interrupts(self, **kinds: bool) -> None:
        """Enable these kinds of interrupts, and disable all others."""
        self.must_write(f"{self._prefix}INTERRUPT_ENABLE", **{"error": False, **kinds})

    def take_interrupts(self) -> set[str]:
        """Clear the pending interrupts, and return their kinds."""
        name = f"{self._prefix}INTERRUPTS"
        seen = {kind for kind, happened in self.read(name).items() if happened}
        self.must_write(name, **dict.fromkeys(seen, 1))
        return seen
