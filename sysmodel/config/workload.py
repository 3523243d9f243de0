"""What is computed: one GEMM of a tensor-parallel layer, whose output is all-reduced."""

from dataclasses import dataclass

from sysmodel.lib.errors import InputError

__all__ = ["DTYPE_BYTES", "LARGEST", "LARGEST_TP", "Workload", "custom_gemm"]

DTYPE_BYTES = {"fp16": 2, "bf16": 2}
LARGEST_TP = 64
LARGEST = {"m": 1 << 20, "n": 1 << 17, "k": 1 << 20}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The GEMM of one sublayer on each of ``tp`` GPUs, whose outputs are then all-reduced.

    Parameters
    ----------
    model, layer : str
        Where it comes from.
    tp : int
        GPUs that share the layer.
    m, n, k : int
        The output is ``m`` tokens by ``n`` features, each the sum of ``k`` products.
    dtype : str
        Of operands and output.

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
        if self.dtype not in DTYPE_BYTES:
            raise InputError(
                "dtype", f"{self.dtype!r} is not allowed; allowed: {', '.join(DTYPE_BYTES)}"
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
    def dtype_bytes(self) -> int:
        return DTYPE_BYTES[self.dtype]

    @property
    def output_bytes(self) -> int:
        return self.m * self.n * self.dtype_bytes

    @property
    def flops(self) -> int:
        """Of one GPU."""
        return 2 * self.m * self.n * self.k

    @property
    def title(self) -> str:
        return f"{self.model} {self.layer}, TP {self.tp} ({self.m} x {self.n} x {self.k})"


def custom_gemm(m: int, n: int, k: int, tp: int, dtype: str = "fp16") -> Workload:
    """A GEMM of explicit sizes, which is of no model.

    Raises
    ------
    InputError
        A size is out of bounds.
    """
    return Workload(model="custom", layer="gemm", tp=tp, m=m, n=n, k=k, dtype=dtype)
