"""What a check in data mode is asked for and what it gives."""

from dataclasses import dataclass
from typing import Literal

from sysmodel.config.system import GRANULARITIES, GranularityName
from sysmodel.config.workload import DTYPE_BYTES
from sysmodel.lib.errors import InputError

from .result import ENGINES, EngineName

__all__ = ["CheckOptions", "CheckResult", "Mismatch"]

_BOUNDS = {
    "gpus": (2, 8),
    "m": (1, 4096),
    "n": (1, 4096),
    "k": (1, 8192),
    "channels": (1, 32),
    "skew": (0, 1_000_000),
    "back_pressure": (0, 95),
    "seed": (0, (1 << 32) - 1),
}
_LARGEST_OUTPUT = 1 << 22  # elements, held on every GPU


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """A GEMM with real values on every GPU and channel.

    Parameters
    ----------
    gpus : int
        GPUs of the ring.
    m, n, k : int
        Size of each GPU's GEMM.
    dtype : str
        ``fp16`` or ``bf16``.
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
        if self.m * self.n > _LARGEST_OUTPUT:
            raise InputError(
                "m",
                f"{self.m} x {self.n} makes {self.m * self.n} elements; "
                f"allowed: at most {_LARGEST_OUTPUT}",
            )
        for name, allowed in (
            ("dtype", tuple(DTYPE_BYTES)),
            ("granularity", GRANULARITIES),
            ("engine", ENGINES),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(name, f"{value!r} is not allowed; allowed: {', '.join(allowed)}")


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """An element whose bits differ: where, and both bit patterns."""

    gpu: int
    row: int
    column: int
    expected: int
    found: int


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
    first_mismatches: tuple[Mismatch, ...] = ()
    errors: tuple[str, ...] = ()
