"""Counted events of a run by activity of its program, and their energy."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields

__all__ = ["DramBytes", "Energy", "Events", "LinkBytes"]


@dataclass(frozen=True, kw_only=True)
class DramBytes:
    """Bytes that one whole GPU moves to and from its memory, by activity.

    Attributes
    ----------
    read, write : mapping
        Bytes by name of the activity; both have the same names.
    """

    read: Mapping[str, int]
    write: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """Bytes by category, such as ``rs_read``."""
        return {
            f"{name}_{way}": getattr(self, way)[name]
            for name in self.read
            for way in ("read", "write")
        }


@dataclass(frozen=True, kw_only=True)
class LinkBytes:
    """Bytes that one whole GPU sends over its links, by collective.

    Attributes
    ----------
    payload : mapping
        Payload by name of the collective.
    overhead : mapping
        Headers and check bits of its packets, by the same names.
    """

    payload: Mapping[str, int]
    overhead: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """Bytes by category: ``rs``, ``rs_overhead``."""
        headers = {f"{name}_overhead": count for name, count in self.overhead.items()}
        return {**self.payload, **headers}


@dataclass(frozen=True, kw_only=True)
class Events:
    """Events of one whole GPU that do not follow from its bytes. An access is one memory atom.

    Attributes
    ----------
    activates : int
        DRAM rows opened.
    updates : mapping
        Op-and-store accesses among the writes, by name of each GEMM and reduction.
    dma_reads : int
        Reads of the DMA engine, whose data go to the link.
    cu_loads, cu_stores, cu_additions : int
        Atoms that the collectives' kernels on the CUs load, store and sum.
    tiles : int
        Tiles that the tracker reported complete.
    flip_flop_clocks : int
        Clock edges at flip-flops of the T3 hardware; flip-flops of a gated block have none.
    """

    activates: int
    updates: Mapping[str, int]
    dma_reads: int
    cu_loads: int
    cu_stores: int
    cu_additions: int
    tiles: int
    flip_flop_clocks: int

    def as_dict(self) -> dict[str, int]:
        """Events by name; updates are those of an activity, such as ``rs_updates``."""
        found: dict[str, int] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "updates":
                found |= {f"{name}_updates": count for name, count in value.items()}
            else:
                found[field.name] = value
        return found


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Dynamic energy of one whole GPU in J; ``docs/energy.md`` defines the parts.

    Attributes
    ----------
    dram_activate, dram_read, dram_write, dram_update : float
        Energy of opened rows, and of the bits of the three kinds of accesses.
    nmc : float
        Energy of the additions at the banks.
    link : float
        Energy of the data that the GPU sends.
    network : float
        Energy of the die's wires for communication.
    cu : float
        Energy of the instructions of the collectives' kernels.
    dma, tracker, logic : float
        Energy of the T3 hardware: memories of the lanes, memories of the tracker, and flip-flops
        with their gates.
    """

    dram_activate: float
    dram_read: float
    dram_write: float
    dram_update: float
    nmc: float
    link: float
    network: float
    cu: float
    dma: float
    tracker: float
    logic: float

    @property
    def dram(self) -> float:
        return self.dram_activate + self.dram_read + self.dram_write + self.dram_update

    @property
    def t3(self) -> float:
        return self.dma + self.tracker + self.logic

    @property
    def total(self) -> float:
        total: float = sum(astuple(self))
        return total
