"""Incrementer without a carry chain through all bits."""

from amaranth.hdl import Cat, Const, Mux, Value

__all__ = ["increment"]

_BLOCK_BITS = 8


def increment(value: Value) -> Value:
    """Compute ``value + 1``, modulo two to its width, in blocks of bits side by side."""
    blocks, carry = [], Const(1, 1)
    for low in range(0, len(value), _BLOCK_BITS):
        block = value[low : low + _BLOCK_BITS]
        blocks.append(Mux(carry, (block + 1)[: len(block)], block))
        carry = carry & block.all()
    return Cat(*blocks)
