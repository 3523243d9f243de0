"""Python's garbage collector, called less often where much is made that stays."""

import gc
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["collects_rarely"]

_NEW_OBJECTS = 1_000_000, 5, 5  # memory of 32 channels' netlist: as with Python's own, 700, 10, 10

_lock = threading.Lock()
_inside = 0
_as_before = ExitStack()


@contextmanager
def collects_rarely() -> Iterator[None]:
    """Meanwhile garbage is looked for at every millionth new object.

    A netlist is millions of objects that refer to each other. To look at them as often as Python
    does takes a quarter of the time in which one is made, and finds little. The collector is the
    process's, not the thread's: the last thread to leave puts it back as the first one found it.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _as_before.callback(gc.set_threshold, *gc.get_threshold())
            gc.set_threshold(*_NEW_OBJECTS)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _as_before.close()
