"""How the driver reaches the registers: any object that reads and writes 32-bit words."""

from typing import Protocol

__all__ = ["Bus", "MappedRegisters", "Recorder"]


class Bus(Protocol):
    """A register port.

    Addresses are those of ``t3.rdl``, in bytes from the block's first register.
    """

    def write(self, address: int, word: int) -> bool:
        """Write a word; gives whether the hardware took it, as far as the bus tells."""
        ...

    def read(self, address: int) -> int:
        """Read a word."""
        ...


class MappedRegisters:
    """Registers in memory of this process, as an operating system maps a device's.

    The answers to writes are not seen here; the driver reads STATUS for them.

    Parameters
    ----------
    memory : memoryview
        From the block's first register on, writable; seen as 32-bit words.
    """

    def __init__(self, memory: memoryview):
        self._words = memory.cast("B").cast("I")

    def write(self, address: int, word: int) -> bool:
        """See :meth:`Bus.write`; always true."""
        self._words[address // 4] = word
        return True

    def read(self, address: int) -> int:
        """See :meth:`Bus.read`."""
        return self._words[address // 4]


class Recorder:
    """Remembers writes, for something else to play them; what it reads is 0.

    Attributes
    ----------
    writes : list of (int, int)
        Addresses and words.
    """

    def __init__(self) -> None:
        self.writes: list[tuple[int, int]] = []

    def write(self, address: int, word: int) -> bool:
        """See :meth:`Bus.write`; always true."""
        self.writes.append((address, word))
        return True

    def read(self, address: int) -> int:
        """See :meth:`Bus.read`; always 0: nothing was refused, nothing runs."""
        return 0
