"""Bit operations on 64-bit masks that Numba lacks.

Masks are signed: in Numba a ``uint64`` mixed with a signed integer becomes a float.
"""

from numba import types
from numba.extending import intrinsic

__all__ = ["popcount", "trailing_zeros"]


@intrinsic
def trailing_zeros(typingctx, mask):
    """Number of the lowest set bit of an ``int64``; 64 for zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.int64), codegen


@intrinsic
def popcount(typingctx, mask):
    """Number of set bits of an ``int64``."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen
