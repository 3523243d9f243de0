"""Access to signals and memories inside a module, for simulators only."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache, reduce
from operator import getitem

__all__ = ["BLOCK_BITS", "blocks_of_a_count", "fill", "in_halves", "inside", "preset", "turn"]

BLOCK_BITS = 8
"""Bits of a block of a :class:`~rtl.lib.wide_counter.WideCounter`."""


@cache  # the simulator allocates memory for every unknown name
def inside(dut, *paths: str):
    """Return a signal or a memory of a module by its hierarchical path.

    Parameters
    ----------
    dut
        Module with its hierarchy, or flattened, with dots in the names.
    paths : str
        One path, or several paths of the same register; a flattened module keeps one of them. The
        first path that exists is used.

    Raises
    ------
    KeyError
        If no path exists.
    """
    for path in paths:
        with suppress(KeyError):
            return dut[f"\\{path} "]
        with suppress(KeyError):
            return reduce(getitem, path.split("."), dut)
    raise KeyError(f"{dut._name} has no {' or '.join(paths)}")


def in_halves(dut, path: str, row: int):
    """Return a row of a :class:`~rtl.lib.split_memory.SplitMemory` by its hierarchical path."""
    return inside(dut, f"{path}.{('even', 'odd')[row % 2]}.memory")[row // 2]


def turn(word, *bits: int) -> None:
    """Invert bits of a word, such as ``inside(dut, "words")[row]``."""
    mask = sum(1 << bit for bit in bits)
    word.value = int(word.value) ^ mask


def preset(dut, path: str, value: int) -> None:
    """Set a :class:`~rtl.lib.wide_counter.WideCounter` to a value."""
    counter = inside(dut, f"{path}.o")
    counter.value = value
    _set_carries(dut, path, value, len(counter) - BLOCK_BITS)


def fill(dut, path: str, bits: int, *, short: int = 0) -> int:
    """Set the lower ``bits`` of a counter, which are whole blocks, to ones, minus ``short``.

    The other blocks and their carries stay unchanged.

    Returns
    -------
    int
        The counter's new value.
    """
    counter = inside(dut, f"{path}.o")
    value = (int(counter.value) | (1 << bits) - 1) - short
    counter.value = value
    _set_carries(dut, path, value, bits)
    return value


def _set_carries(dut, path: str, value: int, bits: int) -> None:
    """Set the carry of each lower block: 1 if a step carries into the block above."""
    ones = (1 << BLOCK_BITS) - 1
    below = len(inside(dut, f"{path}.o")) - BLOCK_BITS
    for at in range(0, min(bits, below), BLOCK_BITS):
        inside(dut, f"{path}.full_{at}").value = int(value >> at & ones == ones)


def blocks_of_a_count(bits: int) -> Iterator[tuple[int, int]]:
    """Yield, for each block of a counter of ``bits`` bits except the highest, its first bit and its
    contents when full or nearly full: ones in all bits, or in all bits but one.
    """
    ones = (1 << BLOCK_BITS) - 1
    for at in range(0, bits - BLOCK_BITS, BLOCK_BITS):
        for missing in (0, *(1 << bit for bit in range(BLOCK_BITS))):
            yield at, ones ^ missing
