"""The energy of the sublayers under other constants: counts stay, so nothing is simulated again."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import pandas as pd

from sysmodel.energy.constants import Constants, known_constants
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.energy.model import energy_of

from .study import BASE, REPRODUCED, Case, Study

__all__ = ["PARTS", "Range", "energies", "ranges", "reductions"]

# The parts of the energy as they are shown.
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
    """What constants decide when they leave their values, the others staying.

    Parameters
    ----------
    names : tuple of str
        The constants that move together.
    title : str
        What they are.
    at_low, at_high : float
        Percent of sequential's energy that T3-MCA saves, mean over the sublayers.
    """

    names: tuple[str, ...]
    title: str
    at_low: float
    at_high: float


def energies(table: pd.DataFrame, study: Study, constants: Constants) -> Energy:
    """Energy of every row of a sweep's table, in columns."""
    # The sums are the same for columns as for the numbers that the classes are made for.
    dram: dict[str, Any] = {one.name: table[f"dram_{one.name}_bytes"] for one in fields(DramBytes)}
    sent: dict[str, Any] = {one.name: table[f"link_{one.name}_bytes"] for one in fields(LinkBytes)}
    done: dict[str, Any] = {one.name: table[one.name] for one in fields(Activity)}
    return energy_of(
        DramBytes(**dram), LinkBytes(**sent), Activity(**done), study.system, constants
    )


def reductions(study: Study, case: Case, constants: Constants, group: str = "main") -> pd.Series:
    """Percent of sequential's energy that T3-MCA saves on every sublayer."""
    total: Any = energies(study.table, study, constants).total
    wide = study.spread(total, case, group=group)
    return 100 * (1 - wide[REPRODUCED] / wide[BASE])


def ranges(study: Study) -> list[Range]:
    """The constants one by one, the DRAM's together, and all of them at the ends that save least
    (``at_low``) and most."""
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
