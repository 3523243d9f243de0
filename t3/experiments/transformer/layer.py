"""Operators of one layer's forward and backward pass, kernel by kernel as in Megatron-LM.

Every kernel reads and writes memory. Only scale, mask and softmax, bias and GeLU, and dropout and
residual are fused. Scores are computed in full, even where a causal mask drops half of them.
Gradients of biases are assumed to be summed by the kernels that already hold them.
"""

from collections.abc import Sequence

from .operators import Gemm, Kind, LayerShape, Operator, Phase

__all__ = ["backward", "forward"]

_MASK_BYTES = 1  # size of a dropout mask's element in PyTorch


class _Pass:
    """Makes the operators of one pass over a layer."""

    def __init__(self, shape: LayerShape, phase: Phase):
        self._element = shape.precision.element_bytes
        self._phase: Phase = phase

    def gemm(
        self,
        name: str,
        *sizes: float,
        kind: Kind = "gemm",
        sublayer: str | None = None,
        accumulate: bool = False,
    ) -> Operator:
        """Add a GEMM; ``sizes`` are m, n, k and, unless 1, the count; ``accumulate`` adds to the
        old output.
        """
        gemm = Gemm(*sizes)
        reads = gemm.operands + (gemm.outputs if accumulate else 0)
        return Operator(
            name=name,
            kind=kind,
            phase=self._phase,
            read_bytes=reads * self._element,
            written_bytes=gemm.outputs * self._element,
            gemm=gemm,
            sublayer=sublayer,
        )

    def stream(
        self,
        name: str,
        kind: Kind,
        elements: float,
        *,
        reads: int,
        writes: int,
        mask_reads: int = 0,
        mask_writes: int = 0,
    ) -> Operator:
        """Add a kernel that reads and writes arrays, and dropout masks, of ``elements``."""
        return Operator(
            name=name,
            kind=kind,
            phase=self._phase,
            read_bytes=elements * (reads * self._element + mask_reads * _MASK_BYTES),
            written_bytes=elements * (writes * self._element + mask_writes * _MASK_BYTES),
        )


def forward(shape: LayerShape, *, training: bool = True) -> Sequence[Operator]:
    """Operators of the forward pass; dropout exists only in training."""
    make = _Pass(shape, "forward")
    tokens, hidden, tp = shape.tokens, shape.hidden, shape.tp
    sequence, head, heads = shape.sequence, shape.head_size, shape.attention_heads
    whole = tokens * hidden
    scores = heads * sequence**2
    masks = int(training)

    attention_dropout = make.stream(
        "attention dropout", "attention", scores, reads=1, writes=1, mask_writes=1
    )

    def residual(name: str) -> Operator:
        return make.stream(name, "activation", whole, reads=2, writes=1, mask_writes=masks)

    return (
        make.stream("layer norm 1", "normalisation", whole, reads=1, writes=1),
        make.gemm("qkv", tokens, shape.qkv_width / tp, hidden),
        make.gemm("score", sequence, sequence, head, heads, kind="attention gemm"),
        make.stream("softmax", "attention", scores, reads=1, writes=1),
        *((attention_dropout,) if training else ()),
        make.gemm("context", sequence, head, sequence, heads, kind="attention gemm"),
        make.gemm("output projection", tokens, hidden, shape.attention_width / tp, sublayer="op"),
        residual("residual 1"),
        make.stream("layer norm 2", "normalisation", whole, reads=1, writes=1),
        *_feed_forward(shape, make),
        residual("residual 2"),
    )


def _feed_forward(shape: LayerShape, make: _Pass) -> Sequence[Operator]:
    """Feed-forward layer, or the experts with router, dispatch and combination."""
    hidden, tp, experts, rows = shape.hidden, shape.tp, shape.experts, shape.expert_tokens
    width, projections = shape.ffn_width, shape.ffn_projections
    whole, copies = shape.tokens * hidden, shape.experts_per_token
    layers = (
        make.gemm("fc-1", rows, projections * width / tp, hidden, experts),
        make.stream("gelu", "activation", experts * rows * width / tp, reads=projections, writes=1),
        make.gemm("fc-2", rows, hidden, width / tp, experts, sublayer="fc2"),
    )
    if experts == 1:
        return layers
    return (
        make.gemm("router", shape.tokens, experts, hidden),
        make.stream("dispatch", "activation", whole, reads=1, writes=copies),
        *layers,
        make.stream("combine", "activation", whole, reads=copies, writes=1),
    )


def backward(shape: LayerShape, *, accumulate: bool = False) -> Sequence[Operator]:
    """Operators of the backward pass, with every activation kept from the forward pass.

    Parameters
    ----------
    shape : LayerShape
        The layer.
    accumulate : bool
        Weight gradients are added to the gradients of earlier micro-batches.
    """
    make = _Pass(shape, "backward")
    tokens, hidden, tp = shape.tokens, shape.hidden, shape.tp
    sequence, head, heads = shape.sequence, shape.head_size, shape.attention_heads
    whole = tokens * hidden
    scores = heads * sequence**2

    def weights(name: str, m: float, n: float) -> Operator:
        return make.gemm(f"{name} weights", m, n, tokens, accumulate=accumulate)

    def attention(name: str, *sizes: int) -> Operator:
        return make.gemm(name, *sizes, heads, kind="attention gemm")

    def residual(name: str) -> Operator:
        # Dropout: gradient and mask, the branch's gradient; fork: both gradients, their sum.
        return make.stream(name, "activation", whole, reads=3, writes=2, mask_reads=1)

    def norm(name: str) -> Operator:
        # One kernel for the gradient of its input and one for the gradients of its parameters, as
        # in Apex: each reads the gradient of the output, and the input.
        return make.stream(name, "normalisation", whole, reads=4, writes=1)

    return (
        residual("residual 2"),
        *_feed_forward_gradients(shape, make, accumulate=accumulate),
        norm("layer norm 2"),
        residual("residual 1"),
        make.gemm("output projection data", tokens, shape.attention_width / tp, hidden),
        weights("output projection", shape.attention_width / tp, hidden),
        attention("context probabilities", sequence, sequence, head),
        attention("context values", sequence, head, sequence),
        make.stream("attention dropout", "attention", scores, reads=1, writes=1, mask_reads=1),
        make.stream("softmax", "attention", scores, reads=2, writes=1),
        attention("score queries", sequence, head, sequence),
        attention("score keys", sequence, head, sequence),
        make.gemm("qkv data", tokens, hidden, shape.qkv_width / tp, sublayer="ip"),
        weights("qkv", hidden, shape.qkv_width / tp),
        norm("layer norm 1"),
    )


def _feed_forward_gradients(
    shape: LayerShape, make: _Pass, *, accumulate: bool
) -> Sequence[Operator]:
    hidden, tp, experts, rows = shape.hidden, shape.tp, shape.experts, shape.expert_tokens
    width, inner = shape.ffn_width, shape.ffn_projections * shape.ffn_width / tp
    whole, copies = shape.tokens * hidden, shape.experts_per_token
    elements = experts * rows * width / tp

    def weights(name: str, m: float, n: float) -> Operator:
        return make.gemm(f"{name} weights", m, n, rows, experts, accumulate=accumulate)

    layers = (
        make.gemm("fc-2 data", rows, width / tp, hidden, experts),
        weights("fc-2", width / tp, hidden),
        # The gradient of the output; the value and the gradient of each projection.
        make.stream(
            "gelu",
            "activation",
            elements,
            reads=1 + shape.ffn_projections,
            writes=shape.ffn_projections,
        ),
        make.gemm("fc-1 data", rows, hidden, inner, experts, sublayer="fc1"),
        weights("fc-1", hidden, inner),
    )
    if experts == 1:
        return layers
    tokens = shape.tokens
    return (
        make.stream("combine", "activation", whole, reads=1, writes=copies),
        *layers,
        make.stream("dispatch", "activation", whole, reads=copies, writes=1),
        make.gemm("router data", tokens, hidden, experts),
        make.gemm("router weights", hidden, experts, tokens, accumulate=accumulate),
    )
