"""Credit windows that cannot deadlock.

A receiver admits the slots below *oldest* + window, where *oldest* is its first slot that is not
complete. Without sends, a window is enough if no slot beyond it gets a contribution before the last
one of *oldest*, in the senders' orders: ``window >= max over o of (max{s : first(s) <= last(o)} - o
+ 1)``. The rule here is more general and never asks for more. In a deadlock, every contribution
that is stuck waits for another one:

- the head of an order or of a queue waits for the missing ones to a slot at least a window before
  its own,
- any other waits for its predecessor in the order,
- a send waits for the missing contributions to the slot that triggers it, or for the head of its
  queue, whose own slot is less than a window after that one.

So there is a circular wait. A window without a possible circular wait cannot deadlock. Waits of
sends that cannot be are left out (:func:`.waits.narrowed`), unless the contributions are too many.
Larger windows admit more, but let more sends overtake others in their queue; they can deadlock
where smaller ones cannot.
"""

from collections.abc import Mapping

from .slots import Contributions, Entry
from .waits import Node, has_circle, narrowed

__all__ = ["cannot_deadlock", "smallest_window"]

_MOST_NARROWED = 2000  # contributions: a second or so


def cannot_deadlock(
    given: Contributions, window: int, windows: Mapping[int, int] | None = None
) -> bool:
    """Test whether no order of arrivals ends in a deadlock.

    Parameters
    ----------
    window : int
        Slots that a receiver admits.
    windows : mapping or None
        Receivers with windows of their own.
    """
    waits = _waits(given, window, windows or {})
    if not has_circle(waits):
        return True
    few = sum(one[0] in ("store", "send") for one in waits) <= _MOST_NARROWED
    return any(given.sends) and few and not has_circle(narrowed(waits))


def smallest_window(given: Contributions, windows: Mapping[int, int] | None = None) -> int:
    """Find the smallest window from which on no window can deadlock.

    Parameters
    ----------
    windows : mapping or None
        Receivers with windows of their own, which are not sought.
    """
    slots = given.slots()
    window = max((n for at, n in enumerate(slots) if at not in (windows or {})), default=1)
    while window > 1 and cannot_deadlock(given, window - 1, windows):
        window -= 1
    return max(window, 1)


def _waits(given: Contributions, window: int, windows: Mapping[int, int]) -> dict[Node, list[Node]]:
    """All that each node may wait for."""
    waits: dict[Node, list[Node]] = {}
    for receiver, slots in enumerate(given.slots()):
        for slot in range(slots):
            waits["below", receiver, slot] = [("below", receiver, slot - 1)] if slot else []

    def admitted(entry: Entry) -> list[Node]:
        limits = ((to, slot - windows.get(to, window)) for to, slot in entry)
        return [("below", to, limit) for to, limit in limits if limit >= 0]

    for sender, entries in enumerate(given.stores):
        for position, entry in enumerate(entries):
            node: Node = ("store", sender, position)
            before: list[Node] = [("store", sender, position - 1)] if position else []
            waits[node] = before + admitted(entry)
            for to, slot in entry:
                waits["below", to, slot].append(node)
    for receiver, sending in enumerate(given.sends):
        _queue(waits, receiver, sending, windows.get(receiver, window))
        for slot, entry in sending.items():
            waits["head", receiver, slot] = admitted(entry)
            for to, other in entry:
                waits["below", to, other].append(("send", receiver, slot))
    for receiver, sending in enumerate(given.sends):
        for slot in sending:
            contributed = waits["below", receiver, slot]
            waits["send", receiver, slot] += [one for one in contributed if one[0] != "below"]
    return waits


def _queue(
    waits: dict[Node, list[Node]], receiver: int, sending: Mapping[int, Entry], window: int
) -> None:
    """Add the waits of sends for those that may be before them in the queue."""
    ordered = sorted(sending)
    for at, slot in enumerate(ordered):
        before: list[Node] = [("ahead", receiver, ordered[at - 1])] if at else []
        waits["ahead", receiver, slot] = [("head", receiver, slot), *before]
    last = 0
    for slot in ordered:
        while last + 1 < len(ordered) and ordered[last + 1] < slot + window:
            last += 1
        waits["send", receiver, slot] = [("ahead", receiver, ordered[last])]
