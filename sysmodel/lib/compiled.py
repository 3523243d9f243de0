"""Compilation of the cycle loop's functions."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

from .code_cache import CodeCache

__all__ = ["cached_cfunc", "cached_njit", "compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])


def cached_njit(**options: Any) -> Callable[[_F], _F]:
    """Make a decorator that compiles a function with Numba, and stores the code in the cache."""

    def decorate(function: _F) -> _F:
        dispatcher: Any = njit(**options)(function)
        dispatcher._cache = CodeCache(function)
        made: _F = dispatcher
        return made

    return decorate


def cached_cfunc(signature: Any) -> Callable[[Callable[..., Any]], CFunc]:
    """Make a decorator that compiles a function for calls from C code, as ``numba.cfunc`` does, and
    stores the code in the cache."""

    def decorate(function: Callable[..., Any]) -> CFunc:
        compiled: Any = CFunc(function, normalize_signature(signature), locals={}, options={})
        compiled._cache = CodeCache(function)
        compiled.compile()
        made: CFunc = compiled
        return made

    return decorate


# The functions only use arrays that the caller owns. Numba's reference counting, at every access to
# a member of the state, would multiply the time of a cycle. C code never calls the functions, and
# wrappers for such calls would add a tenth to the compilation time.
_OPTIONS = {"_nrt": False, "no_cfunc_wrapper": True}
compiled = cached_njit(**_OPTIONS)
inlined = cached_njit(**_OPTIONS, forceinline=True)
