"""Energy of the sublayers by part."""

from pathlib import Path

import numpy as np

from t3.experiments.evaluation.energy import PARTS
from t3.experiments.evaluation.study import BASE, REPRODUCED, Study

from .style import clean, drawn, legend_below, save, sublayer_places

__all__ = ["draw_energy"]

_DIE = ("wires", "CUs", "T3")  # too small to tell apart
_SHOWN = {name: parts for name, parts in PARTS.items() if name not in _DIE}
_SHOWN["on the GPU's die"] = tuple(part for name in _DIE for part in PARTS[name])
_COLOURS = ("#30507a", "#7d9cc7", "#b9cbe2", "#d9722e", "#f2c879")


def draw_energy(study: Study, path: Path) -> None:
    """Energy by part of sequential and T3-MCA, as a share of sequential's, for each dispatch."""
    with drawn(10, 6.4, rows=len(study.main_cases), sharex=True, sharey=True) as (figure, grid):
        for axes, case in zip(grid[:, 0], study.main_cases, strict=True):
            total = study.points("energy_total_j", case, group="main")[BASE]
            places = sublayer_places(study.points("energy_total_j", case, group="main"))
            for side, configuration in ((-0.21, BASE), (0.21, REPRODUCED)):
                bottom = np.zeros(len(places.at))
                at = np.array(places.at) + side
                for (name, parts), colour in zip(_SHOWN.items(), _COLOURS, strict=True):
                    energy = sum(
                        study.points(f"energy_{part}_j", case, group="main")[configuration]
                        for part in parts
                    )
                    heights = 100 * (energy / total).to_numpy()
                    label = name if side < 0 else None
                    axes.bar(at, heights, 0.38, bottom=bottom, color=colour, label=label)
                    bottom += heights
                if configuration == REPRODUCED:
                    for x, top in zip(at, bottom, strict=True):
                        axes.text(x, top + 1, f"{top - 100:+.0f}", ha="center", fontsize=9)
            axes.set_ylabel("share of sequential (%)")
            axes.set_title(
                f"{case.label}: {BASE} (left bar) and {REPRODUCED} (right bar; change in %)"
            )
            clean(axes)
        places.label(grid[-1, 0])
        legend_below(figure, grid[0, 0], columns=len(_SHOWN))
        save(figure, path)
