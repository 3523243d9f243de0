"""Measurements of a real GPU, and their kinds."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

__all__ = ["COLLECTIVES", "KINDS", "RINGS", "STREAMS", "Kind", "Measurement"]

Kind = Literal[
    "reduce_scatter",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "gemm",
    "gemm_rs",
    "read",
    "copy",
    "add",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
RINGS: tuple[Kind, ...] = ("reduce_scatter", "all_gather", "all_reduce")
COLLECTIVES: tuple[Kind, ...] = (*RINGS, "all_to_all")
STREAMS: tuple[Kind, ...] = ("read", "copy", "add")
"""Memory streams: one array that is read, one copied into another, two added into a third."""

_NAMES: dict[Kind, str] = {
    "reduce_scatter": "reduce-scatter",
    "all_gather": "all-gather",
    "all_reduce": "all-reduce",
    "all_to_all": "all-to-all",
    "gemm": "GEMM",
    "gemm_rs": "GEMM, then reduce-scatter",
    "read": "memory, read",
    "copy": "memory, copy",
    "add": "memory, add",
}


@dataclass(frozen=True)
class Measurement:
    """One measured time, or the rate of a memory stream.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    value : float
        Time in µs; GB/s, read and written together, for a memory stream.
    gpus : int
        GPUs of a collective.
    message_bytes : int
        Bytes of a collective's whole buffer, as nccl-tests count.
    m, n, k : int
        Shape of a GEMM of two-byte elements on one GPU.
    source : str
        Origin of the row.
    note : str
        Remark about the row, for the tables.
    """

    kind: Kind
    value: float
    gpus: int = 1
    message_bytes: int = 0
    m: int = 0
    n: int = 0
    k: int = 0
    source: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Name of the kind."""
        return _NAMES[self.kind]

    @property
    def unit(self) -> str:
        """Unit of the value."""
        return "GB/s" if self.kind in STREAMS else "µs"

    @property
    def size(self) -> int:
        """Size by which measurements of a kind are ordered."""
        return self.message_bytes or self.m * self.n * self.k

    @property
    def chunk_bytes(self) -> float:
        """Bytes of a chunk."""
        return (self.message_bytes or 2 * self.m * self.n) / self.gpus

    @property
    def work(self) -> "Measurement":
        """Work that was measured, without value and origin."""
        return replace(self, value=0.0, source="", note="")

    @property
    def what(self) -> str:
        """Size in words."""
        if self.kind in COLLECTIVES:
            return f"{self.message_bytes:,} bytes on {self.gpus} GPUs"
        if self.kind in STREAMS:
            return ""
        shape = f"{self.m} x {self.n} x {self.k}"
        return shape if self.kind == "gemm" else f"{shape} on {self.gpus} GPUs"
