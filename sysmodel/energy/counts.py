"""Counted events of a run, and their energy."""

from dataclasses import asdict, astuple, dataclass

__all__ = ["Activity", "DramBytes", "Energy", "LinkBytes"]


@dataclass(frozen=True, kw_only=True)
class DramBytes:
    """Bytes that one whole GPU moves to and from its memory, by kernel."""

    gemm_read: int
    gemm_write: int
    rs_read: int
    rs_write: int
    ag_read: int
    ag_write: int

    @property
    def total(self) -> int:
        return sum(asdict(self).values())


@dataclass(frozen=True)
class LinkBytes:
    """Bytes that one whole GPU sends over its link to the downstream neighbour.

    Attributes
    ----------
    rs, ag : int
        Payload of the reduce-scatter, and of the all-gather.
    rs_overhead, ag_overhead : int
        Headers and check bits of their packets.
    """

    rs: int
    ag: int
    rs_overhead: int = 0
    ag_overhead: int = 0

    @property
    def total(self) -> int:
        return self.rs + self.ag + self.rs_overhead + self.ag_overhead


@dataclass(frozen=True, kw_only=True)
class Activity:
    """Events of one whole GPU that do not follow from its bytes. An access is one memory atom.

    Attributes
    ----------
    activates : int
        DRAM rows opened.
    gemm_updates, rs_updates : int
        Op-and-store accesses among the writes of the GEMM and of the reduce-scatter.
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
    gemm_updates: int
    rs_updates: int
    dma_reads: int
    cu_loads: int
    cu_stores: int
    cu_additions: int
    tiles: int
    flip_flop_clocks: int


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
