"""Options and result of a check with real values."""

import os
from dataclasses import dataclass
from typing import Literal

from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPES, LARGEST
from sysmodel.lib.errors import InputError

from .engines import ENGINES, EngineName

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
    """GEMM of m × n × k on each GPU, whose results the ring adds up."""

    m: int
    n: int
    k: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k} {self.dtype}"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Options of a check: a GEMM with real values on every GPU and channel, or two at a time.

    Parameters
    ----------
    gpus : int
        Number of GPUs in the ring.
    m, n, k : int
        Size of each GPU's GEMM.
    dtype : str
        Format of operands and output: ``fp16`` or ``bf16``.
    contexts : int
        Contexts that work at the same time; the second one has an output of n × m in the other
        format.
    granularity : str
        Owner of the tile that is sent on when complete: ``workgroup`` or ``wavefront``.
    engine : str
        Engine of the T3 hardware: ``rtl`` or ``golden``.
    channels : int
        Memory channels of every GPU, a power of two.
    skew : int
        Memory cycles between the starts of two neighbouring GPUs.
    back_pressure : int
        Share of cycles, in percent and at random, in which a link accepts nothing.
    seed : int
        Seed of the operands and of every other random choice.

    Raises
    ------
    InputError
        A value is not allowed.
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
            ("dtype", DTYPES),
            ("granularity", GRANULARITIES),
            ("engine", ENGINES),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(name, f"{value!r} is not allowed; allowed: {', '.join(allowed)}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problem of each context."""
        (other,) = set(DTYPES) - {self.dtype}
        first = Problem(self.m, self.n, self.k, self.dtype)
        return (first, Problem(self.n, self.m, self.k, other))[: self.contexts]

    @property
    def needed_bytes(self) -> int:
        """Memory that the check takes, for each context: operands and product in fp32, and for each
        GPU its product, the result of the hardware with its epochs, and the expected result."""
        output = self.m * self.n
        operands = (self.m + self.n) * self.k
        return self.contexts * (self.gpus * output * 16 + (output + 2 * operands) * 4)


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Element whose bits differ: its place, and both bit patterns."""

    gpu: int
    row: int
    column: int
    expected: int
    found: int
    context: int = 0


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """Result of a check.

    Attributes
    ----------
    passed : bool
        Every bit of every element agrees and the hardware reported no error.
    elements, mismatches : int
        Number of compared elements, and of those that differ.
    first_mismatches : tuple of Mismatch
        First elements that differ.
    launches : int
        Launches in which the output was computed, slice by slice.
    errors : tuple of str
        Errors that the hardware or the loop reported.
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
