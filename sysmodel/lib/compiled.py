"""How the functions of the cycle loop are compiled."""

from numba import njit

__all__ = ["compiled", "inlined"]

# They only work on arrays that the caller holds. Without Numba's reference counting, which counts
# at every access to a member of the state, a cycle takes a small part of the time.
compiled = njit(cache=True, _nrt=False)
inlined = njit(cache=True, _nrt=False, forceinline=True)
