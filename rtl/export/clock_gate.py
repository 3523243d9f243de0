"""Clock-gate cells of gated blocks."""

from amaranth.hdl import ClockDomain, DomainRenamer, Fragment, Instance, Signal, Value
from amaranth.lib import wiring

from rtl.lib.gating import insert_clock_gates

from .cells import CLOCK_GATE

__all__ = ["add_clock_gate", "with_clock_gates"]


def add_clock_gate(
    fragment: Fragment, block: wiring.Component, clk: Value, rst: Value | None
) -> Signal:
    """Add a clock-gate cell to a block's fragment.

    Parameters
    ----------
    fragment : Fragment
        Elaborated block; it is changed.
    clk : Value
        Clock at the input of the gate.
    rst : Value or None
        Synchronous reset, which opens the gate, too.

    Returns
    -------
    Signal
        Gated clock.
    """
    gated_clk = Signal()
    enable = block.clock_enable if rst is None else block.clock_enable | rst
    gate = Instance(CLOCK_GATE, i_clk=clk, i_enable=enable, o_gated_clk=gated_clk)
    fragment.add_subfragment(gate, "clock_gate")
    return gated_clk


def with_clock_gates(fragment: Fragment, sync: ClockDomain) -> Fragment:
    """Insert a clock-gate cell for every gated block of a design.

    Parameters
    ----------
    fragment : Fragment
        Elaborated design; it is changed.
    sync : ClockDomain
        Clock domain of the design. The gates of nested blocks are all driven by its clock.
    """
    count = 0

    def gate(block: wiring.Component, fragment: Fragment) -> Fragment:
        nonlocal count
        domain = ClockDomain(f"gated_{count}", local=True)
        count += 1
        gated = DomainRenamer(domain.name)(fragment)
        domain.clk = add_clock_gate(gated, block, sync.clk, sync.rst)
        domain.rst = sync.rst
        gated.add_domains(domain)
        return gated

    fragment = insert_clock_gates(fragment, gate)
    if count:
        fragment.add_domains(sync)
    return fragment
