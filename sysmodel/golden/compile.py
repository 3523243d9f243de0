"""How the golden model's functions are compiled."""

from numba import njit

__all__ = ["inlined", "kernel"]

# The functions only work on arrays that the caller holds. Without Numba's reference counting,
# which counts at every access to a member of the state, a cycle takes a twentieth of the time.
kernel = njit(cache=True, _nrt=False)
inlined = njit(cache=True, forceinline=True, _nrt=False)
