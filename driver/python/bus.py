"""Register buses of the driver: objects that read and write 32-bit words."""

from typing import Protocol

from rtl.registers.map import MAX_CONTEXTS, load

__all__ = ["Bus", "MappedRegisters", "Recorder"]


class Bus(Protocol):
    """Register port.

    Addresses are those of ``t3.rdl``, in bytes from the block's first register.
    """

    def write(self, address: int, word: int) -> bool:
        """Write a word; return False if the bus reports an error.

        The hardware also answers OKAY to a write that it refuses; the driver reads the page's
        status instead.
        """
        ...

    def read(self, address: int) -> int:
        """Read a word, with the privilege with which :meth:`write` writes."""
        ...


class MappedRegisters:
    """Registers mapped into the address space of this process, for example by an operating system.

    Parameters
    ----------
    memory : memoryview
        Writable memory from the block's first register on; accessed as 32-bit words.
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
    """Recorder of writes, to be replayed later, for hardware of the driver's version with all
    contexts of the map.

    Attributes
    ----------
    writes : list of (int, int)
        Addresses and words.
    """

    def __init__(self) -> None:
        self.writes: list[tuple[int, int]] = []
        registers = load()
        self._words = {registers[name].address: registers[name].reset for name in ("ID", "VERSION")}
        self._words[registers["CONTEXTS"].address] = MAX_CONTEXTS

    def write(self, address: int, word: int) -> bool:
        """See :meth:`Bus.write`; always true."""
        self.writes.append((address, word))
        return True

    def read(self, address: int) -> int:
        """See :meth:`Bus.read`; all registers read as 0 except ID, VERSION and CONTEXTS: no write
        was refused, no launch is running.
        """
        return self._words.get(address, 0)
