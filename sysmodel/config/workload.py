"""Workload: one GEMM of a tensor-parallel layer, whose output is all-reduced."""

from dataclasses import dataclass

from sysmodel.lib.errors import InputError

__all__ = ["DTYPES", "ELEMENT_BYTES", "LARGEST", "LARGEST_TP", "Workload", "custom_gemm"]

DTYPES = ("fp16", "bf16")
"""Number formats of operands and output."""
ELEMENT_BYTES = 2
"""Size of an element of operands and output, in each of the formats."""

LARGEST_TP = 64
LARGEST = {"m": 1 << 20, "n": 1 << 17, "k": 1 << 20}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """GEMM of one sublayer on each of ``tp`` GPUs, whose outputs are then all-reduced.

    Parameters
    ----------
    model, layer : str
        Names of the model and of its sublayer.
    tp : int
        GPUs that share the layer.
    m, n, k : int
        The output is ``m`` tokens by ``n`` features, each the sum of ``k`` products.
    dtype : str
        Number format of operands and output.

    Raises
    ------
    InputError
        A size is out of bounds.
    """

    model: str
    layer: str
    tp: int
    m: int
    n: int
    k: int
    dtype: str = "fp16"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(
                "dtype", f"{self.dtype!r} is not allowed; allowed: {', '.join(DTYPES)}"
            )
        if not 2 <= self.tp <= LARGEST_TP:
            raise InputError(
                "tp", f"{self.tp} is not allowed; allowed: an integer from 2 to {LARGEST_TP}"
            )
        for name, most in LARGEST.items():
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise InputError(
                    name, f"{value} is not allowed; allowed: an integer from 1 to {most}"
                )

    @property
    def output_bytes(self) -> int:
        return self.m * self.n * ELEMENT_BYTES

    @property
    def flops(self) -> int:
        """Operations of one GPU."""
        return 2 * self.m * self.n * self.k

    @property
    def title(self) -> str:
        return f"{self.model} {self.layer}, TP {self.tp} ({self.m} x {self.n} x {self.k})"


def custom_gemm(m: int, n: int, k: int, tp: int, dtype: str = "fp16") -> Workload:
    """Make the workload of a GEMM of explicit sizes, which belongs to no model.

    Raises
    ------
    InputError
        A size is out of bounds.
    """
    return Workload(model="custom", layer="gemm", tp=tp, m=m, n=n, k=k, dtype=dtype)
