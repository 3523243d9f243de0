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
A receiver may also admit only so many slots beyond the number of those that have been sent or stay.
Larger windows admit more, but let more sends overtake others in their queue; they can deadlock
where smaller ones cannot.
"""

from collections.abc import Mapping

from .slots import Contributions, Entry
from .waits import Node, has_circle, narrowed

__all__ = ["cannot_deadlock", "smallest_window", "widest_window"]

_MOST_NARROWED = 2000  # contributions: a second or so


def cannot_deadlock(
    given: Contributions,
    window: int,
    windows: Mapping[int, int] | None = None,
    commands: int | None = None,
) -> bool:
    """Test whether no order of arrivals ends in a deadlock.

    Parameters
    ----------
    window : int
        Slots that a receiver admits.
    windows : mapping or None
        Receivers with windows of their own.
    commands : int or None
        Slots that a receiver admits beyond those that have been sent or stay; None: any number.
    """
    waits = _waits(given, window, windows or {})
    bound = commands is not None and commands < max(given.slots(), default=0)
    if commands is not None and bound:
        _await_issues(waits, given, commands)
    if not has_circle(waits):
        return True
    few = sum(one[0] in ("store", "send") for one in waits) <= _MOST_NARROWED
    return any(given.sends) and few and not bound and not has_circle(narrowed(waits))


def widest_window(given: Contributions, most: int, commands: int | None = None) -> int | None:
    """Find the widest window up to a number of slots that cannot deadlock; None without one.

    If the contributions are many, only this number itself is tried.
    """
    slots = max(given.slots(), default=0)
    if most >= slots and cannot_deadlock(given, slots, commands=commands):
        return most
    count = sum(map(len, (*given.stores, *given.sends)))
    least = 1 if count <= _MOST_NARROWED else most
    windows = range(min(most, slots), min(least, slots) - 1, -1)
    return next((one for one in windows if cannot_deadlock(given, one, commands=commands)), None)


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
        last = {slot: max(given.triggers(receiver, slot)) for slot in sending}
        _queue(waits, receiver, last, windows.get(receiver, window))
        for slot, entry in sending.items():
            waits["head", receiver, slot] = admitted(entry)
            for to, other in entry:
                waits["below", to, other].append(("send", receiver, slot))
    for receiver, sending in enumerate(given.sends):
        for slot in sending:
            for other in given.triggers(receiver, slot):
                contributed = waits["below", receiver, other]
                waits["send", receiver, slot] += [one for one in contributed if one[0] != "below"]
    return waits


def _await_issues(waits: dict[Node, list[Node]], given: Contributions, commands: int) -> None:
    """Add the waits for slots that have been sent or stay: some slot as far below as there are
    commands has not been, if too few have been."""
    for receiver, slots in enumerate(given.slots()):
        for slot in range(slots):
            before: list[Node] = [("issued", receiver, slot - 1)] if slot else []
            sent: list[Node] = [("send", receiver, slot)] if slot in given.sends[receiver] else []
            waits["issued", receiver, slot] = [*before, ("below", receiver, slot), *sent]
    for sender, entries in enumerate(given.stores):
        for position, entry in enumerate(entries):
            waits["store", sender, position] += _issues(entry, commands)
    for receiver, sending in enumerate(given.sends):
        for slot, entry in sending.items():
            waits["head", receiver, slot] += _issues(entry, commands)


def _issues(entry: Entry, commands: int) -> list[Node]:
    return [("issued", to, slot - commands) for to, slot in entry if slot >= commands]


def _queue(
    waits: dict[Node, list[Node]], receiver: int, triggers: Mapping[int, int], window: int
) -> None:
    """Add the waits of sends for those that may be before them in the queue, from the last slot
    that triggers each of them."""
    ordered = sorted(triggers)
    for at, slot in enumerate(ordered):
        before: list[Node] = [("ahead", receiver, ordered[at - 1])] if at else []
        waits["ahead", receiver, slot] = [("head", receiver, slot), *before]
    last = 0
    for slot in ordered:
        while last + 1 < len(ordered) and ordered[last + 1] < triggers[slot] + window:
            last += 1
        waits["send", receiver, slot] = [("ahead", receiver, ordered[last])]
