"""Optimizers: their memory traffic for each parameter."""

from .operators import Operator, Precision

__all__ = ["adam", "lamb"]

_STATE_BYTES = 4  # weights, or their master copy, and each moment are fp32


def adam(parameters: float, precision: Precision) -> Operator:
    """Adam: one kernel, which reads gradient, weight and both moments; and writes weight and
    moments and, in mixed precision, the half-size copy of the weight.
    """
    gradient = precision.element_bytes
    return _update(
        "adam",
        parameters,
        read_bytes=gradient + 3 * _STATE_BYTES,
        written_bytes=3 * _STATE_BYTES + _copy_bytes(precision),
    )


def lamb(parameters: float, precision: Precision) -> Operator:
    """LAMB: five passes, as in Apex (``multi_tensor_lamb_mp.cu``): norm of the gradients, norms of
    the weights, an Adam step whose result replaces the gradient, norms of this result, and the
    weights with their half-size copy.
    """
    gradient = precision.element_bytes
    norms = gradient + _STATE_BYTES + gradient
    return _update(
        "lamb",
        parameters,
        read_bytes=norms + (gradient + 3 * _STATE_BYTES) + (_STATE_BYTES + gradient),
        written_bytes=(gradient + 2 * _STATE_BYTES) + (_STATE_BYTES + _copy_bytes(precision)),
    )


def _copy_bytes(precision: Precision) -> int:
    """Bytes of the weight's copy that the GEMMs read; in fp32 they read the weight itself."""
    return precision.element_bytes if precision.element_bytes < _STATE_BYTES else 0


def _update(name: str, parameters: float, *, read_bytes: int, written_bytes: int) -> Operator:
    return Operator(
        name=name,
        kind="optimizer",
        phase="update",
        read_bytes=parameters * read_bytes,
        written_bytes=parameters * written_bytes,
    )
