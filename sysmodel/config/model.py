"""Models, each a TOML file: a Transformer by its hyperparameters, or a list of GEMMs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from sysmodel.lib.errors import InputError

from .schema import Strict, integer, read_toml, text, validate
from .workload import LARGEST, LARGEST_TP, Workload

__all__ = [
    "SUBLAYERS",
    "GemmList",
    "LayerName",
    "Model",
    "Transformer",
    "known_models",
    "load_model",
    "model_names",
    "model_path",
    "workload_of",
]

_FOLDER = Path(__file__).parent / "models"

LayerName = Literal["op", "fc1", "fc2", "ip"]
SUBLAYERS: Mapping[LayerName, str] = {
    "op": "attention output projection, forward",
    "fc1": "first feed-forward layer, backward",
    "fc2": "second feed-forward layer, forward",
    "ip": "attention input projection, backward",
}
"""Sublayers of a Transformer whose outputs are all-reduced, sliced as in Megatron-LM."""

_Degree = Annotated[int, integer(2, LARGEST_TP)]
_Degrees = Annotated[list[_Degree], Field(min_length=1, description="a list of degrees")]


class _Described(Strict):
    """What every model has.

    Parameters
    ----------
    name : str
        For tables; the file's name if not given.
    tensor_parallel : list
        Degrees that are studied.
    source, confidence : str
        Where the figures come from, and how sure they are: H, two sources agree; M, one secondary
        source; L, recalled.
    """

    name: str = text()
    tensor_parallel: _Degrees
    source: str = text()
    confidence: str = text()


class Transformer(_Described):
    """A Transformer by its hyperparameters.

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

    @property
    def reduced(self) -> dict[str, str]:
        """Names of what is all-reduced, and what each is."""
        return {name: SUBLAYERS[name] for name in self.sublayers or get_args(LayerName)}

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

    def workload(self, layer: str, tp: int, tokens: int | None = None) -> Workload:
        """Workload of a sublayer; in any case, with or without a hyphen.

        Raises
        ------
        InputError
            It has no such sublayer, or ``tp`` does not divide it.
        """
        name: LayerName = _named("layer", layer, list(self.reduced))  # type: ignore[assignment]
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
            m=self.rows(name, self.tokens if tokens is None else _checked(tokens)),
            n=self.hidden,
            k=products // tp,
        )


class ListedGemm(Strict):
    """A GEMM of one GPU.

    Parameters
    ----------
    name : str
    m, n, k : int
        The output is ``m`` by ``n``, each element the sum of ``k`` products.
    then : str
        What follows: ``all-reduce``, or ``nothing`` that T3 could hide.
    """

    name: str = text()
    m: int = integer(1, LARGEST["m"])
    n: int = integer(1, LARGEST["n"])
    k: int = integer(1, LARGEST["k"])
    then: Literal["all-reduce", "nothing"] = "all-reduce"


class GemmList(_Described):
    """A model by its GEMMs, each of the size that one GPU computes at the degrees of
    ``tensor_parallel``."""

    gemm: Annotated[list[ListedGemm], Field(min_length=1, description="one or more [[gemm]]")]

    @model_validator(mode="after")
    def _consistent(self) -> "GemmList":
        names = [_key(one.name) for one in self.gemm]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InputError(f"gemm.{index}.name", f"{self.gemm[index].name!r} is there twice")
        if not self.reduced:
            raise InputError("gemm", 'has none with then = "all-reduce", which is what T3 hides')
        return self

    @property
    def reduced(self) -> dict[str, str]:
        """Names of what is all-reduced, and what each is."""
        return {
            one.name: f"{one.m} x {one.n} x {one.k}" for one in self.gemm if one.then != "nothing"
        }

    def workload(self, layer: str, tp: int, tokens: int | None = None) -> Workload:
        """Workload of a GEMM; in any case, with or without a hyphen.

        Raises
        ------
        InputError
            It has no such GEMM that is all-reduced, ``tp`` is not one of its degrees, or there are
            ``tokens``, which its sizes say already.
        """
        name = _named("layer", layer, list(self.reduced))
        if tp not in self.tensor_parallel:
            allowed = ", ".join(map(str, self.tensor_parallel))
            problem = f"{tp} is not allowed; allowed: {allowed}, for which {self.name}'s GEMMs are"
            raise InputError("tp", problem)
        if tokens is not None:
            raise InputError("tokens", f"not allowed: the GEMMs of {self.name} have their sizes")
        (gemm,) = (one for one in self.gemm if one.name == name)
        return Workload(model=self.name, layer=name, tp=tp, m=gemm.m, n=gemm.n, k=gemm.k)


Model: TypeAlias = Transformer | GemmList


def model_names() -> list[str]:
    """Names of the models that come along."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def load_model(source: str, beside: Path = Path()) -> Model:
    """Read a model from a file, or by a bundled model's name in any case.

    Parameters
    ----------
    source : str
        A name, or a path that ends in ``.toml``.
    beside : Path
        Folder to which a path is relative.

    Raises
    ------
    InputError
        One line that names the file, the key, its value and what is allowed.
    """
    if not source.endswith(".toml"):
        return _read(model_path(source), source)
    path = beside / source
    if not path.exists():
        raise InputError("model", f"{source!r}: no such file")
    return _read(path, source)


@cache
def known_models() -> tuple[Transformer, ...]:
    """The models that come along; all have hyperparameters."""
    models = map(load_model, model_names())
    return tuple(model for model in models if isinstance(model, Transformer))


def model_path(name: str) -> Path:
    """File of a bundled model, by its name in any case.

    Raises
    ------
    InputError
        It is not known.
    """
    return _FOLDER / f"{_named('model', name, model_names())}.toml"


def workload_of(model: str, layer: str, tp: int, tokens: int | None = None) -> Workload:
    """Workload of a model's sublayer: :func:`load_model` and its ``workload``."""
    return load_model(model).workload(layer, tp, tokens)


def _checked(tokens: int) -> int:
    if not 1 <= tokens <= LARGEST["m"]:
        problem = f"{tokens} is not allowed; allowed: an integer from 1 to {LARGEST['m']}"
        raise InputError("tokens", problem)
    return tokens


def _read(path: Path, where: str) -> Model:
    data: dict[str, Any] = {"name": path.stem, **read_toml(path)}
    return validate(GemmList, data, where) if "gemm" in data else validate(Transformer, data, where)


def _named(field: str, wanted: str, known: list[str]) -> str:
    for name in known:
        if _key(name) == _key(wanted):
            return name
    raise InputError(field, f"{wanted!r} is not known; allowed: {', '.join(known)}")


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
