"""What only the simulator can reach: signals and memories behind the ports."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache, reduce
from operator import getitem

__all__ = ["BLOCK_BITS", "blocks_of_a_count", "fill", "in_halves", "inside", "preset", "turn"]

BLOCK_BITS = 8
"""Of a :class:`~rtl.lib.wide_counter.WideCounter`, which steps in blocks."""


@cache  # the simulator keeps something of every name that it does not know
def inside(dut, *paths: str):
    """A signal or a memory of a module, by the names that lead to it, joined by dots.

    Parameters
    ----------
    dut
        With its hierarchy, or flat: then names have the dots in them.
    paths : str
        One, or several of the same register: what is made flat keeps any of them. The first that
        is there counts.

    Raises
    ------
    KeyError
        If there is none.
    """
    for path in paths:
        with suppress(KeyError):
            return dut[f"\\{path} "]
        with suppress(KeyError):
            return reduce(getitem, path.split("."), dut)
    raise KeyError(f"{dut._name} has no {' or '.join(paths)}")


def in_halves(dut, path: str, row: int):
    """A row of a :class:`~rtl.lib.split_memory.SplitMemory`, by the names that lead to it."""
    return inside(dut, f"{path}.{('even', 'odd')[row % 2]}.memory")[row // 2]


def turn(word, *bits: int) -> None:
    """Turn bits of a word, such as ``inside(dut, "words")[row]``."""
    mask = sum(1 << bit for bit in bits)
    word.value = int(word.value) ^ mask


def preset(dut, path: str, value: int) -> None:
    """Let a :class:`~rtl.lib.wide_counter.WideCounter` go on from a value."""
    counter = inside(dut, f"{path}.o")
    counter.value = value
    _set_carries(dut, path, value, len(counter) - BLOCK_BITS)


def fill(dut, path: str, bits: int, *, short: int = 0) -> int:
    """Let a counter go on as if the lower ``bits``, whole blocks of them, were ``short`` of ones.

    The other blocks stay as they are, and so does what they know of their own carry.

    Returns
    -------
    int
        What it says now.
    """
    counter = inside(dut, f"{path}.o")
    value = (int(counter.value) | (1 << bits) - 1) - short
    counter.value = value
    _set_carries(dut, path, value, bits)
    return value


def _set_carries(dut, path: str, value: int, bits: int) -> None:
    """Of each block in the lower bits with a block above it: whether a step carries out of it."""
    ones = (1 << BLOCK_BITS) - 1
    below = len(inside(dut, f"{path}.o")) - BLOCK_BITS
    for at in range(0, min(bits, below), BLOCK_BITS):
        inside(dut, f"{path}.full_{at}").value = int(value >> at & ones == ones)


def blocks_of_a_count(bits: int) -> Iterator[tuple[int, int]]:
    """Where blocks that have one above begin in a counter of so many ``bits``, with all that such a
    block may say when it gets full or nearly so: ones, or one of them missing."""
    ones = (1 << BLOCK_BITS) - 1
    for at in range(0, bits - BLOCK_BITS, BLOCK_BITS):
        for missing in (0, *(1 << bit for bit in range(BLOCK_BITS))):
            yield at, ones ^ missing
