"""Sections of the validation page about ring collectives."""

from t3.report.document import Figure, Section, Table
from t3.report.markdown import signed

from .figures import draw_rings
from .ring_comparison import RING_BOUND, RingComparison

__all__ = ["RING_FIGURE", "closed_form_section", "ring_section"]

RING_FIGURE = "validation-ring.png"

_HEADINGS = (
    *("collective", "GPUs", "buffer (bytes)", "link (GB/s)", "latency (ns)"),
    *("reference (ns)", "ours (ns)", "difference", "within"),
)


def _row(one: RingComparison) -> tuple[str, ...]:
    reference = one.reference
    return (
        reference.collective.replace("_", "-"),
        str(reference.gpus),
        f"{reference.buffer_bytes:,}",
        f"{reference.link_gb_per_s:g}",
        f"{reference.link_latency_ns:g}",
        f"{reference.time_ns:,.0f}",
        f"{one.ours_ns:,.0f}",
        signed(100 * one.difference, "%"),
        "yes" if one.holds else "no",
    )


def _broken(compared: list[RingComparison]) -> tuple[str, ...]:
    return tuple(", ".join(_row(one)[:-1]) for one in compared if not one.holds)


def ring_section(compared: list[RingComparison], others: list[RingComparison]) -> Section:
    """Compare collectives with ASTRA-sim; the figure also shows the ``others``."""
    return Section(
        title="Ring collectives, network only",
        text="The link model alone (credit, latency, bounded buffer), in one direction of a ring; "
        "memory and reduction take no time. The reference is ASTRA-sim's analytical network. "
        f"Bound: within {100 * RING_BOUND:g} % of each time.",
        table=Table(_HEADINGS, tuple(map(_row, compared))),
        broken=_broken(compared),
        figure=Figure(
            RING_FIGURE,
            "Difference of ring collectives' times from the reference",
            lambda path: draw_rings(compared, others, path),
        ),
    )


def closed_form_section(compared: list[RingComparison]) -> Section:
    """Compare collectives with the closed form."""
    return Section(
        title="Ring collectives, beyond the reference",
        text="Other GPU counts, sizes, rates and latencies against the closed form "
        "(N − 1) · (buffer / N / rate + latency). "
        f"Bound: within {100 * RING_BOUND:g} %. The link carries whole atoms of 32 bytes and "
        "time advances in cycles, so a step may differ by one atom and one cycle.",
        table=Table(_HEADINGS, tuple(map(_row, compared))),
        broken=_broken(compared),
    )
