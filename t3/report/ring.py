"""Chart of the ring of GPUs, and of the chunks that move around it over time."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Frame, Scatter

from sysmodel.lib.ring import gathered, scattered
from sysmodel.runs.timeline import Timeline

from .units import unit_of

__all__ = ["Position", "positions", "ring_chart"]

_FRAMES = 120
_FRAME_MS = 80
_FULL = 100  # last time, in its unit, from which on times are written without decimals
_FEW_GPUS = 8  # most GPUs whose marks are large enough for a word
_OUTSIDE, _REACH = 1.42, 1.62  # radius of the chunks, and of the picture; the GPUs' is 1
_LINK = "link (bytes/ns)"
_PHASES: Mapping[str, Callable[[int, int, int], int]] = {
    "reduce-scatter": scattered,
    "all-gather": gathered,
}


@dataclass(frozen=True, kw_only=True)
class Position:
    """Chunks that all GPUs send at one time.

    Attributes
    ----------
    phase : str
        ``reduce-scatter`` or ``all-gather``.
    step : int
        Step of the phase, from 0 on.
    chunks : tuple of int
        Number of the chunk that each GPU sends.
    share : float
        Share of the chunk that has been sent, from 0 to 1.
    """

    phase: str
    step: int
    chunks: tuple[int, ...]
    share: float


def positions(timeline: Timeline, gpus: int, times_ns: np.ndarray) -> Iterator[Position | None]:
    """Positions of the chunks at some times, from the bytes that the link has sent by these times;
    None while no collective runs.

    A step sends one chunk, and a phase has one step less than there are GPUs. Bytes that a phase
    sends before the previous phase has ended count for the previous phase.
    """
    moved = np.concatenate([[0.0], np.cumsum(timeline.series[_LINK]) * timeline.bucket_ns])
    at = np.arange(len(moved)) * timeline.bucket_ns
    spans = {one.name: (one.start_ns, one.end_ns) for one in timeline.spans if one.name in _PHASES}
    steps = gpus - 1
    for time_ns in times_ns:
        current = [name for name, (start, end) in spans.items() if start <= time_ns <= end]
        if not current:
            yield None
            continue
        phase = current[0]
        start, end = spans[phase]
        before, whole = (float(np.interp(time, at, moved)) for time in (start, end))
        whole = whole - before or 1.0
        done = steps * (float(np.interp(time_ns, at, moved)) - before) / whole
        step = min(int(done), steps - 1)
        sent = _PHASES[phase]
        # `scattered` begins with the chunk that a GPU produces itself.
        chunks = tuple(sent(gpu, step, gpus) for gpu in range(gpus))
        yield Position(phase=phase, step=step, chunks=chunks, share=min(done - step, 1.0))


def ring_chart(timeline: Timeline, gpus: int, title: str) -> Figure:
    """GPUs in a circle and a mark for the chunk that each sends to its neighbour, with a slider and
    a button that lets the time run, from the first chunk on."""
    moving = [one for one in timeline.spans if one.name in _PHASES]
    last_ns = max(one.end_ns for one in timeline.spans)
    times_ns = np.linspace(min(one.start_ns for one in moving), last_ns, _FRAMES)
    unit = unit_of("ns", last_ns)
    places = list(positions(timeline, gpus, times_ns))
    figure = Figure(
        data=[_gpus(gpus), _chunks(places[0], gpus)],
        frames=[
            Frame(
                name=f"{index}",
                data=[_chunks(place, gpus)],
                traces=[1],
                layout={"annotations": [_phase(place)]},
            )
            for index, place in enumerate(places)
        ],
    )
    steps = [
        {
            "method": "animate",
            "label": f"{unit.of(time_ns):,.{0 if unit.of(last_ns) >= _FULL else 1}f}",
            "args": [[f"{index}"], {"mode": "immediate", "frame": {"duration": 0}}],
        }
        for index, time_ns in enumerate(times_ns)
    ]
    play = {"frame": {"duration": _FRAME_MS}, "transition": {"duration": 0}, "fromcurrent": True}
    stop = {"mode": "immediate", "frame": {"duration": 0}}
    figure.update_layout(
        height=600,
        showlegend=False,
        margin={"t": 60, "b": 20, "l": 10, "r": 10},
        annotations=[_phase(places[0])],
        xaxis={"visible": False, "range": [-_REACH, _REACH]},
        yaxis={"visible": False, "range": [-_REACH, _REACH], "scaleanchor": "x"},
        sliders=[{"steps": steps, "currentvalue": {"prefix": f"{title}, time ({unit.name}): "}}],
        updatemenus=[
            {
                "type": "buttons",
                "x": 0,
                "xanchor": "left",
                "y": 1.0,
                "yanchor": "bottom",
                "direction": "left",
                "buttons": [
                    {"label": "run", "method": "animate", "args": [None, play]},
                    {"label": "stop", "method": "animate", "args": [[None], stop]},
                ],
            }
        ],
    )
    return figure


def _at(gpu: float, gpus: int) -> tuple[float, float]:
    """Place on the circle: GPU 0 at the top, numbers counter-clockwise."""
    angle = math.pi / 2 + 2 * math.pi * gpu / gpus
    return math.cos(angle), math.sin(angle)


def _gpus(gpus: int) -> Scatter:
    x, y = zip(*(_at(gpu, gpus) for gpu in range(gpus)), strict=True)
    few = gpus <= _FEW_GPUS
    return Scatter(
        x=x,
        y=y,
        mode="markers+text",
        text=[f"GPU {gpu}" if few else f"{gpu}" for gpu in range(gpus)],
        textfont={"color": "white", "size": 11},
        marker={"size": 52 if few else 28, "color": "#30507a"},
        hovertext=[f"GPU {gpu}" for gpu in range(gpus)],
        hoverinfo="text",
    )


def _phase(place: Position | None) -> dict[str, Any]:
    """Text in the middle of the ring."""
    text = f"{place.phase}, step {place.step + 1}" if place else "between two phases"
    return {"x": 0, "y": 0, "text": text, "showarrow": False}


def _chunks(place: Position | None, gpus: int) -> Scatter:
    """Marks between each GPU and its downstream neighbour."""
    if place is None:
        return Scatter(x=[], y=[])
    around = [_at(gpu - place.share, gpus) for gpu in range(gpus)]
    colour = "#d9722e" if place.phase == "reduce-scatter" else "#b8902a"
    return Scatter(
        x=[_OUTSIDE * x for x, _ in around],
        y=[_OUTSIDE * y for _, y in around],
        mode="markers+text",
        text=list(map(str, place.chunks)),
        textfont={"color": "black", "size": 12},
        marker={"size": 24 if gpus <= _FEW_GPUS else 20, "color": colour},
        hovertext=[f"chunk {chunk} from GPU {gpu}" for gpu, chunk in enumerate(place.chunks)],
        hoverinfo="text",
    )
