"""Which channel holds an atom."""

from amaranth.hdl import Cat, Const, Value

from rtl.parameters import T3Parameters

__all__ = ["channel_of"]


def channel_of(p: T3Parameters, atom: Value) -> Value:
    """Channel of an atom address: the exclusive-or of all groups of channel bits above the
    interleave offset, so that no stride keeps hitting one channel."""
    offset_bits = (p.interleave_atoms - 1).bit_length()
    channel_bits = (p.system_channels - 1).bit_length()
    if channel_bits == 0:
        return Const(0, 1)
    block = Value.cast(atom)[offset_bits:]
    return Cat(
        Cat(block[low] for low in range(bit, len(block), channel_bits)).xor()
        for bit in range(channel_bits)
    )
