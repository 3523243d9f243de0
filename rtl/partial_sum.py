"""A sum in two cycles, in blocks whose carries wait."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data

__all__ = ["PartialSum", "finish_sum", "start_sum"]

_BLOCK_BITS = 12


def _blocks(value) -> list:
    return [value[low : low + _BLOCK_BITS] for low in range(0, len(value), _BLOCK_BITS)]


def PartialSum(width: int):
    """Sums of the blocks, lowest first, the carry out of each, and whether it is all ones."""
    blocks = -(-width // _BLOCK_BITS)
    return data.StructLayout({"sum": width, "carry": blocks, "full": blocks})


def start_sum(m: Module, a, b) -> data.View:
    """The blocks of ``a + b``, two values of the same width."""
    partial = Signal(PartialSum(len(a)))
    total = zip(_blocks(a), _blocks(b), _blocks(partial.sum), strict=True)
    for index, (a_block, b_block, block) in enumerate(total):
        m.d.comb += [
            Cat(block, partial.carry[index]).eq(a_block + b_block),
            partial.full[index].eq(block.all()),
        ]
    return partial


def finish_sum(partial: data.View):
    """``a + b``, modulo two to their width."""
    chosen, carry = [], 0
    for index, block in enumerate(_blocks(partial.sum)):
        chosen.append((block + carry)[: len(block)])
        carry = partial.carry[index] | (partial.full[index] & carry)
    return Cat(*chosen)
