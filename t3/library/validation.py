"""Comparison of the model with its references, from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.config.arguments import checked_path
from sysmodel.config.system import System, load_system
from sysmodel.lib.errors import InputError
from t3.report.progress import shown_progress

if TYPE_CHECKING:
    import pandas as pd

    from sysmodel.lib.output import OutputFolder
    from t3.experiments.validation.measured_sections import MeasuredGpus
    from t3.report.document import Section

__all__ = [
    "ERRORS",
    "FILES",
    "MEASURED",
    "PAGE",
    "SUMMARY",
    "OWN_PAGE",
    "Validation",
    "checked_paths",
    "validate",
]

PAGE, SUMMARY = "validation.md", "validation-summary.md"
MEASURED, ERRORS = "measured-summary.md", "measured-errors.csv"
FILES = (PAGE, SUMMARY, MEASURED, ERRORS)
"""Names of the files of a comparison with all references, beside pictures."""
OWN_PAGE = "measured.md"
"""Name of the page of a comparison with a user's measurements."""


class Validation:
    """Result of :func:`t3.validate`.

    Attributes
    ----------
    sections : list of Section
        Comparisons: each has a ``title``, a ``table`` and the lines of its ``broken`` bounds.
    files : list of Path
        Files that were written.
    """

    def __init__(self, sections: "list[Section]", files: list[Path]):
        self.sections, self.files = sections, files

    @property
    def passed(self) -> bool:
        """True if every difference is within its bound."""
        return not self.broken

    @property
    def broken(self) -> list[str]:
        """Bounds that do not hold, a line for each."""
        return [f"{one.title}: {line}" for one in self.sections for line in one.broken]

    @property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """Figures of each comparison beside the reference's, by title; cells are text."""
        import pandas as pd

        shown = {one.title: one.table for one in self.sections if one.table}
        return {title: pd.DataFrame(one.rows, columns=one.titles) for title, one in shown.items()}

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "\n".join(["failed", *self.broken])
        return f"{len(self.sections)} comparisons: {verdict}"


def validate(
    out: Path | str | None = None,
    *,
    measured: Path | str | Sequence[Path | str] | None = None,
    system: System | Mapping[str, Any] | Path | str | None = None,
) -> Validation:
    """Compare the model with other simulators and with GPUs, and sampled with full simulations; or
    a system with measurements of your own.

    The comparison with all references takes minutes.

    Parameters
    ----------
    out : path, optional
        Folder for the pages: ``validation.md`` with plots, its summary, the summary of measured
        GPUs, and the presets' errors as a table; ``measured.md`` for your own measurements. Without
        a folder no file is written.
    measured : path or paths, optional
        Files of measurements: the output of nccl-tests or rccl-tests, or a table
        (docs/measurements.md).
    system : System, mapping, path or str, optional
        System that the measurements are compared with; needed with ``measured``.

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        The folder cannot be written, a file of measurements is not valid, or one of ``measured``
        and ``system`` is missing.

    Examples
    --------
    >>> import t3
    >>> t3.validate().passed  # doctest: +SKIP
    True
    """
    from sysmodel.lib.output import OutputFolder

    if measured is not None:
        return _own(out, checked_paths("measured", measured), system)
    if system is not None:
        raise InputError("system", "needs measurements; allowed: together with measured")
    if out is None:
        return Validation(_compared()[0], [])
    files: list[Path] = []
    with OutputFolder(checked_path("out", out), FILES) as folder:
        sections, gpus = _compared()
        with folder.writing():
            files = _written(sections, gpus, folder)
    return Validation(sections, files)


def _compared() -> "tuple[list[Section], MeasuredGpus]":
    with shown_progress() as progress:
        from t3.experiments.validation.sections import compare_all

        return compare_all(progress)


def _written(sections: "list[Section]", gpus: "MeasuredGpus", folder: "OutputFolder") -> list[Path]:
    from rtl.export.revision import made_by
    from t3.experiments.validation.measured_errors import errors_of
    from t3.experiments.validation.measured_sections import measured_summary
    from t3.experiments.validation.preset_errors import errors_text
    from t3.experiments.validation.sections import write_page, write_summary

    source = made_by("t3 validate")
    write_page(sections, folder.staging / PAGE, source)
    write_summary(sections, folder.staging / SUMMARY, source)
    return folder.write(
        {
            MEASURED: measured_summary(gpus, source),
            ERRORS: errors_text(errors_of(gpus.compared)),
        }
    )


def _own(
    out: Path | str | None,
    files: list[Path],
    source: System | Mapping[str, Any] | Path | str | None,
) -> Validation:
    """Compare a system with a user's measurements."""
    from sysmodel.lib.output import OutputFolder
    from t3.experiments.measured.comparison import compare
    from t3.experiments.measured.files import read_measurements
    from t3.experiments.measured.sections import own_page, own_sections

    if source is None:
        raise InputError("system", "missing; allowed: the system that was measured")
    system = load_system(source)
    rows, left_out = read_measurements(files)

    def sections() -> "list[Section]":
        with shown_progress() as progress:
            return own_sections(system, compare(system, rows, progress), left_out)

    if out is None:
        return Validation(sections(), [])
    written: list[Path] = []
    with OutputFolder(checked_path("out", out), (OWN_PAGE,)) as folder:
        found = sections()
        written = folder.write({OWN_PAGE: own_page(system, found)})
    return Validation(found, written)


def checked_paths(field: str, given: Path | str | Sequence[Path | str]) -> list[Path]:
    """Check one path or several.

    Raises
    ------
    InputError
        There is none, or one of them is no path.
    """
    single = isinstance(given, (str, Path)) or not isinstance(given, Sequence)
    paths = [given] if single else list(given)  # type: ignore[arg-type]
    if not paths:
        raise InputError(field, "none given; allowed: one file or more")
    return [checked_path(field, one) for one in paths]
