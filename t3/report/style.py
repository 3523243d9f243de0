"""Style of all Matplotlib figures: colours, lettering, grid, tick labels and legend."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

__all__ = [
    "COLOURS",
    "PART_COLOURS",
    "Grid",
    "Picture",
    "bars",
    "clean",
    "drawn",
    "legend_below",
    "log_ticks",
    "plain_log",
    "plain_number",
    "save",
]

Grid: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""Array of axes, in rows and columns."""

# All colours differ in lightness, too, for print and for readers who cannot distinguish hues.
COLOURS = {
    "sequential": "#8c8c8c",
    "library": "#5f5f5f",
    "t3": "#7d9cc7",
    "t3-mca": "#30507a",
    "t3-mca-paper": "#30507a",
    "t3-compute-first": "#30507a",
    "t3-critical": "#3f8f5f",
    "ideal-overlap": "#d9722e",
    "ideal-rs-nmc": "#f2c879",
    "cu-split-8": "#cdb5d6",
    "cu-split-16": "#7b5a8c",
    "two-batch": "#a68ab5",
    "chunked": "#b5a08a",
    "ideal": "#e0b090",
}
PART_COLOURS = {
    "GEMM": "#30507a",
    "GEMM slowed by communication": "#7d9cc7",
    "reduce-scatter, exposed": "#d9722e",
    "all-gather, exposed": "#f2c879",
}
"""Colours of the parts of a configuration's time."""

_LETTERING: "dict[RcKeyType, Any]" = {
    "svg.hashsalt": "t3",  # equal results give equal files
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
}

_NOTEBOOK_DPI = 90
_FEW_DECADES = 10**2.5


class Picture(Figure):
    """Figure that a notebook shows, also if nothing has imported pyplot."""

    def _repr_png_(self) -> bytes:
        written = BytesIO()
        self.savefig(written, format="png", dpi=_NOTEBOOK_DPI)
        return written.getvalue()


@contextmanager
def drawn(
    width: float,
    height: float,
    rows: int = 1,
    columns: int = 1,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> Iterator[tuple[Figure, Grid]]:
    """Figure, sized in inches, and its array of axes."""
    with matplotlib.rc_context(_LETTERING):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)


def save(figure: Figure, path: Path) -> None:
    """Write an SVG file without a date."""
    figure.savefig(path, format="svg", metadata={"Date": None})


def clean(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """Leave a light grid and the axis that carries the labels."""
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right", "left" if grid == "y" else "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def plain_number(value: float, position: float | None = None) -> str:
    """Tick label: the number in full, with commas between the thousands."""
    return f"{value:,.10g}"


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: powers of ten, with their double and fivefold if the axis has
    few decades."""
    digits = (1, 2, 5) if high < _FEW_DECADES * low else (1,)
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


def plain_log(axis: Axis) -> None:
    """Label a logarithmic axis, whose ends are set, with plain numbers at :func:`log_ticks`."""
    axis.set_major_locator(FixedLocator(log_ticks(*axis.get_view_interval())))
    axis.set_minor_locator(LogLocator(10, range(2, 10)))
    axis.set_major_formatter(FuncFormatter(plain_number))
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Put one legend for all axes below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def bars(
    axes: Axes, at: Sequence[float], series: Mapping[str, Sequence[float]], base: float
) -> None:
    """Draw bars side by side, a colour for each configuration, standing on ``base``."""
    width = 0.86 / len(series)
    for i, (name, values) in enumerate(series.items()):
        left = [x - 0.43 + (i + 0.5) * width for x in at]
        heights = [value - base for value in values]
        axes.bar(left, heights, width, bottom=base, color=COLOURS[name], label=name)
