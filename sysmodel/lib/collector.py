"""Python's garbage collector, called less often where much is made that stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collects_rarely"]

_NEW_OBJECTS = 1_000_000, 5, 5  # memory of 32 channels' netlist: as with Python's own, 700, 10, 10


@contextmanager
def collects_rarely() -> Iterator[None]:
    """Meanwhile garbage is looked for at every millionth new object.

    A netlist is millions of objects that refer to each other. To look at them as often as Python
    does takes a quarter of the time in which one is made, and finds little.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_NEW_OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
