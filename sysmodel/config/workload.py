"""Workload: one GEMM of a tensor-parallel layer, whose output is all-reduced."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from .arguments import Checked
from .schema import integer, one_of, text

__all__ = [
    "DTYPES",
    "ELEMENT_BYTES",
    "LARGEST",
    "LARGEST_TP",
    "DtypeName",
    "Workload",
    "custom_gemm",
]

DtypeName = Literal["fp16", "bf16"]
DTYPES: tuple[DtypeName, ...] = get_args(DtypeName)
"""Number formats of operands and output."""
ELEMENT_BYTES = 2
"""Size of an element of operands and output, in each of the formats."""

LARGEST_TP = 72  # GPUs of an NVL72 rack
LARGEST = {"m": 1 << 20, "n": 1 << 17, "k": 1 << 20}


@dataclass(frozen=True, kw_only=True)
class Workload(Checked):
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
        A value is not allowed.
    """

    model: Annotated[str, text()]
    layer: Annotated[str, text()]
    tp: Annotated[int, integer(2, LARGEST_TP)]
    m: Annotated[int, integer(1, LARGEST["m"])]
    n: Annotated[int, integer(1, LARGEST["n"])]
    k: Annotated[int, integer(1, LARGEST["k"])]
    dtype: Annotated[DtypeName, one_of(DTYPES)] = "fp16"

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


def custom_gemm(m: int, n: int, k: int, tp: int, dtype: DtypeName = "fp16") -> Workload:
    """Make the workload of a GEMM of explicit sizes, which belongs to no model.

    Raises
    ------
    InputError
        A value is not allowed.
    """
    return Workload(model="custom", layer="gemm", tp=tp, m=m, n=n, k=k, dtype=dtype)
