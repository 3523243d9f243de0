"""Run the example on a simulated GPU, and print the state that it leaves behind.

Without an argument the Python example runs, otherwise the C example in this shared library.
"""

import ctypes
import sys
from collections.abc import Callable

from t3.driver import T3, Bus, Context, Ring, SimulatedBus, simulated_bus

from . import reduce_scatter as example

_SPACE, _CONTEXT = 3, 0
# The part of the GPU that the example programs, for the stores of the kernel and the neighbour.
_RING = Ring(
    workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8, generation=5,
)  # fmt: skip

_WORD = ctypes.c_uint32
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _WORD, _WORD)
_READ = ctypes.CFUNCTYPE(_WORD, ctypes.c_void_p, _WORD)


class _CBus(ctypes.Structure):
    """``struct t3_bus`` of the C driver."""

    _fields_ = [("self", ctypes.c_void_p), ("write", _WRITE), ("read", _READ)]


def run_c(library: str, bus: Bus, run_kernel: Callable[[], None]) -> None:
    """Call the C example over a bus of Python."""
    functions = (
        _WRITE(lambda _, address, word: bus.write(address, word)),
        _READ(lambda _, address: bus.read(address)),
    )
    kernel = ctypes.CFUNCTYPE(None)(run_kernel)
    c_bus = _CBus(None, *functions)
    result = ctypes.CDLL(library).reduce_scatter(ctypes.byref(c_bus), kernel)
    print(f"reduce_scatter of {library} returned {result}")


def report(bus: SimulatedBus) -> None:
    """Print status and counters of the hardware."""
    context, gpu = Context(bus, _CONTEXT), T3(bus)
    errors = context.take_errors() + gpu.take_errors()
    print(f"contexts: {gpu.identify()}")
    print(f"complete tiles: {context.tiles}")
    print(f"sent packets: {len(bus.sent)}")
    print(f"next epoch: {context.next_epoch}")
    print(f"idle: {context.status['idle']}")
    print(f"errors: {len(errors)}", *errors, sep="\n  ")
    print(f"cycles: {bus.cycles}")


def main() -> None:
    """Run one of the examples."""
    with simulated_bus() as bus:

        def run_kernel() -> None:
            bus.play(_RING, _CONTEXT, _SPACE, example.BASE)

        if len(sys.argv) > 1:
            run_c(sys.argv[1], bus, run_kernel)
        else:
            tiles = example.reduce_scatter(bus, run_kernel)
            print(f"reduce_scatter of Python returned {tiles} tiles")
        report(bus)


if __name__ == "__main__":
    main()
