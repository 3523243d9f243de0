"""Figures of the validation page."""

from pathlib import Path

from matplotlib.axes import Axes

from t3.report.style import clean, drawn, legend_below

from .dram_comparison import DramComparison
from .ring_comparison import RING_BOUND, RingComparison

__all__ = ["draw_dram", "draw_rings"]

# Ordered by lightness, so that the colours can be distinguished without hues.
_OURS, _COLOURS = "#222222", {"ramulator2.1": "#d9722e", "dramsim3": "#7d9cc7"}


def draw_dram(compared: list[DramComparison], path: Path) -> None:
    """Draw each reference's figure, our figure, and the allowed range, one line per row of the
    file.
    """
    ordered = sorted(
        compared,
        key=lambda one: (one.reference.standard, one.reference.refresh, one.high),
        reverse=True,
    )
    with drawn(8.5, 0.8 + 0.25 * len(ordered)) as (figure, axes):
        (one_axes,) = axes.flat
        for y, one in enumerate(ordered):
            reference = one.reference
            one_axes.plot([one.low, one.high], [y, y], color="#dddddd", linewidth=7, zorder=1)
            one_axes.plot(
                reference.fraction_of_peak,
                y,
                "D",
                color=_COLOURS[reference.simulator],
                label=_once(one_axes, reference.simulator),
            )
            one_axes.plot(
                one.ours,
                y,
                "o",
                color=_OURS,
                markerfacecolor="none",
                label=_once(one_axes, "this model"),
            )
        one_axes.set_yticks(range(len(ordered)), [_label(one) for one in ordered], fontsize=8)
        one_axes.invert_yaxis()
        one_axes.set_xlabel("share of the channel's peak; grey: allowed range")
        one_axes.set_xlim(0.2, 1.0)
        clean(one_axes, "x")
        legend_below(figure, one_axes, 3)
        figure.savefig(path, dpi=110)


def _once(axes: Axes, label: str) -> str:
    """Hide a label that the legend already has."""
    return "_" + label if label in axes.get_legend_handles_labels()[1] else label


def _label(one: DramComparison) -> str:
    reference = one.reference
    channel = reference.channel.replace("_", " ")
    return (
        f"{channel}, offset {reference.region_offset_bytes}, refresh {reference.refresh}, "
        f"queue {reference.read_queue}, offered {reference.offered_per_cycle}"
    )


def draw_rings(compared: list[RingComparison], others: list[RingComparison], path: Path) -> None:
    """Draw times over the closed form, with the difference from the reference below."""
    with drawn(8.5, 5.2, 2, 1, sharex=True) as (figure, axes):
        above, below = axes.flat
        for name, colour, marker, chosen in (
            ("beside ASTRA-sim", "#d9722e", "D", compared),
            ("beside the closed form", "#30507a", "o", others),
        ):
            at = [one.closed_form_ns / 1e3 for one in chosen]
            times = [one.ours_ns / 1e3 for one in chosen]
            above.plot(at, times, marker, color=colour, fillstyle="none", label=name)
            differences = [100 * one.difference for one in chosen]
            below.plot(at, differences, marker, color=colour, fillstyle="none")
        ends = [min(at), max(one.closed_form_ns / 1e3 for one in (*compared, *others))]
        above.plot(ends, ends, color="#8c8c8c", linewidth=0.8, zorder=1, label="equal")
        above.set_xscale("log")
        above.set_yscale("log")
        above.set_ylabel("ours (µs)")
        below.axhspan(-100 * RING_BOUND, 100 * RING_BOUND, color="#eeeeee", zorder=0)
        below.set_ylabel("difference (%); grey: allowed")
        below.set_ylim(-150 * RING_BOUND, 150 * RING_BOUND)
        below.set_xlabel("closed form (µs)")
        for one_axes in (above, below):
            clean(one_axes)
        legend_below(figure, above, 3)
        figure.savefig(path, dpi=110)
