"""Call of a library's step function from code compiled by Numba."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["call_step"]


@intrinsic
def call_step(typingctx, step_address, handle, inputs_pointer, outputs_pointer):
    """Set the inputs, clock once, and read the outputs, inside an ``@njit`` function.

    Address and handle (:attr:`Engine.step_address`, :attr:`Engine.handle`) are plain integers, so
    cached functions may use the call; a captured ctypes function could not be cached.
    Returns 0 if all clocks of the hardware were gated, otherwise another number. The pointers are
    ``array.ctypes.data`` of contiguous arrays of ``uint64``. A compiled function that makes such
    arrays itself must use them after the call, or Numba may free them before.
    """
    word = ir.IntType(64)
    function = ir.FunctionType(word, [word, word, word])

    def codegen(context, builder, signature, args):
        address, *rest = args
        return builder.call(builder.inttoptr(address, function.as_pointer()), rest)

    return types.uint64(types.uint64, types.uint64, types.uint64, types.uint64), codegen
