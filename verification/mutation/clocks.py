"""A block in which a clock stops, as gates would stop it, but with a single clock."""

from amaranth.hdl import DomainRenamer, EnableInserter, Fragment
from amaranth.lib.wiring import Component

from rtl.export.back_end import is_room

__all__ = ["stopped"]


class _Rooms:
    """A platform that gives each room a clock domain of its own."""

    def __init__(self) -> None:
        self.domains: list[str] = []

    def stop_clock(self, room: Component) -> Fragment:
        domain = f"room_{len(self.domains)}"
        self.domains.append(domain)
        renamed = DomainRenamer(domain)(Fragment.get(room, self))
        return EnableInserter({domain: room.awake})(renamed)


def stopped(component: Component) -> Fragment:
    """A component in which a clock changes nothing in a room that is not ``awake``.

    Each room is judged by its own output: one inside another may be awake while that one is not.

    Parameters
    ----------
    component : Component
        A room itself, or one with rooms in it, or neither.
    """
    rooms = _Rooms()
    top = rooms.stop_clock(component) if is_room(component) else component
    fragment = Fragment.get(top, rooms)
    return DomainRenamer(dict.fromkeys(rooms.domains, "sync"))(fragment)
