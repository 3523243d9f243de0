"""Chart of the GPUs, and of the chunks that move between them over time as a schedule says."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from plotly.graph_objects import Figure, Frame, Scatter

from sysmodel.collectives.schedule import Expanded
from sysmodel.collectives.steps import steps_of
from sysmodel.runs.timeline import Timeline

from .units import unit_of

__all__ = ["Move", "Position", "positions", "schedule_chart"]

_FRAMES = 120
_FRAME_MS = 80
_FULL = 100  # last time, in its unit, from which on times are written without decimals
_FEW_GPUS = 8  # most GPUs whose marks are large enough for a word
_REACH = 1.3  # half of the picture's width, where the circle of GPUs has the radius 1
_BESIDE = 0.22  # distance between a GPU and a chunk that leaves it or arrives, for few GPUs
_LINK = "link (bytes/ns)"


class Move(NamedTuple):
    """Chunk on its way from a GPU to another one."""

    sender: int
    receiver: int
    chunk: str


@dataclass(frozen=True, kw_only=True)
class Position:
    """Chunks that move at one time.

    Attributes
    ----------
    phase : str
        Name of the collective, as the timeline gives it.
    step : int
        Step of the collective, from 0 on.
    moves : tuple of Move
        Chunks that the GPUs send in the step.
    share : float
        Share of the step's data that has been sent, from 0 to 1.
    """

    phase: str
    step: int
    moves: tuple[Move, ...]
    share: float


def positions(
    timeline: Timeline, schedules: Mapping[str, Expanded], times_ns: np.ndarray
) -> Iterator[Position | None]:
    """Positions of the chunks at some times, from the bytes that the link has sent by these times;
    None while no collective runs.

    Bytes that a collective sends before the previous one has ended count for the previous one.

    Parameters
    ----------
    schedules : mapping
        Schedule of each collective, by the name of its span in the timeline.
    """
    moved = np.concatenate([[0.0], np.cumsum(timeline.series[_LINK]) * timeline.bucket_ns])
    at = np.arange(len(moved)) * timeline.bucket_ns
    spans = {s.name: (s.start_ns, s.end_ns) for s in timeline.spans if s.name in schedules}
    moves = {name: _moves(schedule) for name, schedule in schedules.items()}
    for time_ns in times_ns:
        current = [name for name, (start, end) in spans.items() if start <= time_ns <= end]
        if not current:
            yield None
            continue
        phase = current[0]
        start, end = spans[phase]
        before, whole = (float(np.interp(time, at, moved)) for time in (start, end))
        whole = whole - before or 1.0
        steps = len(moves[phase])
        done = steps * (float(np.interp(time_ns, at, moved)) - before) / whole
        step = min(int(done), steps - 1)
        yield Position(
            phase=phase, step=step, moves=moves[phase][step], share=min(done - step, 1.0)
        )


def _moves(schedule: Expanded) -> list[tuple[Move, ...]]:
    """Chunks that move in each step that sends; each step takes an equal share of the time."""
    return [
        tuple(
            Move(rank, peer, str(work.chunk))
            for rank, done in enumerate(step.work)
            for work in done
            for peer, _ in work.targets
            if peer != rank
        )
        for step in steps_of(schedule)
        if step.sends
    ]


def schedule_chart(
    timeline: Timeline, schedules: Mapping[str, Expanded], gpus: int, title: str
) -> Figure:
    """GPUs in a circle and a mark for each chunk on its way, with a slider and a button that lets
    the time run, from the first chunk on."""
    moving = [one for one in timeline.spans if one.name in schedules]
    last_ns = max(one.end_ns for one in timeline.spans)
    times_ns = np.linspace(min(one.start_ns for one in moving), last_ns, _FRAMES)
    unit = unit_of("ns", last_ns)
    places = list(positions(timeline, schedules, times_ns))
    figure = Figure(
        data=[_chunks(places[0], gpus), _gpus(gpus)],
        frames=[
            Frame(
                name=f"{index}",
                data=[_chunks(place, gpus)],
                traces=[0],
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


def _at(gpu: int, gpus: int) -> tuple[float, float]:
    """Place on the circle: GPU 0 at the top, numbers counter-clockwise."""
    angle = math.pi / 2 + 2 * math.pi * gpu / gpus
    return math.cos(angle), math.sin(angle)


def _between(
    start: tuple[float, float], end: tuple[float, float], share: float, gpus: int
) -> tuple[float, float]:
    """Place of a chunk between two GPUs, beside their marks."""
    beside = _BESIDE if gpus <= _FEW_GPUS else _BESIDE / 2
    distance = math.dist(start, end)
    part = (beside + share * (distance - 2 * beside)) / distance
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


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
    """Text above the circle."""
    text = f"{place.phase}, step {place.step + 1}" if place else "between two phases"
    return {"x": 0, "y": _REACH, "text": text, "showarrow": False}


def _chunks(place: Position | None, gpus: int) -> Scatter:
    """Marks between the senders and the receivers."""
    if place is None:
        return Scatter(x=[], y=[])
    at = [
        _between(_at(one.sender, gpus), _at(one.receiver, gpus), place.share, gpus)
        for one in place.moves
    ]
    colour = "#d9722e" if place.phase == "reduce-scatter" else "#b8902a"
    return Scatter(
        x=[x for x, _ in at],
        y=[y for _, y in at],
        mode="markers+text",
        text=[one.chunk for one in place.moves],
        textfont={"color": "black", "size": 12},
        marker={"size": 24 if gpus <= _FEW_GPUS else 20, "color": colour},
        hovertext=[
            f"chunk {one.chunk} from GPU {one.sender} to GPU {one.receiver}" for one in place.moves
        ],
        hoverinfo="text",
    )
