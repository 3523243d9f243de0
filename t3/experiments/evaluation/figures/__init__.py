"""Figures of the evaluation: file, title and drawing function of each."""

from pathlib import Path

from t3.experiments.evaluation.study import Study
from t3.report.document import Figure

from .checks import draw_efficiency, draw_sensitivity
from .energy import draw_energy
from .models import draw_communication, draw_models
from .sublayers import draw_compute, draw_cu_split, draw_ideal, draw_speedups, draw_time
from .traffic import draw_traffic, draw_traffic_over_time

__all__ = ["FIGURES", "draw_figures"]


_LARGE = "large and futuristic"
FIGURES: dict[str, Figure] = {
    one.file.partition(".")[0]: one
    for one in (
        Figure(
            "speedups.svg",
            "Speedup over sequential, Mega-GPT-2 and T-NLG",
            lambda study, path: draw_speedups(study, "main", path),
        ),
        Figure(
            "speedups-large.svg",
            "Speedup over sequential, large and futuristic models",
            lambda study, path: draw_speedups(study, _LARGE, path),
        ),
        Figure("ideal.svg", "Speedup of T3 by policy as a share of the ideal's", draw_ideal),
        Figure(
            "time.svg",
            "Where the time goes, Mega-GPT-2 and T-NLG",
            lambda study, path: draw_time(study, "main", path),
        ),
        Figure(
            "time-large.svg",
            "Where the time goes, large and futuristic models",
            lambda study, path: draw_time(study, _LARGE, path),
        ),
        Figure("traffic.svg", "DRAM traffic by category", draw_traffic),
        Figure(
            "traffic-over-time.png",
            "DRAM traffic over time, T-NLG FC-2 on 8 GPUs in stages",
            draw_traffic_over_time,
        ),
        Figure("energy.svg", "Energy of one GPU by part", draw_energy),
        Figure("cu-split.svg", "CUs split between GEMM and all-reduce", draw_cu_split),
        Figure("compute.svg", "Speedup with twice the CUs", draw_compute),
        Figure("models.svg", "End-to-end speedup", draw_models),
        Figure("communication.svg", "Share of communication in time", draw_communication),
        Figure("efficiency.svg", "Efficiency of the GEMM alone over K", draw_efficiency),
        Figure(
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
