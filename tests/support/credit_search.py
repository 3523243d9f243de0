"""Search for deadlocks of credit windows in all orders of events, to compare with a rule."""

from typing import NamedTuple

__all__ = ["ends", "ends_in_any_order"]


class State(NamedTuple):
    issued: tuple  # entries issued by each sender
    arrived: tuple  # (receiver, slot) with a count, as a sorted tuple of pairs
    done: frozenset  # complete slots
    queues: tuple  # slots whose sends wait, by receiver


class Search:
    """Schedule with the number of contributions of each slot.

    Slots of ``together`` trigger together. A receiver admits ``commands`` slots beyond the number
    of those that were sent or stay; None: any number.
    """

    def __init__(self, stores, sends, windows, together=(), commands=None):
        self.stores, self.sends, self.windows = stores, sends, windows
        self.commands = commands
        entries = [entry for program in stores for entry in program]
        entries += [entry for sending in sends for entry in sending.values()]
        self.needed = {}
        for entry in entries:
            for place in entry:
                self.needed[place] = self.needed.get(place, 0) + 1
        count = len(stores)
        self.slots = [sorted(s for r, s in self.needed if r == x) for x in range(count)]
        self.triggers = [
            {slot: {slot, *(together[at].get(slot, ()) if together else ())} for slot in sending}
            for at, sending in enumerate(sends)
        ]

    def oldest(self, done, receiver):
        left = (slot for slot in self.slots[receiver] if (receiver, slot) not in done)
        return next(left, float("inf"))

    def admits(self, done, queues, entry):
        return all(
            slot < self.oldest(done, to) + self.windows[to]
            and (self.commands is None or slot < self.sent(done, queues, to) + self.commands)
            for to, slot in entry
        )

    def sent(self, done, queues, receiver):
        """Number of complete slots of a receiver that were sent or stay."""
        here = {slot for to, slot in done if to == receiver}
        return sum(
            slot not in self.triggers[receiver]
            or self.triggers[receiver][slot] <= here
            and slot not in queues[receiver]
            for slot in here
        )

    def triggered(self, done, place):
        """Slots of a receiver that trigger when a further one is complete."""
        receiver, slot = place
        here = {slot for to, slot in done if to == receiver} | {slot}
        return [
            one
            for one, needed in sorted(self.triggers[receiver].items())
            if slot in needed and needed <= here
        ]

    def start(self):
        return State((0,) * len(self.stores), (), frozenset(), ((),) * len(self.stores))


def ends(stores, sends, windows, together=(), commands=None):
    """Test whether all orders end in which slots that send can become complete.

    Credits only grow, so every other event is taken as soon as it can happen.
    """
    search = Search(stores, sends, windows, together, commands)
    left, seen = [search.start()], set()
    while left:
        state = settled(search, left.pop())
        if state in seen:
            continue
        seen.add(state)
        full = [
            p for p, count in state.arrived if count == search.needed[p] and p not in state.done
        ]
        if not full and len(state.done) < len(search.needed):
            return False
        left += [complete(search, state, place) for place in full]
    return True


def settled(search, state):
    """State after all entries that are admitted, and after slots without sends became complete."""
    issued, arrived = list(state.issued), dict(state.arrived)
    done, queues = set(state.done), [list(queue) for queue in state.queues]

    def issue(entry):
        for place in entry:
            arrived[place] = arrived.get(place, 0) + 1
            if arrived[place] == search.needed[place] and place[1] not in search.sends[place[0]]:
                done.add(place)

    moved = True
    while moved:
        moved = False
        for at, program in enumerate(search.stores):
            if issued[at] < len(program) and search.admits(done, queues, program[issued[at]]):
                issue(program[issued[at]])
                issued[at] += 1
                moved = True
        for at, queue in enumerate(queues):
            if queue and search.admits(done, queues, search.sends[at][queue[0]]):
                issue(search.sends[at][queue.pop(0)])
                moved = True
    return State(
        tuple(issued), tuple(sorted(arrived.items())), frozenset(done), tuple(map(tuple, queues))
    )


def complete(search, state, place):
    queues = tuple(
        (*queue, *search.triggered(state.done, place)) if at == place[0] else queue
        for at, queue in enumerate(state.queues)
    )
    return state._replace(done=state.done | {place}, queues=queues)


def ends_in_any_order(stores, sends, windows, together=(), commands=None):
    """Test the same by single events: a sender issues, a queue's head leaves, a slot completes."""
    search = Search(stores, sends, windows, together, commands)
    left, seen = [search.start()], set()
    while left:
        state = left.pop()
        if state in seen:
            continue
        seen.add(state)
        following = [*events(search, state)]
        if not following and len(state.done) < len(search.needed):
            return False
        left += following
    return True


def events(search, state):
    for at, program in enumerate(search.stores):
        here = state.issued[at]
        if here < len(program) and search.admits(state.done, state.queues, program[here]):
            issued = (*state.issued[:at], here + 1, *state.issued[at + 1 :])
            yield arrive(state._replace(issued=issued), program[here])
    for at, queue in enumerate(state.queues):
        if queue and search.admits(state.done, state.queues, search.sends[at][queue[0]]):
            queues = (*state.queues[:at], queue[1:], *state.queues[at + 1 :])
            yield arrive(state._replace(queues=queues), search.sends[at][queue[0]])
    for place, count in state.arrived:
        if count == search.needed[place] and place not in state.done:
            yield complete(search, state, place)


def arrive(state, entry):
    arrived = dict(state.arrived)
    for place in entry:
        arrived[place] = arrived.get(place, 0) + 1
    return state._replace(arrived=tuple(sorted(arrived.items())))
