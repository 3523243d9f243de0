"""Large arrays of which few parts are used."""

from collections.abc import Iterator
from contextlib import contextmanager

from numpy._core import multiarray

__all__ = ["small_pages"]


@contextmanager
def small_pages() -> Iterator[None]:
    """Make NumPy ask for small pages inside the context.

    Memory is taken by the page, when it is first written. NumPy asks the kernel for pages of 2 MiB
    for large arrays, of which a write to any part then takes the whole.
    """
    before = multiarray._set_madvise_hugepage(False)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        multiarray._set_madvise_hugepage(before)  # type: ignore[attr-defined]
