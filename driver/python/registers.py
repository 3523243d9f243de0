"""The registers of one page over a bus, by name."""

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import load

from .bus import Bus
from .errors import HardwareError, T3Error

__all__ = ["Page"]


class Page:
    """The GPU's page, or a context's.

    Parameters
    ----------
    bus : Bus
    context : int
        Its number; of the GPU's page 0.
    prefix : str
        Of the names of the registers that report errors.
    """

    def __init__(self, bus: Bus, context: int = 0, prefix: str = ""):
        self._bus, self._context, self._prefix = bus, context, prefix

    def write(self, name: str, **fields: int) -> bool:
        """Write a register; fields that are not given have their reset value.

        Raises
        ------
        ValueError
            If a value does not fit its field.
        """
        register = load()[name]
        word = register.pack(**{field: int(value) for field, value in fields.items()})
        return self._bus.write(register.address_in(self._context), word)

    def must_write(self, name: str, **fields: int) -> None:
        """The same for a register that is only refused where a lock covers it, or names nothing.

        Raises
        ------
        T3Error
            If the hardware refused it.
        ValueError
            As :meth:`write`.
        """
        if not self.write(name, **fields):
            raise T3Error(f"the hardware refused {name}")

    def write_wide(self, name: str, value: int) -> None:
        """Write a pair of registers, ``name_LO`` and ``name_HI``, with a number of bytes."""
        value &= (1 << 64) - 1
        self.write(f"{name}_LO", bytes=value & 0xFFFF_FFFF)
        self.write(f"{name}_HI", bytes=value >> 32)

    def read(self, name: str) -> dict[str, int]:
        """A register's fields."""
        register = load()[name]
        return register.unpack(self._bus.read(register.address_in(self._context)))

    def take_errors(self) -> list[HardwareError]:
        """Take the errors that are in the log out of it, oldest first; those that come meanwhile
        are for the next call.

        Raises
        ------
        T3Error
            If a lock keeps them in the log.
        """
        return [self._take_error() for _ in range(self._place()["errors"])]

    def _place(self) -> dict[str, int]:
        return self.read(f"{self._prefix}ERROR_PLACE")

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
        """Cycles in which this was the first error; 65,535: as many or more.

        Raises
        ------
        KeyError
            If it is not counted here.
        """
        return self.read(f"{self._prefix}COUNT_{code.name}")["count"]

    def clear_errors(self) -> None:
        """Forget the log, all counts and their interrupt."""
        self.must_write(f"{self._prefix}CONTROL", clear_error=1)

    def interrupt_by(self, **kinds: bool) -> None:
        """These kinds interrupt, and no others."""
        self.must_write(f"{self._prefix}INTERRUPT_ENABLE", **{"error": False, **kinds})

    def take_interrupts(self) -> set[str]:
        """The kinds that happened since it was asked last."""
        name = f"{self._prefix}INTERRUPTS"
        seen = {kind for kind, happened in self.read(name).items() if happened}
        self.must_write(name, **dict.fromkeys(seen, 1))
        return seen
