"""Call of a library's step function from compiled code."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["call_step"]


@intrinsic
def call_step(typingctx, step_address, handle, inputs_pointer, outputs_pointer):
    """Set the inputs, clock once, and read the outputs, inside an ``@njit`` function.

    The address and the handle (:attr:`Engine.step_address`, :attr:`Engine.handle`) are plain
    integers, so that functions with ``cache=True`` may call it: a captured ctypes function cannot
    be cached. Returns whether a clock changed anything: 0 if the hardware slept. The pointers
    are ``array.ctypes.data`` of contiguous arrays of ``uint64``. Arrays that the compiled
    function made itself must still be used after the call, or they may be gone before it.
    """
    word = ir.IntType(64)
    function = ir.FunctionType(word, [word, word, word])

    def codegen(context, builder, signature, args):
        address, *rest = args
        return builder.call(builder.inttoptr(address, function.as_pointer()), rest)

    return types.uint64(types.uint64, types.uint64, types.uint64, types.uint64), codegen
