"""Waits of contributions for each other, and circles among them."""

from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Node", "Waits", "has_circle", "narrowed"]

Node = tuple[str, int, int]
"""Kind and place of something that waits.

A ``store`` is at a position of a sender, a ``send`` belongs to a slot, and a ``head`` is a send at
the head of its queue. ``below`` stands for all contributions to a receiver's slots up to one, and
``ahead`` for all heads of sends of a receiver's slots up to one.
"""

Waits = Mapping[Node, list[Node]]
"""All that each node may wait for."""

_CONTRIBUTIONS = ("store", "send")


def has_circle(waits: Waits) -> bool:
    """Test whether nodes may wait for each other in a circle."""
    entered: dict[Node, bool] = {}  # whether all that the node waits for has been visited
    for start in waits:
        if start in entered:
            continue
        entered[start] = False
        path = [(start, iter(waits[start]))]
        while path:
            node, others = path[-1]
            other = next(others, None)
            if other is None:
                entered[node] = True
                path.pop()
            elif other not in entered:
                entered[other] = False
                path.append((other, iter(waits.get(other, ()))))
            elif not entered[other]:
                return True
    return False


def narrowed(waits: Waits) -> Waits:
    """Leave out waits of sends that are impossible.

    The slot of a send at the head of its queue is complete. So the contributions that complete the
    slot have been made, and so have all that these had to wait for. The head does not wait for any
    of them, and none of them waits in the queue behind it.
    """
    made = _Made(waits)
    found = dict(waits)
    heads: dict[int, list[int]] = {}
    for kind, receiver, slot in waits:
        if kind == "head":
            heads.setdefault(receiver, []).append(slot)
    for receiver, slots in heads.items():
        before = {slot: made.before_slot(receiver, slot) for slot in slots}
        for slot in slots:
            head: Node = ("head", receiver, slot)
            found[head] = [*made.nodes(made.directly(waits[head]) & ~before[slot])]
            send: Node = ("send", receiver, slot)
            last = next((one[2] for one in waits[send] if one[0] == "ahead"), -1)
            found[send] = [one for one in waits[send] if one[0] != "ahead"] + [
                ("head", receiver, other)
                for other in slots
                if other <= last and not before[other] & made.bit(send)
            ]
    return found


class _Made:
    """Contributions that have been made before others, as sets of bits."""

    def __init__(self, waits: Waits):
        self._waits = waits
        self._order = [node for node in waits if node[0] in _CONTRIBUTIONS]
        self._bit = {node: 1 << at for at, node in enumerate(self._order)}
        self._before: dict[Node, int] = {}
        self._below: dict[Node, int] = {}
        for node in waits:
            if node not in self._before:
                self._visit(node)

    def bit(self, node: Node) -> int:
        """Bit of a contribution; 0 of any other node."""
        return self._bit.get(node, 0)

    def nodes(self, bits: int) -> Iterator[Node]:
        """Yield the contributions of a set."""
        while bits:
            lowest = bits & -bits
            yield self._order[lowest.bit_length() - 1]
            bits ^= lowest

    def before_slot(self, receiver: int, slot: int) -> int:
        """Contributions that have been made when a slot is complete."""
        return self._together(
            one for one in self._waits["below", receiver, slot] if one[0] != "below"
        )

    def directly(self, nodes: Iterable[Node]) -> int:
        """Contributions to the slots for which the given nodes stand."""
        found = 0
        for _, receiver, slot in nodes:
            for at in range(slot + 1):
                for one in self._waits["below", receiver, at]:
                    found |= self.bit(one)
        return found

    def _together(self, nodes: Iterable[Node]) -> int:
        found = 0
        for one in nodes:
            found |= self.bit(one) | self._before.get(one, 0)
        return found

    def _needed(self, node: Node) -> list[Node]:
        """All that has happened before a node's contributions have been made."""
        kind, receiver, slot = node
        if kind != "send":
            return self._waits[node] if kind != "ahead" else []
        contributions = [one for one in self._waits[node] if one[0] != "ahead"]
        return contributions + self._waits["head", receiver, slot]

    def _visit(self, start: Node) -> None:
        """Find what precedes a node, after what precedes all that it needs."""
        path = [(start, iter(self._needed(start)))]
        self._before[start] = 0
        while path:
            node, needed = path[-1]
            one = next((other for other in needed if other not in self._before), None)
            if one is None:
                self._before[node] = self._together(self._needed(node))
                path.pop()
            else:
                self._before[one] = 0
                path.append((one, iter(self._needed(one))))
