"""What is computed: one tensor-parallel sublayer of a Transformer."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import model_validator

from sysmodel.lib.errors import InputError

from .schema import Strict, integer, read_toml, text, validate

__all__ = [
    "DTYPE_BYTES",
    "LARGEST",
    "LARGEST_TP",
    "LAYERS",
    "LayerName",
    "Model",
    "Sublayer",
    "Table",
    "Workload",
    "known_workloads",
    "load_table",
]

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


LayerName = Literal["op", "fc1", "fc2", "ip"]
LAYERS: tuple[LayerName, ...] = get_args(LayerName)


class Model(Strict):
    """A Transformer.

    Parameters
    ----------
    hidden, layers, heads : int
    head_dim : int or None
        Of queries, keys and values; ``hidden / heads`` if not given.
    kv_heads : int or None
        Key and value heads, which groups of heads share; ``heads`` if not given.
    ffn : int or None
        Width of the feed-forward layers, of each expert if there are experts; ``4 * hidden`` if not
        given.
    gated : bool
        The feed-forward input is two projections, one of which gates the other.
    experts, experts_per_token : int
        Feed-forward layers, and to how many of them a token goes.
    sequence, batch : int
        Tokens of a batch, unless others are asked for.
    sublayers : list or None
        Those whose output is all-reduced; all if not given.
    tensor_parallel : list
        Degrees that are studied.
    source, confidence : str
        Where the figures come from.
    """

    name: str = text()
    hidden: int = integer(1, LARGEST["n"])
    layers: int = integer(1, 10_000)
    heads: int = integer(1, 10_000)
    head_dim: Annotated[int | None, integer(1, 10_000)] = None
    kv_heads: Annotated[int | None, integer(1, 10_000)] = None
    ffn: Annotated[int | None, integer(1, LARGEST["k"])] = None
    gated: bool = False
    experts: Annotated[int, integer(1, 10_000)] = 1
    experts_per_token: Annotated[int, integer(1, 10_000)] = 1
    sequence: int = integer(1, LARGEST["m"])
    batch: int = integer(1, LARGEST["m"])
    sublayers: list[LayerName] | None = None
    tensor_parallel: list[Annotated[int, integer(2, LARGEST_TP)]]
    source: str = text()
    confidence: str = text()

    @model_validator(mode="after")
    def _consistent(self) -> "Model":
        for name, of in (("kv_heads", self.heads), ("experts_per_token", self.experts)):
            value = getattr(self, name)
            if value is not None and (value > of or (name == "kv_heads" and of % value)):
                allowed = f"a divisor of heads, {of}" if name == "kv_heads" else f"at most {of}"
                raise InputError(name, f"{value} is not allowed; allowed: {allowed}")
        if self.head_dim is None and self.hidden % self.heads:
            raise InputError("head_dim", "missing; hidden / heads is no whole number")
        return self

    @property
    def tokens(self) -> int:
        """Of a batch."""
        return self.sequence * self.batch

    @property
    def is_classical(self) -> bool:
        """A decoder or encoder of the first kind: four times as wide in between, no groups."""
        changed = self.head_dim, self.kv_heads, self.ffn
        return changed == (None, None, None) and not self.gated and self.experts == 1

    def products(self, layer: LayerName) -> int:
        """Products in each sum of a sublayer's GEMM, on all GPUs together.

        ``op``: the attention's output projection, forward; ``fc2``: the second feed-forward layer,
        forward; ``fc1``: the gradient through the first one, of both projections if it is gated;
        ``ip``: the gradient through the projections to queries, keys and values.
        """
        head = self.head_dim or self.hidden // self.heads
        ffn = self.ffn or 4 * self.hidden
        if layer == "op":
            return self.heads * head
        if layer == "ip":
            return (self.heads + 2 * (self.kv_heads or self.heads)) * head
        return ffn * (2 if self.gated and layer == "fc1" else 1)

    def rows(self, layer: LayerName, tokens: int) -> int:
        """Tokens in a sublayer's GEMM: all, or those of one expert if they are routed evenly."""
        if layer in ("op", "ip"):
            return tokens
        return -(-tokens * self.experts_per_token // self.experts)


class Sublayer(Strict):
    """A sublayer whose output is all-reduced."""

    name: LayerName
    title: str = text()


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

    def sublayers_of(self, model: Model) -> list[Sublayer]:
        """The sublayers that a model has."""
        has = model.sublayers or LAYERS
        return [sublayer for sublayer in self.sublayer if sublayer.name in has]

    def workload(self, model: str, layer: str, tp: int, tokens: int | None = None) -> Workload:
        """Workload of a model's sublayer; names in any case, layers with or without a hyphen.

        Raises
        ------
        InputError
            An unknown name, or a ``tp`` that does not divide the layer.
        """
        chosen = self.known_model(model)
        sublayer = _named("layer", layer, self.sublayers_of(chosen))
        products = chosen.products(sublayer.name)
        divisors = [d for d in range(2, LARGEST_TP + 1) if products % d == 0]
        if tp not in divisors:
            raise InputError(
                "tp",
                f"{tp} does not divide the {products} products of {chosen.name}'s "
                f"{sublayer.name}; allowed: {', '.join(map(str, divisors))}",
            )
        return Workload(
            model=chosen.name,
            layer=sublayer.name,
            tp=tp,
            m=chosen.rows(sublayer.name, chosen.tokens if tokens is None else tokens),
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
