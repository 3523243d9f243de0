"""Compilation of the cycle loop's functions."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from . import numba_cache as numba_cache  # sets the folder of the cached functions

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])

# The functions only use arrays that the caller owns. Numba's reference counting, at every access to
# a member of the state, would multiply the time of a cycle. C code never calls the functions, and
# wrappers for such calls would add a tenth to the compilation time.
_OPTIONS = {"cache": True, "_nrt": False, "no_cfunc_wrapper": True}
compiled: Callable[[_F], _F] = njit(**_OPTIONS)
inlined: Callable[[_F], _F] = njit(**_OPTIONS, forceinline=True)
