"""Tables of the energy."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

from sysmodel.energy.constants import known_constants
from sysmodel.runs.columns import SUBLAYER
from t3.experiments.evaluation.energy import PARTS, ranges
from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study
from t3.report.document import Table
from t3.report.markdown import with_unit

from .sublayers import point_table

__all__ = ["constant_range_table", "energy_table", "saving_table"]

_COMPARED = (BASE, "t3", REPRODUCED, "t3-critical")


def energy_table(study: Study, group: str) -> Table:
    """Energy of one GPU in mJ by part; the total and the saving over sequential in every case."""
    first = study.cases[0]
    columns = {}
    for name, parts in PARTS.items():
        energies = (study.points(SUBLAYER.energy[one].key, first, group=group) for one in parts)
        columns[f"{name}, {first.label} (mJ)"] = (1e3 * reduce(add, energies), ".2f")
    for case in study.cases:
        total = study.points(SUBLAYER.energy["total"].key, case, group=group)
        columns[f"total, {case.label} (mJ)"] = (1e3 * total, ".2f")
        saved = 100 * (1 - total.div(total[BASE], axis=0))
        columns[f"saved, {case.label} (%)"] = (saved.assign(**{BASE: float("nan")}), ".1f")
    return point_table(columns, _COMPARED)


def saving_table(study: Study, groups: Mapping[str, str], cases: Sequence[Case]) -> Table:
    """Mean share of sequential's energy that is saved; ``groups`` has the name of each group."""
    headings = ["sublayers", "configuration:"]
    headings += [f"saved, {case.label} (%)" for case in cases]
    rows = []
    for group, words in groups.items():
        total = (study.points(SUBLAYER.energy["total"].key, case, group=group) for case in cases)
        saved = [100 * (1 - one.div(one[BASE], axis=0)) for one in total]
        for configuration in _COMPARED[1:]:
            means = (f"{one[configuration].mean():.1f}" for one in saved)
            rows.append([words, f"`{configuration}`", *means])
    return Table(headings, rows)


def constant_range_table(study: Study) -> Table:
    """Energy that T3-MCA saves at the ends of each constant's range."""
    constants = known_constants()
    rows = []
    for one in ranges(study):
        values = ["", "", ""]
        unit = ""
        if len(one.names) == 1:
            constant = getattr(constants, one.names[0])
            values = [f"{value:g}" for value in (constant.low, constant.value, constant.high)]
            unit = constant.unit
        saved = [with_unit(value, "%").removesuffix(" %") for value in (one.at_low, one.at_high)]
        rows.append([one.title, *values, unit, *saved])
    return Table(
        ["constant", "low", "default", "high", "unit:", "saved at low (%)", "saved at high (%)"],
        rows,
    )
