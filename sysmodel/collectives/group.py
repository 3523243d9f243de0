"""Groups of ranks: products of cyclic groups, in which a rank names others relative to itself."""

from dataclasses import dataclass
from math import prod

from sysmodel.lib.errors import InputError

__all__ = ["Group", "cyclic", "nodes", "powers_of_two"]

_NODE = 8  # ranks of today's nodes


@dataclass(frozen=True)
class Group:
    """Product of cyclic groups, whose elements are numbered as ranks.

    A rank is a number in mixed radix, whose first digit counts fastest. Two ranks are added digit
    by digit, without a carry. With one size, rank *r* plus *d* is ``(r + d) % size``; with sizes of
    two, it is the exclusive-or of both numbers; with sizes (A, M), *d* moves a rank within its node
    of A ranks and between M nodes.

    Parameters
    ----------
    sizes : tuple of int
        Sizes of the cyclic groups, at least 1 each.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise ValueError(f"sizes must be numbers from 1 on, not {self.sizes}")

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return prod(self.sizes)

    def digits(self, rank: int) -> tuple[int, ...]:
        """Digits of a rank, one for each size."""
        found = []
        for size in self.sizes:
            rank, digit = divmod(rank, size)
            found.append(digit)
        return tuple(found)

    def rank(self, digits: tuple[int, ...]) -> int:
        """Rank of digits, each of which counts modulo its size."""
        found, weight = 0, 1
        for digit, size in zip(digits, self.sizes, strict=True):
            found += digit % size * weight
            weight *= size
        return found

    def add(self, rank: int, relative: int) -> int:
        """Rank that is ``relative`` to another rank."""
        pairs = zip(self.digits(rank), self.digits(relative), strict=True)
        return self.rank(tuple(a + b for a, b in pairs))

    def relative(self, rank: int, to: int) -> int:
        """Rank relative to another one: the inverse of :meth:`add`."""
        pairs = zip(self.digits(rank), self.digits(to), strict=True)
        return self.rank(tuple(a - b for a, b in pairs))


def cyclic(ranks: int, ranks_per_node: int | None = None) -> Group:
    """Group of any number of ranks, of which no two differ."""
    return Group((ranks,))


def powers_of_two(ranks: int, ranks_per_node: int | None = None) -> Group:
    """Group in which ranks are added by exclusive-or.

    Raises
    ------
    InputError
        ``ranks`` is no power of two.
    """
    if ranks & (ranks - 1):
        raise InputError("ranks", f"{ranks} is not allowed; allowed: a power of two")
    return Group((2,) * (ranks.bit_length() - 1) or (1,))


def nodes(ranks: int, ranks_per_node: int | None = None) -> Group:
    """Group of ranks within a node, and of nodes.

    Without ``ranks_per_node``, a node has the most ranks that divide all ranks into several nodes
    of 2 to 8.

    Raises
    ------
    InputError
        The ranks do not make several nodes of several ranks.
    """
    allowed = [size for size in range(2, ranks // 2 + 1) if ranks % size == 0]
    if not allowed:
        raise InputError(
            "ranks",
            f"{ranks} is not allowed; allowed: several nodes of several: 4, 6, 8, 9, ...",
        )
    if ranks_per_node is None:
        ranks_per_node = max((size for size in allowed if size <= _NODE), default=allowed[0])
    if ranks_per_node not in allowed:
        shown = ", ".join(map(str, allowed))
        raise InputError("ranks_per_node", f"{ranks_per_node} is not allowed; allowed: {shown}")
    return Group((ranks_per_node, ranks // ranks_per_node))
