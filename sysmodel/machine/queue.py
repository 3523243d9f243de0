"""Queue of the kernels on each GPU, in the order of their launch."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS
from sysmodel.gpu.kernel import Kernel

__all__ = ["Queued", "first_of_contexts", "require_places"]


class Queued(NamedTuple):
    """Kernel in a queue.

    Parameters
    ----------
    context : int
        Context of the hardware that the kernel's program owns.
    """

    kernel: Kernel
    context: int = 0


def first_of_contexts(queue: Sequence[Queued]) -> list[int]:
    """Number of each context's first kernel, which the context tracks.

    Raises
    ------
    ValueError
        If a context below the largest one has no kernel.
    """
    contexts = [one.context for one in queue]
    if missing := set(range(max(contexts))) - set(contexts):
        raise ValueError(f"queue: no kernel belongs to context {min(missing)}")
    return [contexts.index(context) for context in range(max(contexts) + 1)]


def require_places(queue: Sequence[Queued]) -> None:
    """Check that all outputs lie in their region, and that different contexts have different ones.

    Raises
    ------
    ValueError
        If they do not.
    """
    if not all(one.kernel.is_mapped for one in queue):
        raise ValueError(
            f"an output of {sum(one.kernel.output_bytes for one in queue)} bytes exceeds the "
            f"{MOST_OUTPUT_ATOMS * ATOM_BYTES} bytes that the model maps"
        )
    for one, other in combinations(queue, 2):
        apart = (
            one.kernel.output_end <= other.kernel.output_atom
            or other.kernel.output_end <= one.kernel.output_atom
        )
        if one.context != other.context and not apart:
            raise ValueError(
                f"queue: the outputs of contexts {one.context} and {other.context} overlap"
            )
