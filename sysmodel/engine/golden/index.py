"""Index arithmetic: indices into arrays, and round robin between two requests."""

from sysmodel.lib.compiled import inlined

__all__ = ["natural", "pick"]


@inlined
def natural(index: int) -> int:
    """Return an index that is known not to be negative; Numba tests the sign of all other
    indices.
    """
    return index & 0x7FFFFFFF


@inlined
def pick(a: bool, b: bool, last: int) -> int:
    """Round robin of two requests: 0 for the first, 1 for the second, -1 if neither is valid."""
    if a and b:
        return 1 - last
    if a:
        return 0
    return 1 if b else -1
