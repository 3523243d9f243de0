"""Tables of the energy."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

from sysmodel.energy.constants import known_constants
from sysmodel.lib.markdown import MISSING, with_unit
from t3.experiments.evaluation.energy import PARTS, ranges
from t3.experiments.evaluation.study import BASE, REPRODUCED, Case, Study

from .table import Table

__all__ = ["constant_range_table", "energy_table", "saving_table"]

_COMPARED = (BASE, "t3", REPRODUCED, "t3-critical")


def energy_table(study: Study, group: str) -> Table:
    """Energy of one GPU by part in mJ; total, and what is saved of sequential's, in every case."""
    first = study.cases[0]
    parts = [
        reduce(add, (study.points(f"energy_{name}_j", first, group=group) for name in names))
        for names in PARTS.values()
    ]
    total = {case: study.points("energy_total_j", case, group=group) for case in study.cases}
    saved = {case: 100 * (1 - one.div(one[BASE], axis=0)) for case, one in total.items()}
    headings = [
        "model",
        "TP",
        "layer",
        "configuration",
        *(f"{name}, {first.label} (mJ)" for name in PARTS),
    ]
    headings += [
        f"{what}, {case.label} ({unit})"
        for case in study.cases
        for what, unit in (("total", "mJ"), ("saved", "%"))
    ]
    rows = []
    for point in total[first].index:
        for configuration in _COMPARED:
            model, tp, layer = point
            row = [model, str(tp), layer, configuration]
            row += [f"{1e3 * part.loc[point, configuration]:.2f}" for part in parts]
            for case in study.cases:
                row.append(f"{1e3 * total[case].loc[point, configuration]:.2f}")
                saving = saved[case].loc[point, configuration]
                row.append(MISSING if configuration == BASE else f"{saving:.1f}")
            rows.append(row)
    return Table(headings, rows, text_columns=4)


def saving_table(study: Study, groups: Mapping[str, str], cases: Sequence[Case]) -> Table:
    """Mean of what is saved of sequential's energy; ``groups`` has the words for each group."""
    headings = ["sublayers", "configuration:"]
    headings += [f"saved, {case.label} (%)" for case in cases]
    rows = []
    for group, words in groups.items():
        total = (study.points("energy_total_j", case, group=group) for case in cases)
        saved = [100 * (1 - one.div(one[BASE], axis=0)) for one in total]
        for configuration in _COMPARED[1:]:
            means = (f"{one[configuration].mean():.1f}" for one in saved)
            rows.append([words, f"`{configuration}`", *means])
    return Table(headings, rows)


def constant_range_table(study: Study) -> Table:
    """What T3-MCA saves when constants of the energy go to the ends of their range."""
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
