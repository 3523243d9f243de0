"""Models in TOML files: a Transformer by its hyperparameters, or a list of GEMMs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from sysmodel.lib.errors import InputError

from .arguments import checked
from .bundled import MODELS, known_name, name_key
from .schema import Strict, integer, read_toml, text, validate
from .workload import LARGEST, LARGEST_TP, DtypeName, Workload

__all__ = [
    "SUBLAYERS",
    "GemmList",
    "LayerName",
    "Model",
    "Transformer",
    "known_models",
    "load_model",
    "workload_of",
]

LayerName = Literal["op", "fc1", "fc2", "ip"]
SUBLAYERS: Mapping[LayerName, str] = {
    "op": "attention output projection, forward",
    "fc1": "first feed-forward layer, backward",
    "fc2": "second feed-forward layer, forward",
    "ip": "attention input projection, backward",
}
"""Sublayers of a Transformer whose outputs are all-reduced, sliced as in Megatron-LM."""

Tokens = Annotated[int, integer(1, LARGEST["m"])]
_Degree = Annotated[int, integer(2, LARGEST_TP)]
_Degrees = Annotated[list[_Degree], Field(min_length=1, description="a list of degrees")]


class _Described(Strict):
    """Keys that every model has.

    Parameters
    ----------
    name : str
        Name in tables; the default is the file's name.
    tensor_parallel : list
        Degrees of tensor parallelism to study.
    source, confidence : str
        Source of the figures, and its reliability: H (two sources agree), M (one secondary source)
        or L (recalled).
    """

    name: str = text()
    tensor_parallel: _Degrees
    source: str = text()
    confidence: str = text()


class Transformer(_Described):
    """Transformer by its hyperparameters.

    Parameters
    ----------
    head_dim : int or None
        Width of queries, keys and values; the default is ``hidden / heads``.
    kv_heads : int or None
        Key and value heads, which groups of heads share; the default is ``heads``.
    ffn : int or None
        Width of the feed-forward layers, or of each expert; the default is ``4 * hidden``.
    gated : bool
        The feed-forward input consists of two projections; one gates the other.
    experts, experts_per_token : int
        Number of feed-forward layers, and number of them that process a token.
    sequence, batch : int
        Size of a batch: length and number of its sequences.
    sublayers : list or None
        Sublayers whose output is all-reduced; the default is all.
    """

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

    @model_validator(mode="after")
    def _consistent(self) -> "Transformer":
        for name, of in (("kv_heads", self.heads), ("experts_per_token", self.experts)):
            value = getattr(self, name)
            if value is not None and (value > of or (name == "kv_heads" and of % value)):
                allowed = f"a divisor of heads, {of}" if name == "kv_heads" else f"at most {of}"
                raise InputError(name, f"{value} is not allowed; allowed: {allowed}")
        if self.head_dim is None and self.hidden % self.heads:
            raise InputError(
                "head_dim", "missing; it has no default if heads does not divide hidden"
            )
        return self

    @property
    def tokens(self) -> int:
        """Tokens of a batch."""
        return self.sequence * self.batch

    @property
    def is_classical(self) -> bool:
        """True for the original Transformer: feed-forward width of ``4 * hidden``, no groups."""
        changed = self.head_dim, self.kv_heads, self.ffn
        return changed == (None, None, None) and not self.gated and self.experts == 1

    @property
    def reduced(self) -> dict[str, str]:
        """All-reduced sublayers by name, with their descriptions."""
        return {name: SUBLAYERS[name] for name in self.sublayers or get_args(LayerName)}

    def products(self, layer: LayerName) -> int:
        """Products in each sum of a sublayer's GEMM, on all GPUs together.

        ``op``: the attention's output projection, forward; ``fc2``: the second feed-forward layer,
        forward; ``fc1``: the gradient through the first one, with both projections if it is gated;
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
        """Tokens in a sublayer's GEMM: all, or the even share of one expert."""
        if layer in ("op", "ip"):
            return tokens
        return -(-tokens * self.experts_per_token // self.experts)

    def workload(
        self, layer: str, tp: int, tokens: int | None = None, dtype: DtypeName = "fp16"
    ) -> Workload:
        """Workload of a sublayer, named in any case, with or without a hyphen.

        Raises
        ------
        InputError
            The model has no such sublayer, or ``tp`` does not divide the sublayer.
        """
        name: LayerName = known_name("layer", layer, list(self.reduced))  # type: ignore[assignment]
        tp = checked("tp", tp, int)
        products = self.products(name)
        divisors = [d for d in range(2, LARGEST_TP + 1) if products % d == 0]
        if tp not in divisors:
            raise InputError(
                "tp",
                f"{tp} does not divide the {products} products of {self.name}'s {name}; "
                f"allowed: {', '.join(map(str, divisors))}",
            )
        return Workload(
            model=self.name,
            layer=name,
            tp=tp,
            m=self.rows(name, self.tokens if tokens is None else checked("tokens", tokens, Tokens)),
            n=self.hidden,
            k=products // tp,
            dtype=dtype,
        )


class ListedGemm(Strict):
    """GEMM of one GPU.

    Parameters
    ----------
    m, n, k : int
        The output is ``m`` by ``n``, each element the sum of ``k`` products.
    then : str
        Operation after the GEMM: ``all-reduce``, which T3 can hide, or ``nothing``.
    """

    name: str = text()
    m: int = integer(1, LARGEST["m"])
    n: int = integer(1, LARGEST["n"])
    k: int = integer(1, LARGEST["k"])
    then: Literal["all-reduce", "nothing"] = "all-reduce"


class GemmList(_Described):
    """Model by its GEMMs; each has the size on one GPU at the degrees of ``tensor_parallel``."""

    gemm: Annotated[list[ListedGemm], Field(min_length=1, description="one or more [[gemm]]")]

    @model_validator(mode="after")
    def _consistent(self) -> "GemmList":
        names = [name_key(one.name) for one in self.gemm]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InputError(f"gemm.{index}.name", f"{self.gemm[index].name!r} occurs twice")
        if not self.reduced:
            raise InputError("gemm", 'no GEMM has then = "all-reduce"; T3 hides only all-reduces')
        return self

    @property
    def reduced(self) -> dict[str, str]:
        """All-reduced GEMMs by name, with their sizes."""
        return {
            one.name: f"{one.m} x {one.n} x {one.k}" for one in self.gemm if one.then != "nothing"
        }

    def workload(
        self, layer: str, tp: int, tokens: int | None = None, dtype: DtypeName = "fp16"
    ) -> Workload:
        """Workload of a GEMM, named in any case, with or without a hyphen.

        Raises
        ------
        InputError
            No all-reduced GEMM has that name, ``tp`` is not a degree of the model, or ``tokens``
            are given although the sizes of the GEMMs are fixed.
        """
        name = known_name("layer", layer, list(self.reduced))
        tp = checked("tp", tp, int)
        if tp not in self.tensor_parallel:
            allowed = ", ".join(map(str, self.tensor_parallel))
            problem = f"{tp} is not allowed; allowed: {allowed}, the degrees of {self.name}'s GEMMs"
            raise InputError("tp", problem)
        if tokens is not None:
            raise InputError("tokens", f"not allowed: the GEMMs of {self.name} have fixed sizes")
        (gemm,) = (one for one in self.gemm if one.name == name)
        return Workload(
            model=self.name, layer=name, tp=tp, m=gemm.m, n=gemm.n, k=gemm.k, dtype=dtype
        )


Model: TypeAlias = Transformer | GemmList


def load_model(source: str | Path, beside: Path = Path()) -> Model:
    """Read a model from a file, or a bundled model by its name in any case.

    Parameters
    ----------
    source : str or Path
        Name of a bundled model, or path; a string with a ``/`` or with the suffix ``.toml`` is a
        path.
    beside : Path
        Folder to which a path is relative.

    Raises
    ------
    InputError
        The model is not valid; the message names file, key, value and the allowed values.
    """
    path, where, _ = MODELS.locate(source, "model", beside)
    data: dict[str, Any] = {"name": path.stem, **read_toml(path)}
    return validate(GemmList, data, where) if "gemm" in data else validate(Transformer, data, where)


@cache
def known_models() -> tuple[Transformer, ...]:
    """Load the bundled models, which all have hyperparameters."""
    models = map(load_model, MODELS.names())
    return tuple(model for model in models if isinstance(model, Transformer))


def workload_of(
    model: str | Path, layer: str, tp: int, tokens: int | None = None, dtype: DtypeName = "fp16"
) -> Workload:
    """Workload of a model's sublayer: :func:`load_model` and its ``workload``."""
    return load_model(model).workload(layer, tp, tokens, dtype)
