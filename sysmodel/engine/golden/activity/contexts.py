"""Clock enables of the blocks of a context."""

from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.lib.compiled import inlined

from ..records import record
from ..registers.bus import writes_page
from ..registers.errors import OF_LINK, needs_log
from ..state import GoldenState
from ..trigger.criticality import CriticalityOutputs
from .counters import count_context, count_peers
from .kinds import COUNTS, UNIT

__all__ = [
    "CONTEXT_ACTIVITY",
    "count_units",
    "enable_unit",
    "look_at_page",
]

CONTEXT_ACTIVITY = record("enables")
"""Clock enables of this cycle, as bits of :data:`~.kinds.UNIT`."""


@inlined
def enable_unit(s: GoldenState, context: int, unit: int, enabled: bool) -> None:
    """Enable the clock of a block of the context in this cycle."""
    if enabled:
        s.context_activity[context].enables |= unit


@inlined
def look_at_page(s: GoldenState, context: int, strobes: int, acts: bool) -> None:
    """Enable the clock of the context's registers if one may change, at the start of a cycle.

    Parameters
    ----------
    strobes : int
        Strobes of CONTROL in this cycle.
    acts : bool
        A write acts in this cycle.
    """
    own, page = s.contexts[context], CONTEXT + context
    control, interrupts = own.control, s.interrupts[page]
    works = strobes | control.aborting | control.waited_abort | control.pending | control.launches
    works |= own.copies.copies_level | interrupts.copying | own.window.report_due
    works |= own.status.idle ^ interrupts.was_idle
    works |= s.activity.pages_written >> page & 1
    log = needs_log(s.logs[page]) or s.logs[GLOBAL].kinds & OF_LINK != 0
    writes = writes_page(s.gpu.bus, acts, page)
    enable_unit(s, context, UNIT.page, works != 0 or log or writes)


@inlined
def count_units(
    s: GoldenState,
    context: int,
    criticality: CriticalityOutputs,
    window: bool,
    external: bool,
    peers: int,
    limits: bool,
) -> None:
    """Count the clock enables of the context, at the end of a cycle.

    Parameters
    ----------
    criticality : CriticalityOutputs
    window, external, limits : bool
        A register of the credit window, of the external status, or of the range limits may change.
    peers : int
        Number of peers whose status changes.
    """
    own = s.context_activity[context]
    enables = own.enables
    enables |= UNIT.criticality if criticality.active else 0
    enables |= COUNTS if criticality.counts else 0
    enables |= UNIT.credit_window if window else 0
    enables |= UNIT.external_status if external else 0
    enables |= UNIT.range_limits if limits else 0
    own.enables = 0
    count_context(s, enables)
    count_peers(s, peers)
