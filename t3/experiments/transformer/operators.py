"""Operators of a Transformer layer, with their work and their traffic."""

from dataclasses import dataclass
from typing import Literal, get_args

from sysmodel.config.model import Transformer
from sysmodel.lib.errors import InputError

__all__ = ["FP32", "KINDS", "MIXED", "Gemm", "Kind", "LayerShape", "Operator", "Phase", "Precision"]

Kind = Literal["gemm", "attention gemm", "attention", "normalisation", "activation", "optimizer"]
Phase = Literal["forward", "backward", "update"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Format of the numbers, and rate at which they are multiplied.

    Parameters
    ----------
    name : str
        Name in tables.
    element_bytes : int
        Size of activations, gradients and the weights that GEMMs read. Mixed precision also holds a
        master copy of the weights in fp32.
    rate_divisor : int
        Rate of the matrix pipe in fp16 over the rate of the GEMMs.
    """

    name: str
    element_bytes: int
    rate_divisor: int


MIXED = Precision(name="mixed", element_bytes=2, rate_divisor=1)
# V100: 64 fused multiply-adds a clock in an SM, 128 FLOP, an eighth of its 1024 for fp16 matrices.
FP32 = Precision(name="fp32", element_bytes=4, rate_divisor=8)


@dataclass(frozen=True)
class Gemm:
    """``count`` products of an ``m`` by ``k`` and a ``k`` by ``n`` matrix.

    ``count`` is not whole where the GPUs do not divide the attention heads.
    """

    m: float
    n: float
    k: float
    count: float = 1

    @property
    def flops(self) -> float:
        return 2 * self.m * self.n * self.k * self.count

    @property
    def operands(self) -> float:
        """Elements of both operands, each read once."""
        return (self.m + self.n) * self.k * self.count

    @property
    def outputs(self) -> float:
        return self.m * self.n * self.count


@dataclass(frozen=True, kw_only=True)
class Operator:
    """Kernel on one GPU.

    Parameters
    ----------
    name, kind, phase : str
        Name, kind of operator, and pass.
    read_bytes, written_bytes : float
        Memory traffic, every operand once.
    gemm : Gemm, optional
        Sizes of a GEMM.
    sublayer : str, optional
        Name in the table of workloads, if the output is all-reduced.
    """

    name: str
    kind: Kind
    phase: Phase
    read_bytes: float
    written_bytes: float
    gemm: Gemm | None = None
    sublayer: str | None = None

    @property
    def flops(self) -> float:
        """Work of a GEMM; the arithmetic of other operators hides behind their traffic: 0."""
        return self.gemm.flops if self.gemm else 0.0

    @property
    def moved_bytes(self) -> float:
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True, kw_only=True)
class LayerShape:
    """Shape of a layer on each of ``tp`` GPUs, sliced as in Megatron-LM.

    Parameters
    ----------
    hidden, heads, sequence, batch : int
        Sizes of the model; ``batch`` sequences are computed at a time.
    kv_heads, head_dim, ffn : int or None
        Values other than ``heads``, ``hidden / heads`` and ``4 * hidden``.
    gated : bool
        The feed-forward input consists of two projections; one gates the other.
    experts, experts_per_token : int
        Feed-forward layers, among which the tokens are routed evenly.
    biases : bool
        Every matrix has a bias, and layer norms subtract the mean.
    tp : int
        GPUs that share the layer. Each GPU computes layer norms, dropouts and residuals after an
        all-reduce in full.
    attention_tp : int
        GPUs that share the attention: ``tp``, or 1 if it is not sliced. If their number does not
        divide the heads, they are still assumed to share the heads evenly.
    precision : Precision
        Precision of all operators.

    Raises
    ------
    InputError
        The heads do not divide the hidden size, or the GPUs do not.
    """

    hidden: int
    heads: int
    sequence: int
    batch: int
    tp: int = 1
    attention_tp: int = 1
    precision: Precision = MIXED
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    gated: bool = False
    experts: int = 1
    experts_per_token: int = 1
    biases: bool = True

    def __post_init__(self) -> None:
        divisors = {"tp": self.tp} if self.head_dim else {"heads": self.heads, "tp": self.tp}
        for name, value in divisors.items():
            if self.hidden % value:
                raise InputError(
                    name, f"{value} is not allowed; allowed: a divisor of hidden = {self.hidden}"
                )

    @classmethod
    def of(cls, model: Transformer, tp: int, *, attention_tp: int) -> "LayerShape":
        """A layer of a model of the table, in mixed precision.

        Raises
        ------
        InputError
            The all-reduces of the model's layers differ from Megatron-LM's; such layers are not
            supported.
        """
        if model.sublayers is not None:
            raise InputError("model", f"{model.name} has layers whose operators are not counted")
        return cls(
            kv_heads=model.kv_heads,
            head_dim=model.head_dim,
            ffn=model.ffn,
            gated=model.gated,
            experts=model.experts,
            experts_per_token=model.experts_per_token,
            biases=model.is_classical,
            hidden=model.hidden,
            heads=model.heads,
            sequence=model.sequence,
            batch=model.batch,
            tp=tp,
            attention_tp=attention_tp,
        )

    @property
    def tokens(self) -> int:
        return self.sequence * self.batch

    @property
    def head_size(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def attention_width(self) -> int:
        """Width of the output projection's input."""
        return self.heads * self.head_size

    @property
    def qkv_width(self) -> int:
        """Width of queries, keys and values together."""
        return (self.heads + 2 * (self.kv_heads or self.heads)) * self.head_size

    @property
    def ffn_width(self) -> int:
        return self.ffn or 4 * self.hidden

    @property
    def ffn_projections(self) -> int:
        """Number of projections into the feed-forward layer."""
        return 2 if self.gated else 1

    @property
    def expert_tokens(self) -> int:
        """Tokens that go to each expert; all tokens if there is one feed-forward layer."""
        return -(-self.tokens * self.experts_per_token // self.experts)

    @property
    def attention_heads(self) -> float:
        """Matrices of attention scores that a GPU has, over the batch."""
        return self.batch * self.heads / self.attention_tp

    @property
    def parameters(self) -> float:
        """Parameters of a layer on one GPU: the sliced matrices with the biases of their sliced
        outputs, and in full the biases of all-reduced outputs, the two layer norms, and the
        experts' router."""
        hidden, routed = self.hidden, self.experts if self.experts > 1 else 0
        inputs = self.qkv_width + self.experts * self.ffn_projections * self.ffn_width
        outputs = self.attention_width + self.experts * self.ffn_width
        norms = (4 if self.biases else 2) * hidden
        biases = (inputs / self.tp + 2 * hidden) if self.biases else 0
        return hidden * (inputs + outputs) / self.tp + biases + norms + routed * hidden
