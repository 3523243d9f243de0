"""The figures of the evaluation: name of the file, what it shows, and how it is drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from t3.experiments.evaluation.study import Study

from .checks import draw_efficiency, draw_sensitivity
from .energy import draw_energy
from .models import draw_communication, draw_models
from .sublayers import draw_compute, draw_cu_split, draw_ideal, draw_speedups, draw_time
from .traffic import draw_traffic, draw_traffic_over_time

__all__ = ["FIGURES", "FigureFile", "draw_figures"]


@dataclass(frozen=True)
class FigureFile:
    """A figure of the pages.

    Parameters
    ----------
    file : str
        Its file name.
    title : str
        What it shows; also its text for those who cannot see it.
    draw : callable
        Draws it, given the study and where the file goes.
    """

    file: str
    title: str
    draw: Callable[[Study, Path], None]


_LARGE = "large and futuristic"
FIGURES: dict[str, FigureFile] = {
    one.file.partition(".")[0]: one
    for one in (
        FigureFile(
            "speedups.svg",
            "Speedup over sequential, Mega-GPT-2 and T-NLG",
            lambda study, path: draw_speedups(study, "main", path),
        ),
        FigureFile(
            "speedups-large.svg",
            "Speedup over sequential, large and futuristic models",
            lambda study, path: draw_speedups(study, _LARGE, path),
        ),
        FigureFile("ideal.svg", "Speedup of T3 by policy as a share of the ideal's", draw_ideal),
        FigureFile(
            "time.svg",
            "Where the time goes, Mega-GPT-2 and T-NLG",
            lambda study, path: draw_time(study, "main", path),
        ),
        FigureFile(
            "time-large.svg",
            "Where the time goes, large and futuristic models",
            lambda study, path: draw_time(study, _LARGE, path),
        ),
        FigureFile("traffic.svg", "DRAM traffic by category", draw_traffic),
        FigureFile(
            "traffic-over-time.png",
            "DRAM traffic over time, T-NLG FC-2 on 8 GPUs in stages",
            draw_traffic_over_time,
        ),
        FigureFile("energy.svg", "Energy of one GPU by part", draw_energy),
        FigureFile("cu-split.svg", "CUs split between GEMM and all-reduce", draw_cu_split),
        FigureFile("compute.svg", "Speedup with twice the CUs", draw_compute),
        FigureFile("models.svg", "End-to-end speedup", draw_models),
        FigureFile("communication.svg", "Share of communication in time", draw_communication),
        FigureFile("efficiency.svg", "Efficiency of the GEMM alone over K", draw_efficiency),
        FigureFile(
            "sensitivity.svg",
            "What the parameters that are not public change",
            draw_sensitivity,
        ),
    )
}


def draw_figures(study: Study, folder: Path) -> None:
    """Draw every figure into ``folder``."""
    for figure in FIGURES.values():
        figure.draw(study, folder / figure.file)
