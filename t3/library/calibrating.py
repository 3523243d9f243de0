"""Fit of a system to measurements, from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.config.arguments import checked_path
from sysmodel.config.parameters import files_of
from sysmodel.config.system import System, load_system
from sysmodel.lib.errors import InputError, short
from t3.report.progress import shown_progress

from .validation import checked_paths

if TYPE_CHECKING:
    from t3.experiments.measured.calibration import Calibration
    from t3.experiments.measured.measurement import Measurement
    from t3.experiments.measured.nccl_tests import LeftOut

__all__ = ["Calibrated", "calibrate"]


class Calibrated:
    """Result of :func:`t3.calibrate`.

    Attributes
    ----------
    text : str
        File of the fitted system: the base, the fitted values, the rows as comments.
    """

    def __init__(self, fit: "Calibration", text: str, left_out: "Sequence[LeftOut]" = ()):
        self._fit, self.text, self._left_out = fit, text, left_out

    @property
    def values(self) -> dict[str, float]:
        """Fitted values by key."""
        return dict(self._fit.after)

    @property
    def converged(self) -> bool:
        """False if the fit ended at its largest number of iterations."""
        return self._fit.converged

    @property
    def refused(self) -> dict[str, str]:
        """Reasons for which other parameters were not fitted, by key."""
        return {one.key: one.reason for one in self._fit.refused}

    @property
    def differences(self) -> dict[str, list[float]]:
        """Our value over the measured one, less one, of the rows ``fitted``, ``held back``, and
        ``unchanged``, which no fitted value changes."""
        fit = self._fit
        rows = {"fitted": fit.fitted, "held back": fit.held, "unchanged": fit.unchanged}
        return {name: [one.difference for one in found] for name, found in rows.items()}

    @property
    def summary(self) -> list[str]:
        """Fitted values, refused parameters, rows left out and errors, a line for each."""
        from t3.experiments.measured.system_file import error_lines, left_out_lines

        before, remarks = self._fit.before, self._fit.remarks
        return [
            *(
                f"{key}: {before[key]:g} -> {value:g}"
                + (f" ({remarks[key]})" if key in remarks else "")
                for key, value in self.values.items()
            ),
            *(f"not fitted: {key}: {reason}" for key, reason in self.refused.items()),
            *left_out_lines(self._left_out),
            *error_lines(self._fit),
        ]

    def __repr__(self) -> str:
        return self.text


def calibrate(
    measured: Path | str | Sequence[Path | str],
    base: Path | str,
    out: Path | str | None = None,
) -> Calibrated:
    """Fit to measurements the few parameters of a system that they decide.

    Least squares of log(ours / measured) over three quarters of the sizes of each kind, among them
    the smallest and the largest; the others are held back, as a check. Parameters that the rows do
    not decide stay: without a GEMM the clock, with one size of message either latency or payload
    share. The fit simulates each row about fifteen times.

    Parameters
    ----------
    measured : path or paths
        Files of measurements: the output of nccl-tests or rccl-tests, or a table
        (docs/measurements.md).
    base : path or str
        Name of a preset or TOML file, whose other values stay.
    out : path, optional
        File of the fitted system.

    Returns
    -------
    Calibrated

    Raises
    ------
    InputError
        A file is not valid, the rows decide no parameter, or ``out`` cannot be written.
    SimulationError
        A simulation fails.

    Examples
    --------
    >>> import t3
    >>> t3.calibrate("reduce_scatter.txt", "h200").values  # doctest: +SKIP
    {'link.stores_payload_share': 0.757}
    """
    from sysmodel.lib.output import OutputFolder
    from t3.experiments.measured.files import read_measurements

    files = checked_paths("measured", measured)
    if not isinstance(base, (str, Path)):
        raise InputError("base", f"{short(base)} is not allowed; allowed: a preset or a TOML file")
    system = load_system(base, field="base")
    rows, left_out = read_measurements(files)
    if out is None:
        return _fitted(system, rows, left_out, str(base), files, Path())
    path = checked_path("out", out)
    if path.suffix != ".toml":
        raise InputError("out", f"{short(str(path))} is not allowed; allowed: a name in .toml")
    # The file names its base, so it would be the base of itself, and the base's values be lost.
    if path.resolve() in {one.resolve() for one in files_of(str(base))}:
        raise InputError("out", f"{short(str(path))} is a file of the base; allowed: another file")
    with OutputFolder(path.parent, (path.name,)) as folder:
        result = _fitted(system, rows, left_out, str(base), files, path.parent)
        folder.write({path.name: result.text})
    return result


def _fitted(
    system: System,
    rows: "list[Measurement]",
    left_out: "list[LeftOut]",
    base: str,
    files: Sequence[Path],
    folder: Path,
) -> Calibrated:
    from t3.experiments.measured.calibration import calibrate as fit_of
    from t3.experiments.measured.system_file import system_text

    with shown_progress() as progress:
        fit = fit_of(system, rows, progress)
    text = system_text(fit, base, files, folder, left_out)
    return Calibrated(fit, text, left_out)
