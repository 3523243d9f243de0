"""Tables of the parameters that are not public."""

from sysmodel.config.parameters import assumptions
from t3.experiments.evaluation.sensitivity import MEASURED, effects
from t3.experiments.evaluation.study import POINT, Study
from t3.report.document import MISSING, Table
from t3.report.markdown import signed

__all__ = ["sensitivity_table", "parameter_table"]

_SHOWN = ("t3-mca", "t3-critical")


def sensitivity_table(study: Study) -> Table:
    """Speedups at each value of each parameter that is not public."""
    moved = effects(study)
    points = list(moved[POINT].drop_duplicates().itertuples(index=False, name=None))
    headings = ["parameter", "default", "value"]
    headings += [
        f"{model} {layer} TP {tp}, {c}{what}"
        for model, tp, layer in points
        for c in MEASURED
        for what in (" (x)", " change (%)")
    ]
    rows = []
    known = moved.set_index([*POINT, "parameter", "value"])
    for name, default, value in (
        moved[["parameter", "default", "value"]].drop_duplicates().itertuples(index=False)
    ):
        row = [f"`{name}`", default, value]
        for point in points:
            key = (*point, name, value)
            for configuration in MEASURED:
                if key not in known.index:
                    row += [MISSING, MISSING]
                    continue
                ours, base = (
                    known.loc[key, configuration],
                    known.loc[key, f"{configuration} default"],
                )
                row += [f"{ours:.3f}", signed(100 * (ours / base - 1))]
        rows.append(row)
    return Table(headings, rows, text_columns=3)


def parameter_table(study: Study) -> Table:
    """Parameters that are assumed or recalled, with the preset's reason and the sensitivity of the
    result.
    """
    moved = effects(study)
    change = {name: 100 * (moved[name] / moved[f"{name} default"] - 1) for name in _SHOWN}
    rows = []
    for one in assumptions(study.system.name):
        mine = [
            any(f"{name}.".startswith(f"{one.key}.") for name in names.split(", "))
            for names in moved["parameter"]
        ]
        spans = [
            f"{signed(of[mine].min())} to {signed(of[mine].max())}" if any(mine) else MISSING
            for of in change.values()
        ]
        rows.append([f"`{one.key}`", one.value, *spans, one.source])
    headings = ["parameter", "value:"]
    headings += [f"{name}'s speedup over its range (%)" for name in _SHOWN] + ["source:"]
    return Table(headings, rows)
