"""Neighbours of a GPU, and the chunks that they exchange.

Every GPU sends to the GPU with the next lower number, and finally owns the chunk of its own number.
In a reduce-scatter, chunk *x* starts on GPU *x - 1* and reaches its owner last; in an all-gather,
every GPU starts with its own chunk.
"""

from .compiled import inlined

__all__ = ["downstream", "gathered", "scattered", "upstream"]


@inlined
def downstream(gpu: int, gpus: int) -> int:
    """GPU to which ``gpu`` sends."""
    return (gpu if gpu > 0 else gpus) - 1


def upstream(gpu: int, gpus: int) -> int:
    """GPU from which ``gpu`` receives."""
    return (gpu + 1) % gpus


def scattered(gpu: int, step: int, gpus: int) -> int:
    """Chunk that ``gpu`` processes in a step of the reduce-scatter; its own in the last step."""
    return (gpu + 1 + step) % gpus


def gathered(gpu: int, step: int, gpus: int) -> int:
    """Chunk that ``gpu`` sends in a step of the all-gather."""
    return (gpu + step) % gpus
