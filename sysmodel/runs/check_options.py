"""What a check in data mode is asked for and what it gives."""

import os
from dataclasses import dataclass
from typing import Literal

from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPE_BYTES, LARGEST
from sysmodel.lib.errors import InputError

from .result import ENGINES, EngineName

__all__ = ["CheckOptions", "CheckResult", "Mismatch", "Problem"]

_BOUNDS = {
    "gpus": (2, 8),
    "m": (1, LARGEST["m"]),
    "n": (1, LARGEST["n"]),
    "k": (1, LARGEST["k"]),
    "contexts": (1, 2),
    "channels": (1, 32),
    "skew": (0, 1_000_000),
    "back_pressure": (0, 95),
    "seed": (0, (1 << 32) - 1),
}


@dataclass(frozen=True)
class Problem:
    """A GEMM on each GPU, of m × n × k, whose results the ring adds up."""

    m: int
    n: int
    k: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k} {self.dtype}"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """A GEMM with real values on every GPU and channel, or two at the same time.

    Parameters
    ----------
    gpus : int
        GPUs of the ring.
    m, n, k : int
        Size of each GPU's GEMM.
    dtype : str
        ``fp16`` or ``bf16``.
    contexts : int
        2: a second context works at the same time, on an output of n × m in the other format.
    granularity : str
        ``workgroup`` or ``wavefront``: whose complete tile is sent on.
    engine : str
        ``rtl`` or ``golden``.
    channels : int
        Memory channels of every GPU, a power of two.
    skew : int
        Memory cycles that each GPU starts later than the one before.
    back_pressure : int
        Share of cycles, in percent, in which a link takes nothing, at random.
    seed : int
        Of the operands and of all that is random.

    Raises
    ------
    InputError
        A value that is not allowed.
    """

    gpus: int = 4
    m: int = 512
    n: int = 384
    k: int = 128
    dtype: Literal["fp16", "bf16"] = "fp16"
    contexts: int = 1
    granularity: GranularityName = "workgroup"
    engine: EngineName = "rtl"
    channels: int = 2
    skew: int = 0
    back_pressure: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(
                    name.replace("_", "-"),
                    f"{value} is not allowed; allowed: an integer from {least} to {most}",
                )
        if self.channels & (self.channels - 1):
            raise InputError(
                "channels", f"{self.channels} is not allowed; allowed: 1, 2, 4, 8, 16, 32"
            )
        if self.needed_bytes > _memory_bytes():
            raise InputError(
                "m, n, k, gpus",
                f"{self.m} x {self.n} x {self.k} on {self.gpus} GPUs take about "
                f"{self.needed_bytes / 1e9:.1f} GB; allowed: the {_memory_bytes() / 1e9:.1f} GB of "
                "this machine",
            )
        for name, allowed in (
            ("dtype", tuple(DTYPE_BYTES)),
            ("granularity", GRANULARITIES),
            ("engine", ENGINES),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(name, f"{value!r} is not allowed; allowed: {', '.join(allowed)}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What each context computes."""
        (other,) = set(DTYPE_BYTES) - {self.dtype}
        first = Problem(self.m, self.n, self.k, self.dtype)
        return (first, Problem(self.n, self.m, self.k, other))[: self.contexts]

    @property
    def needed_bytes(self) -> int:
        """Memory that the check takes, for each context: each GPU's product, what the hardware
        makes of it, and what it should be, all of 2 bytes an element, with its epochs; operands and
        product in fp32."""
        output = self.m * self.n
        operands = (self.m + self.n) * self.k
        return self.contexts * (self.gpus * output * 16 + (output + 2 * operands) * 4)


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """An element whose bits differ: where, and both bit patterns."""

    gpu: int
    row: int
    column: int
    expected: int
    found: int
    context: int = 0


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """A finished check.

    Attributes
    ----------
    passed : bool
        Every bit of every element agrees and the hardware reported no error.
    elements, mismatches : int
        Compared, and among them different.
    first_mismatches : tuple of Mismatch
        A few, for the report.
    launches : int
        In which the output was computed, slice by slice.
    errors : tuple of str
        What the hardware or the loop reported.
    cycles : int
        Memory cycles simulated.
    wall_s : float
        Time that the simulation took.
    """

    passed: bool
    elements: int
    mismatches: int
    cycles: int
    wall_s: float
    launches: int = 1
    first_mismatches: tuple[Mismatch, ...] = ()
    errors: tuple[str, ...] = ()
