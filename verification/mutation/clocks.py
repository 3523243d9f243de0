"""Clock gating as clock enables: a block with gated clocks, modelled with a single clock."""

from collections.abc import Callable

from amaranth.hdl import DomainRenamer, EnableInserter, Fragment
from amaranth.lib.wiring import Component

from rtl.lib.gating import clock_gated, has_clock_enable, insert_clock_gates

__all__ = ["stopped"]


def stopped(
    component: Component, change: Callable[[Fragment], None] = lambda fragment: None
) -> Fragment:
    """Elaborate a component so that a clock edge changes nothing in a block without clock enable.

    Each clock-gated block has its own clock enable: an inner block may be clocked while the block
    around it is not.

    Parameters
    ----------
    component : Component
        Component that is clock-gated itself, contains clock-gated blocks, or neither.
    change : callable
        Changes the elaborated component before its clocks stop.
    """
    domains: list[str] = []

    def gate(block: Component, fragment: Fragment) -> Fragment:
        domain = f"gated_{len(domains)}"
        domains.append(domain)
        return EnableInserter({domain: block.clock_enable})(DomainRenamer(domain)(fragment))

    if has_clock_enable(component):
        clock_gated(component)
    fragment = Fragment.get(component, None)
    change(fragment)
    fragment = insert_clock_gates(fragment, gate)
    return DomainRenamer(dict.fromkeys(domains, "sync"))(fragment)
