"""Layers of queues, by which packets that GPUs forward never wait for each other in a circle.

A packet that goes on from a full queue to another full one waits. Around a ring, all packets might
wait. Each link has a queue in every layer, and a packet changes to the next layer where it would
close a circle of links.
"""

from collections.abc import Iterable, Iterator

__all__ = ["closing_steps", "in_layers"]

Step = tuple[int, int]


def closing_steps(ways: Iterable[tuple[int, ...]]) -> set[Step]:
    """Find steps from link to link without which the ways have no circle."""
    following: dict[int, set[int]] = {}
    for way in ways:
        for step in zip(way, way[1:], strict=False):
            following.setdefault(step[0], set()).add(step[1])
    closing: set[Step] = set()
    ended: set[int] = set()
    for root in sorted(following):
        if root not in ended:
            closing |= _search(root, following, ended)
    return closing


def _search(root: int, following: dict[int, set[int]], ended: set[int]) -> set[Step]:
    """Search depth-first from a link; return the steps to links that led there."""
    closing: set[Step] = set()
    path = {root: iter(sorted(following[root]))}
    while path:
        link, rest = next(reversed(path.items()))
        step = next(rest, None)
        if step is None:
            del path[link]
            ended.add(link)
        elif step in path:
            closing.add((link, step))
        elif step not in ended:
            path[step] = iter(sorted(following.get(step, ())))
    return closing


def in_layers(way: tuple[int, ...], closing: set[Step]) -> Iterator[tuple[int, int]]:
    """Yield each link of a way, with the layer of its queue."""
    layer = 0
    for number, link in enumerate(way):
        if number:
            layer += (way[number - 1], link) in closing
        yield link, layer
