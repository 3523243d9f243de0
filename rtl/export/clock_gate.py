"""Gates that stop the clocks of rooms that sleep."""

from amaranth.hdl import (
    ClockDomain,
    DomainRenamer,
    Elaboratable,
    Fragment,
    Instance,
    Signal,
    Value,
)
from amaranth.lib import wiring

from .cells import CLOCK_GATE

__all__ = ["GatedClocks", "add_clock_gate"]


def add_clock_gate(
    fragment: Fragment, room: wiring.Component, clk: Value, rst: Value | None
) -> Signal:
    """Put a gate into what a room was elaborated to.

    Parameters
    ----------
    fragment : Fragment
        It is changed.
    room : Component
    clk : Value
        The clock that is gated.
    rst : Value or None
        A reset that has to get through.

    Returns
    -------
    Signal
        The room's own clock.
    """
    gated_clk = Signal()
    enable = room.awake if rst is None else room.awake | rst
    gate = Instance(CLOCK_GATE, i_clk=clk, i_enable=enable, o_gated_clk=gated_clk)
    fragment.add_subfragment(gate, "clock_gate")
    return gated_clk


class GatedClocks:
    """A platform that gives each room a gate, and a clock domain of its own behind it.

    Parameters
    ----------
    sync : ClockDomain
        Of the whole. A room inside another has a gate between its clock and this one.

    Attributes
    ----------
    count : int
        Rooms up to now.
    """

    def __init__(self, sync: ClockDomain):
        self._sync = sync
        self.count = 0

    def stop_clock(self, room: wiring.Component) -> Elaboratable:
        domain = ClockDomain(f"room_{self.count}", local=True)
        self.count += 1
        fragment = DomainRenamer(domain.name)(Fragment.get(room, self))
        domain.clk = add_clock_gate(fragment, room, self._sync.clk, self._sync.rst)
        domain.rst = self._sync.rst
        fragment.add_domains(domain)
        return fragment
