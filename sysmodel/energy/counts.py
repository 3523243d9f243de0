"""What is counted, and the energy that it is turned into."""

from dataclasses import asdict, astuple, dataclass

__all__ = ["Activity", "DramBytes", "Energy", "LinkBytes"]


@dataclass(frozen=True, kw_only=True)
class DramBytes:
    """Bytes that one whole GPU moves to and from its memory."""

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
    """Bytes that one whole GPU sends over its link to the downstream neighbour."""

    rs: int
    ag: int

    @property
    def total(self) -> int:
        return self.rs + self.ag


@dataclass(frozen=True, kw_only=True)
class Activity:
    """Events of one whole GPU that its bytes do not tell. Accesses are of one memory atom.

    Attributes
    ----------
    activates : int
        DRAM rows opened.
    gemm_updates, rs_updates : int
        Of the GEMM's and the reduce-scatter's writes, those that are op-and-store.
    dma_reads : int
        Reads of the DMA engine, which go to the link.
    cu_loads, cu_stores, cu_additions : int
        Of the collectives' kernels on the CUs: atoms loaded, stored and summed.
    tiles : int
        Tiles that the tracker saw complete.
    flip_flop_clocks : int
        Clock edges at flip-flops of the T3 hardware; those of a part that sleeps have none.
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
    """Dynamic energy of one whole GPU in J; ``docs/energy.md`` says what belongs to what.

    Attributes
    ----------
    dram_activate, dram_read, dram_write, dram_update : float
        Rows opened; bits of the three kinds of accesses.
    nmc : float
        Additions beside the banks.
    link : float
        What the GPU sends.
    network : float
        Wires of the die, for the communication.
    cu : float
        Instructions of the collectives' kernels.
    dma, tracker, logic : float
        The T3 hardware: its memories in the lanes and in the tracker; its flip-flops and gates.
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
