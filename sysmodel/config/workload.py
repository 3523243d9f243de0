"""What is computed: one tensor-parallel sublayer of a Transformer."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

from sysmodel.lib.errors import InputError

from .schema import Strict, integer, read_toml, text, validate

__all__ = [
    "DTYPE_BYTES",
    "LARGEST_TP",
    "Model",
    "Sublayer",
    "Table",
    "Workload",
    "known_workloads",
    "load_table",
]

DTYPE_BYTES = {"fp16": 2, "bf16": 2}
LARGEST_TP = 64
_LARGEST = {"m": 1 << 20, "n": 1 << 17, "k": 1 << 20}
_LARGEST_OUTPUT_BYTES = 1 << 30  # operands and output lie in regions of the address space


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
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise InputError(
                    name, f"{value} is not allowed; allowed: an integer from 1 to {most}"
                )

        if self.output_bytes > _LARGEST_OUTPUT_BYTES:
            raise InputError(
                "m",
                f"an output of {self.m} x {self.n} has {self.output_bytes} bytes; "
                f"allowed: {_LARGEST_OUTPUT_BYTES}",
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


class Model(Strict):
    """A Transformer; ``tensor_parallel`` lists the degrees that were studied."""

    name: str = text()
    hidden: int = integer(1, _LARGEST["n"])
    layers: int = integer(1, 10_000)
    heads: int = integer(1, 10_000)
    sequence: int = integer(1, _LARGEST["m"])
    batch: int = integer(1, _LARGEST["m"])
    tensor_parallel: list[Annotated[int, integer(2, LARGEST_TP)]]
    source: str = text()
    confidence: str = text()

    @property
    def tokens(self) -> int:
        """Of a batch."""
        return self.sequence * self.batch


class Sublayer(Strict):
    """A sublayer whose GEMM has ``k_multiple * hidden / tp`` products in each sum."""

    name: str = text()
    title: str = text()
    k_multiple: int = integer(1, 64)


class Table(Strict):
    """Models and sublayers that are known by name."""

    model: list[Model]
    sublayer: list[Sublayer]

    def known_model(self, name: str) -> Model:
        """A model by its name, in any case.

        Raises
        ------
        InputError
            An unknown name.
        """
        return _named("model", name, self.model)

    def workload(self, model: str, layer: str, tp: int) -> Workload:
        """Workload of a model's sublayer; names in any case, layers with or without a hyphen.

        Raises
        ------
        InputError
            An unknown name, or a ``tp`` that does not divide the layer.
        """
        chosen = self.known_model(model)
        sublayer = _named("layer", layer, self.sublayer)
        products = sublayer.k_multiple * chosen.hidden
        divisors = [d for d in range(2, LARGEST_TP + 1) if products % d == 0]
        if tp not in divisors:
            raise InputError(
                "tp",
                f"{tp} does not divide {chosen.name}'s {sublayer.name} "
                f"({sublayer.k_multiple} x {chosen.hidden}); "
                f"allowed: {', '.join(map(str, divisors))}",
            )
        return Workload(
            model=chosen.name,
            layer=sublayer.name,
            tp=tp,
            m=chosen.tokens,
            n=chosen.hidden,
            k=products // tp,
        )


_Named = TypeVar("_Named", Model, Sublayer)


def _named(field: str, wanted: str, known: list[_Named]) -> _Named:
    key = _key(wanted)
    for item in known:
        if _key(item.name) == key:
            return item
    names = ", ".join(item.name.lower() for item in known)
    raise InputError(field, f"{wanted!r} is not known; allowed: {names}")


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def load_table(path: Path, where: str) -> Table:
    """Read a table of models and sublayers.

    Raises
    ------
    InputError
        One line that names the file, the key, its value and what is allowed.
    """
    return validate(Table, read_toml(path), where)


@cache
def known_workloads() -> Table:
    """The table that comes along."""
    path = Path(__file__).parent / "workloads" / "transformers.toml"
    return load_table(path, path.name)
