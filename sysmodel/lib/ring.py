"""Who sends what to whom in the ring.

Every GPU sends to the one below it, and owns the chunk of its own number in the end. In a
reduce-scatter chunk *x* starts on GPU *x - 1*, and comes to its owner last; in an all-gather every
GPU starts with its own chunk.
"""

from .compiled import inlined

__all__ = ["downstream", "gathered", "scattered", "upstream"]


@inlined
def downstream(gpu: int, gpus: int) -> int:
    """The GPU that ``gpu`` sends to."""
    return (gpu if gpu > 0 else gpus) - 1


def upstream(gpu: int, gpus: int) -> int:
    """The GPU from which ``gpu`` receives."""
    return (gpu + 1) % gpus


def scattered(gpu: int, step: int, gpus: int) -> int:
    """Chunk that ``gpu`` works on in a step of the reduce-scatter; in the last one its own."""
    return (gpu + 1 + step) % gpus


def gathered(gpu: int, step: int, gpus: int) -> int:
    """Chunk that ``gpu`` sends in a step of the all-gather."""
    return (gpu + step) % gpus
