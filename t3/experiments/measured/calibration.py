"""Fit of the few parameters of a system that measurements decide."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from sysmodel.config.system import System
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import Report, no_progress

from .comparison import Compared, compiling, modelled
from .measurement import Kind, Measurement
from .parameters import FITTED, Fitted, changed, value_of

__all__ = ["MOST_ITERATIONS", "Calibration", "Refusal", "calibrate", "held_back"]

MOST_ITERATIONS = 6
"""Largest number of values of the parameters for which a fit simulates the rows."""
_EVERY = 4  # one size in four is held back
_STEP = 0.05  # share of a parameter's scale, for the differences of the slopes
_LEAST_SLOPE = 0.05  # change of the log of some time by a parameter's scale
_LEAST_SINE = 0.15  # for the angle between a parameter's slopes and the others'
_DIGITS = 4
_NEAR = 1e-3  # share of a parameter's scale, between a value and a bound at which the fit ends


@dataclass(frozen=True)
class Refusal:
    """Parameter that stays as it is, with the reason."""

    key: str
    reason: str


@dataclass(frozen=True)
class Calibration:
    """Result of a fit.

    Parameters
    ----------
    before, after : dict
        Values of the fitted parameters in the base and after the fit.
    refused : tuple of Refusal
        Parameters that the rows do not decide.
    fitted, held : list of Compared
        Rows that the fit used and rows that it did not, with the fitted system's values.
    unchanged : list of Compared
        Rows, of both parts, that no fitted parameter changes.
    remarks : dict
        Remark about a fitted value that ends at a bound, by key.
    residuals : tuple of float
        Root mean square of log(ours / measured) at the start, and after each step to a better fit.
    converged : bool
        False if the fit ended at its largest number of iterations.
    """

    before: dict[str, float]
    after: dict[str, float]
    refused: tuple[Refusal, ...]
    fitted: list[Compared]
    held: list[Compared]
    unchanged: list[Compared]
    remarks: dict[str, str]
    residuals: tuple[float, ...]
    converged: bool


def held_back(rows: Sequence[Measurement]) -> tuple[list[Measurement], list[Measurement]]:
    """Separate the rows to fit from those of a quarter of the works of each kind.

    The smallest and the largest size are fitted, since they decide latency and rate. Rows of the
    same work stay together: a repetition of a fitted row is no check.
    """
    fitted: list[Measurement] = []
    held: list[Measurement] = []
    for kind in dict.fromkeys(one.kind for one in rows):
        of_kind = sorted((one for one in rows if one.kind == kind), key=_order)
        checks = _checks([*dict.fromkeys(one.work for one in of_kind)])
        held += [one for one in of_kind if one.work in checks]
        fitted += [one for one in of_kind if one.work not in checks]
    return fitted, held


def _order(one: Measurement) -> tuple[int, int]:
    return one.size, one.gpus


def _checks(works: Sequence[Measurement]) -> set[Measurement]:
    """Choose the works to hold back, evenly among those of neither the smallest nor the largest
    size; where all have one of these, among those between the first and the last."""
    ends = works[0].size, works[-1].size
    inner = [one for one in works if one.size not in ends] or works[1:-1]
    count = min(len(works) // _EVERY, len(inner))
    return {inner[(2 * at + 1) * len(inner) // (2 * count)] for at in range(count)}


def calibrate(
    base: System, rows: Sequence[Measurement], report: Report = no_progress
) -> Calibration:
    """Fit parameters of a system to measurements, by least squares of log(ours / measured).

    A parameter is fitted if there are rows of a kind that decides it, if its usual size changes the
    time of some row by 5 % or more, and if its effect on the rows differs from that of the
    parameters with a larger effect. All others stay.

    Raises
    ------
    InputError
        The rows decide no parameter.
    SimulationError
        A simulation of the model fails.
    """
    fitted, held = held_back(rows)
    model = _Model(base, fitted, report)
    chosen, refused = _decided(model, fitted)
    if not chosen:
        reasons = "; ".join(f"{one.key}: {one.reason}" for one in refused)
        raise InputError("measured", f"the rows decide no parameter ({reasons})")
    scales = np.array([one.scale for one in chosen])
    bounds = np.array([one.bounds for one in chosen]).T / scales
    start = np.array([value_of(base, one.key) for one in chosen]) / scales
    sizes: list[float] = []

    def residuals(x: np.ndarray) -> np.ndarray:
        found = model.residuals(_values(chosen, x))
        size = float(np.sqrt(np.mean(found**2)))
        if not sizes or size < sizes[-1]:
            sizes.append(size)
        return found

    found = least_squares(
        residuals,
        np.clip(start, bounds[0] + 1e-6, bounds[1] - 1e-6),
        jac=lambda x: model.slopes(chosen, _values(chosen, x)),
        bounds=(bounds[0], bounds[1]),
        max_nfev=MOST_ITERATIONS,
        xtol=5e-3,
        ftol=1e-3,
    )
    after = {key: _rounded(value) for key, value in _values(chosen, found.x).items()}
    system = changed(base, after)
    used, checks = (
        [Compared(one, modelled(system, one)) for one in part] for part in (fitted, held)
    )

    def acted(one: Compared) -> bool:
        return any(
            parameter.acts_on(at, one.measurement) for parameter in chosen for at in (base, system)
        )

    return Calibration(
        before={one.key: value_of(base, one.key) for one in chosen},
        after=after,
        refused=tuple(refused),
        fitted=[one for one in used if acted(one)],
        held=[one for one in checks if acted(one)],
        unchanged=[one for one in [*used, *checks] if not acted(one)],
        remarks={one.key: at for one in chosen if (at := _at_bound(one, after[one.key]))},
        residuals=tuple(sizes),
        converged=found.status > 0,
    )


def _at_bound(one: Fitted, value: float) -> str:
    """Say that a value ends at a bound; else nothing."""
    least, most = one.bounds
    if value - least < _NEAR * one.scale:
        return f"its least allowed value is {least:g}"
    return f"its largest allowed value is {most:g}" if most - value < _NEAR * one.scale else ""


def _values(chosen: Sequence[Fitted], x: np.ndarray) -> dict[str, float]:
    return {one.key: float(at * one.scale) for one, at in zip(chosen, x, strict=True)}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


class _Model:
    """Residuals of the rows for values of the parameters; a row is simulated again only if one of
    its own parameters changes."""

    def __init__(self, base: System, rows: Sequence[Measurement], report: Report):
        self.base, self._rows, self._report = base, rows, report
        self._known: dict[tuple[object, ...], float] = {}

    def residuals(self, values: dict[str, float]) -> np.ndarray:
        """Logs of our times over the measured ones."""
        system = changed(self.base, values)
        return np.array([np.log(self._ours(system, values, one) / one.value) for one in self._rows])

    def slopes(self, chosen: Sequence[Fitted], values: dict[str, float]) -> np.ndarray:
        """Derivatives of the residuals by the parameters in units of their scales."""
        here = self.residuals(values)
        columns = []
        for one in chosen:
            step = _STEP * one.scale
            if values[one.key] + step > one.bounds[1]:
                step = -step
            there = self.residuals(values | {one.key: values[one.key] + step})
            columns.append((there - here) / (step / one.scale))
        return np.stack(columns, axis=1)

    def _ours(self, system: System, values: dict[str, float], row: Measurement) -> float:
        own = [one.key for one in FITTED if one.key in values and one.acts_on(system, row)]
        key = (row.work, *((name, values[name]) for name in own))
        if key not in self._known:
            task = f"fit: simulation {len(self._known) + 1}"
            self._report(task, 0.0)
            self._known[key] = modelled(system, row, compiling(self._report, task, 0.0))
        return self._known[key]


def _decided(model: _Model, rows: Sequence[Measurement]) -> tuple[list[Fitted], list[Refusal]]:
    """Choose the parameters that the rows decide."""
    kinds = {one.kind for one in rows}
    missing = [one for one in FITTED if not kinds & set(one.decided_by)]
    refused = [Refusal(one.key, f"no row of {_listed(one.decided_by)}") for one in missing]
    candidates = [one for one in FITTED if one not in missing]
    if not candidates:
        return [], refused
    start = {one.key: value_of(model.base, one.key) for one in candidates}
    slopes = model.slopes(candidates, start)
    order = sorted(range(len(candidates)), key=lambda at: -np.linalg.norm(slopes[:, at]))
    chosen: list[int] = []
    for at in order:
        one, column = candidates[at], slopes[:, at]
        if np.abs(column).max() < _LEAST_SLOPE:
            reason = f"{one.scale:g} more of it changes no time by {100 * _LEAST_SLOPE:g} %"
            refused.append(Refusal(one.key, reason))
        elif _sine(column, slopes[:, chosen]) < _LEAST_SINE:
            others = " and ".join(candidates[other].key for other in chosen)
            verb = "do" if len(chosen) > 1 else "does"
            reason = f"it changes the times as {others} {verb}; allowed: rows of more sizes"
            refused.append(Refusal(one.key, reason))
        else:
            chosen.append(at)
    return [candidates[at] for at in sorted(chosen)], refused


def _sine(column: np.ndarray, others: np.ndarray) -> float:
    """Sine of the angle between a column and the space of others."""
    if others.shape[1] == 0:
        return 1.0
    nearest, *_ = np.linalg.lstsq(others, column, rcond=None)
    return float(np.linalg.norm(column - others @ nearest) / np.linalg.norm(column))


def _listed(kinds: Sequence[Kind]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} or {last}" if others else last
