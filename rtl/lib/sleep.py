"""Rooms that sleep: parts of the hardware in which for long nothing changes."""

from amaranth.hdl import Elaboratable
from amaranth.lib import wiring

__all__ = ["AWAKE", "may_sleep"]

AWAKE = "While it is low, a clock changes nothing."
"""What a room's output ``awake`` says, for those who see only that."""


def may_sleep(room: wiring.Component, platform) -> Elaboratable:
    """A component as a submodule whose clock may stop while its output ``awake`` is low.

    A room promises that a clock that it has while it is not ``awake`` changes nothing in it. A
    platform with a method ``stop_clock`` makes use of that; for any other a room is like any
    component.

    Parameters
    ----------
    room : Component
        In one clock domain, ``sync``.
    platform
        As ``elaborate`` has it.
    """
    stop_clock = getattr(platform, "stop_clock", None)
    return room if stop_clock is None else stop_clock(room)
