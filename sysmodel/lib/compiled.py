"""How the functions of the cycle loop are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])

# They only work on arrays that the caller holds. Without Numba's reference counting, which counts
# at every access to a member of the state, a cycle takes a small part of the time.
compiled: Callable[[_F], _F] = njit(cache=True, _nrt=False)
inlined: Callable[[_F], _F] = njit(cache=True, _nrt=False, forceinline=True)
