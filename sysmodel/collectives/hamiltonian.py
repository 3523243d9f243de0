"""Hamiltonian rings: ways through all ranks and back, of which no two share a link.

Vertices are ranks, and links lead from each rank to every other. Each ring uses one link from every
rank and one into every rank, so N - 1 rings use all links.
"""

import random
from collections.abc import Iterator
from functools import cache

__all__ = ["disjoint_rings"]

_FEWER = (4, 6)
"""Numbers of ranks whose links cannot all be divided into rings (Tillson, 1980)."""
_MOST_SEARCHED = 32

Ring = tuple[int, ...]
_Part = list[int]
"""Links of which one leads from every rank and one into every rank: the successor of each rank."""


@cache
def disjoint_rings(ranks: int) -> tuple[Ring, ...]:
    """Divide the links between ranks into rings; each is the order of the ranks on it.

    An odd number of ranks has N - 1 rings, by Walecki's zigzags in both directions. An even number
    has N - 2 such rings, and a pairing of the ranks is left over; more rings do not exist for 4 and
    6. From 8 to 32 ranks, N - 1 rings are found by exchanges of links.
    """
    if ranks == 2:
        return ((0, 1),)
    if ranks % 2 or ranks in _FEWER or ranks > _MOST_SEARCHED:
        return tuple(ring for one in _zigzags(ranks) for ring in (one, one[::-1]))
    return tuple(map(_ring, _exchanged(ranks)))


def _zigzags(ranks: int) -> Iterator[Ring]:
    """Yield undirected rings without a common edge, by Walecki's construction.

    The ranks but the last one, or two, are in a circle, and zigzags across it are rotated. The last
    rank joins the ends of each zigzag. If there are two, the other one lies on the edge across the
    middle, which is another one in each rotation.
    """
    circle = (ranks - 1) // 2 * 2
    for first in range(circle // 2):
        way = [first]
        for step in range(1, circle):
            way.append((way[-1] + (step if step % 2 else -step)) % circle)
        if ranks % 2 == 0:
            way.insert(circle // 2, ranks - 2)
        yield (ranks - 1, *way)


def _exchanged(ranks: int) -> list[_Part]:
    """Divide the links into parts, and exchange links between parts until each is one ring.

    Two parts exchange the links from some ranks into the same ranks. A random exchange is kept if
    the number of circles does not grow; the seed is fixed, so the rings always are the same. With
    an odd number of parts that have an even number of circles, no exchange leads to single rings.
    """
    draw = random.Random(0)
    while True:
        parts = _random_parts(ranks, draw)
        circles = [_circles(part) for part in parts]
        if sum(count % 2 == 0 for count in circles) % 2 == 0:
            break
    while max(circles) > 1:
        one = draw.randrange(len(parts))
        other = (one + draw.randrange(1, len(parts))) % len(parts)
        changed = parts[one].copy(), parts[other].copy()
        _exchange(*changed, draw.randrange(ranks))
        counts = [_circles(part) for part in changed]
        if sum(counts) <= circles[one] + circles[other]:
            for at, part, count in zip((one, other), changed, counts, strict=True):
                parts[at], circles[at] = part, count
    return parts


def _random_parts(ranks: int, draw: random.Random) -> list[_Part]:
    """Divide all links at random into parts, each with a link from and into every rank."""
    left = [[other for other in range(ranks) if other != rank] for rank in range(ranks)]
    parts = []
    for _ in range(ranks - 1):
        for others in left:
            draw.shuffle(others)
        source: dict[int, int] = {}
        for rank in range(ranks):
            _match(rank, left, source, set())
        part = [0] * ranks
        for other, rank in source.items():
            part[rank] = other
            left[rank].remove(other)
        parts.append(part)
    return parts


def _match(rank: int, left: list[list[int]], source: dict[int, int], tried: set[int]) -> bool:
    """Give a rank a link whose end has no source, or whose source finds another link."""
    for other in left[rank]:
        if other not in tried:
            tried.add(other)
            if other not in source or _match(source[other], left, source, tried):
                source[other] = rank
                return True
    return False


def _exchange(one: _Part, other: _Part, rank: int) -> None:
    """Exchange the links of a rank, and those of the ranks that then have the same successor."""
    while True:
        one[rank], other[rank] = other[rank], one[rank]
        twice = [at for at, after in enumerate(one) if after == one[rank] and at != rank]
        if not twice:
            return
        (rank,) = twice


def _circles(part: _Part) -> int:
    """Count the circles of a part."""
    left, count = set(range(len(part))), 0
    while left:
        rank = left.pop()
        count += 1
        while (rank := part[rank]) in left:
            left.discard(rank)
    return count


def _ring(part: _Part) -> Ring:
    """Order of the ranks on a part that is one circle, from rank 0 on."""
    ring = [0]
    while (after := part[ring[-1]]) != 0:
        ring.append(after)
    return tuple(ring)
