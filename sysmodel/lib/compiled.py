"""How the functions of the cycle loop are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from . import numba_cache as numba_cache  # what is compiled below is kept where it says

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])

# They only work on arrays that the caller holds. Without Numba's reference counting, which counts
# at every access to a member of the state, a cycle takes a small part of the time. C never calls
# them: what it would need for that takes a tenth of the time to compile.
_OPTIONS = {"cache": True, "_nrt": False, "no_cfunc_wrapper": True}
compiled: Callable[[_F], _F] = njit(**_OPTIONS)
inlined: Callable[[_F], _F] = njit(**_OPTIONS, forceinline=True)
