"""Published kernels that overlap a GEMM with collectives: the rows that are compared, and others.

A kernel is modelled by a configuration, with the values of the system that describe the kernel.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sysmodel.config.bundled import PRESETS

from .measured_rows import FUSED_OPERATIONS, Rule
from .references import reference_rows

__all__ = [
    "BASELINES",
    "CU_STORES_GB_PER_S",
    "KERNELS",
    "LEFT_OUT",
    "Kernel",
    "Operation",
    "Role",
    "SoftwareRow",
    "left_out_rows",
    "rows_of_operations",
    "software_rows",
]

Row = Mapping[str, str]
Operation = Literal["gemm_rs", "ag_gemm", "gemm_ar"]
Role = Literal["fitted", "held out", "preset"]
"""Origin of the values that describe a row's kernel: this row, other rows of the same kernel, or
the preset alone."""

CU_STORES_GB_PER_S = 0.85
"""Rate at which a CU of Flux sends its tiles, fitted to GEMMs with reduce-scatter on 8 H100: with
0.85, those with M of 2048, 4096, 16384 and 32768 are within 6 %."""

BASELINES = (
    "torch GEMM then RS (NCCL)",
    "torch AG then GEMM",
    "torch GEMM then all-reduce (serial)",
    "NCCL + cuBLAS",
)
"""Libraries' kernels one after the other, as the files name them."""

_FILES = ("measured_gpus.csv", "fused_kernels.csv")
# N and K of one GPU, in the notes of rows whose column of N has the script's arguments.
_SIZE_IN_NOTE = re.compile(r"\(M,(\d+),(\d+)\)")


@dataclass(frozen=True)
class Kernel:
    """Kernel of some rows, and what models it.

    Parameters
    ----------
    implementations : sequence of str
        Its names in the files.
    configuration : str
        Configuration of the model.
    values : mapping
        Values of the system that describe the kernel; all others are the preset's.
    fitted : str
        Begin of the column ``where`` of the rows to which a value was fitted; empty if none was.
    fitted_m : sequence of int
        M of these rows.
    whole : bool
        True if the configuration has all parts of the kernel.
    """

    name: str
    operation: Operation
    implementations: Sequence[str]
    configuration: Literal["fused", "chunked"]
    values: Mapping[str, float] = field(default_factory=dict)
    fitted: str = ""
    fitted_m: Sequence[int] = ()
    whole: bool = True

    def fitted_to(self, row: Row) -> bool:
        """Test whether a value was fitted to a row."""
        from_source = bool(self.fitted) and row["where"].startswith(self.fitted)
        return from_source and int(row["M"]) in self.fitted_m


KERNELS = (
    Kernel(
        "Flux",
        "gemm_rs",
        ("Flux", "Flux fused", "Flux fused, best tuned"),
        "fused",
        {"fused.cu_stores_gb_per_s": CU_STORES_GB_PER_S},
        fitted="bytedance/flux#90",
        fitted_m=(2048, 4096, 16384, 32768),
    ),
    Kernel(
        "Flux",
        "ag_gemm",
        ("Flux fused",),
        "fused",
        fitted="bytedance/flux#90",  # fused.gather_ns of the preset
        fitted_m=(1024, 4096, 8192),
    ),
    Kernel("Triton-distributed", "gemm_rs", ("Triton-distributed",), "fused"),
    Kernel("kraken", "gemm_rs", ("Triton copy-engine fused (kraken)",), "chunked"),
    Kernel(
        "async-TP",
        "gemm_rs",
        ("PyTorch async-TP",),
        "chunked",
        {"chunked.piece_ns": 40_000.0},
        fitted="meta-pytorch/kraken#19",
        fitted_m=(512, 1024),
    ),
    Kernel(
        "async-TP",
        "ag_gemm",
        ("decomposed async-TP",),
        "chunked",
        {"chunked.piece_ns": 17_000.0},
        fitted="pytorch/pytorch#143160",
        fitted_m=(2048,),
    ),
    Kernel("FlagTree", "gemm_ar", ("FlagTree fused, multimem.ld_reduce",), "fused", whole=False),
)
"""Kernels that a configuration models."""

LEFT_OUT = (
    Rule("the source names neither GPU nor N and K", lambda row: row["gpu"] == "Blackwell"),
    Rule("no preset describes H20, L20 and MI308X", lambda row: not _has_preset(row)),
    Rule(
        "libraries without a kernel that overlaps",
        lambda row: row["gpu"] == "A100" and row["implementation"].startswith("torch"),
    ),
    Rule(
        "an all-gather by the switch (multimem)",
        lambda row: row["implementation"] == "multimem all-gather + GEMM",
    ),
    Rule(
        "a kernel whose construction the source does not say",
        lambda row: row["implementation"] == "comm-aware async-TP",
    ),
)
"""Reasons to leave a row out; the first that applies counts."""


@dataclass(frozen=True)
class SoftwareRow:
    """Measured times of a kernel and of the libraries' kernels in turn, or the ratio of both.

    Parameters
    ----------
    torch_us, kernel_us : float or None
        Times, where the source has them.
    speedup : float or None
        Time of the libraries' kernels over the kernel's.
    role : str
        Origin of the values that describe the kernel.
    """

    gpu: str
    gpus: int
    m: int
    n: int
    k: int
    kernel: Kernel
    role: Role
    torch_us: float | None
    kernel_us: float | None
    speedup: float | None

    @property
    def operation(self) -> Operation:
        """Operation of the kernel."""
        return self.kernel.operation

    @property
    def preset(self) -> str:
        """Preset of the GPU."""
        return self.gpu.lower()

    @property
    def wins(self) -> bool | None:
        """True if the kernel is the faster one; None if the source does not compare both."""
        return None if self.speedup is None else self.speedup > 1


def rows_of_operations() -> Iterator[Row]:
    """Rows of kernels that may overlap a GEMM with collectives, and of their baselines."""
    for file in _FILES:
        yield from (row for row in reference_rows(file) if row["op"] in FUSED_OPERATIONS)


def software_rows() -> list[SoftwareRow]:
    """Read the kernels that a configuration models, by kernel in the files' order."""
    rows = [row for row in rows_of_operations() if _has_preset(row)]
    torch = {_work(row): row for row in rows if row["implementation"] in BASELINES}
    return [
        _software_row(row, kernel, torch.get(_work(row)))
        for kernel in KERNELS
        for row in rows
        if row["op"] == kernel.operation and row["implementation"] in kernel.implementations
    ]


def left_out_rows() -> Counter[str]:
    """Count the rows that each reason leaves out."""
    reasons = (
        next((rule.reason for rule in LEFT_OUT if rule.applies(row)), None)
        for row in rows_of_operations()
    )
    return Counter(reason for reason in reasons if reason is not None)


def _has_preset(row: Row) -> bool:
    return row["gpu"].lower() in PRESETS.names()


def _work(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("gpu", "n_gpus", "op", "M", "N", "K_per_gpu", "where"))


def _software_row(row: Row, kernel: Kernel, torch: Row | None) -> SoftwareRow:
    size = _SIZE_IN_NOTE.search(row["note"])
    n, k = map(int, size.groups() if size else (row["N"], row["K_per_gpu"]))
    torch_us = None if torch is None else float(torch["time_us"])
    kernel_us = float(row["time_us"]) if row["time_us"] else None
    speedup = float(row["relative"].split("x")[0]) if row["relative"] else None
    if torch_us is not None and kernel_us is not None:
        speedup = torch_us / kernel_us
    role: Role = "preset"
    if kernel.fitted:
        role = "fitted" if kernel.fitted_to(row) else "held out"
    return SoftwareRow(
        *(row["gpu"], int(row["n_gpus"]), int(row["M"]), n, k, kernel, role),
        *(torch_us, kernel_us, speedup),
    )
