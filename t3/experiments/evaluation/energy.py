"""Energy of the sublayers with other constants; the counts stay, so no simulation is repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from sysmodel.energy.constants import Constants, known_constants
from sysmodel.energy.counts import DramBytes, Energy, Events, LinkBytes
from sysmodel.energy.model import energy_of
from sysmodel.runs.columns import SUBLAYER, Column

from .study import BASE, REPRODUCED, Case, Study

__all__ = ["PARTS", "Range", "energies", "ranges", "reductions"]

# Parts of the energy, as tables and figures show them.
PARTS: dict[str, tuple[str, ...]] = {
    "DRAM rows": ("dram_activate",),
    "DRAM reads, writes": ("dram_read", "dram_write"),
    "DRAM updates, NMC": ("dram_update", "nmc"),
    "link": ("link",),
    "wires": ("network",),
    "CUs": ("cu",),
    "T3": ("dma", "tracker", "logic"),
}
_DRAM = tuple(name for name in Constants.model_fields if name.startswith("dram_"))


@dataclass(frozen=True)
class Range:
    """Effect of varying some constants while all others stay.

    Parameters
    ----------
    names : tuple of str
        Constants that move together.
    title : str
        Description of the constants.
    at_low, at_high : float
        Percent of sequential's energy that T3-MCA saves at each end of the range, mean over the
        sublayers.
    """

    names: tuple[str, ...]
    title: str
    at_low: float
    at_high: float


def energies(table: pd.DataFrame, study: Study, constants: Constants) -> Energy:
    """Energy of every row of a sweep's table, in columns."""
    # The classes are made for numbers; their sums work in the same way for columns.
    groups = SUBLAYER.dram, SUBLAYER.link, SUBLAYER.events
    dram, sent, done = (_columns(table, group) for group in groups)
    return energy_of(DramBytes(**dram), LinkBytes(**sent), Events(**done), study.system, constants)


def _columns(table: pd.DataFrame, group: Mapping[str, Column]) -> dict[str, Any]:
    """Columns of a group at the places that their paths name in the group's class."""
    found: dict[str, Any] = {}
    for name, column in group.items():
        if name != "total":
            _, *mappings, last = column.path
            place = found
            for part in mappings:
                place = place.setdefault(part, {})
            place[last] = table[column.key]
    return found


def reductions(study: Study, case: Case, constants: Constants, group: str = "main") -> pd.Series:
    """Percent of sequential's energy that T3-MCA saves on every sublayer."""
    total: Any = energies(study.table, study, constants).total
    wide = study.spread(total, case, group=group)
    return 100 * (1 - wide[REPRODUCED] / wide[BASE])


def ranges(study: Study) -> list[Range]:
    """Compute the effect of each constant, of the DRAM's constants together, and of all constants
    at the ends that save least (``at_low``) and most.
    """
    constants, case = known_constants(), study.cases[0]

    def mean(changed: Constants) -> float:
        return float(reductions(study, case, changed).mean())

    def ends(names: tuple[str, ...], title: str) -> Range:
        low, high = (mean(constants.moved(end, *names)) for end in ("low", "high"))
        return Range(names, title, low, high)

    found = [ends((name,), getattr(constants, name).what) for name in Constants.model_fields]
    worst = best = constants
    for one in found:
        less: Literal["low", "high"] = "low" if one.at_low < one.at_high else "high"
        worst = worst.moved(less, *one.names)
        best = best.moved("high" if less == "low" else "low", *one.names)
    found.append(ends(_DRAM, "all of the DRAM's together"))
    every = tuple(Constants.model_fields)
    title = "each at the end that saves less, and at the other"
    return [*found, Range(every, title, mean(worst), mean(best))]
