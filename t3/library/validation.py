"""Comparison of the model with its references, from Python."""

from pathlib import Path
from typing import TYPE_CHECKING

from sysmodel.config.arguments import checked_path
from t3.report.progress import shown_progress

if TYPE_CHECKING:
    import pandas as pd

    from sysmodel.lib.output import OutputFolder
    from t3.report.document import Section

__all__ = ["PAGE", "SUMMARY", "Validation", "validate"]

PAGE, SUMMARY = "validation.md", "validation-summary.md"


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


def validate(out: Path | str | None = None) -> Validation:
    """Compare the model with other simulators and with GPUs, and sampled with full simulations.

    The comparison takes minutes.

    Parameters
    ----------
    out : path, optional
        Folder for ``validation.md``, a page with plots, and its summary. Without a folder no file
        is written.

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        The folder cannot be written.

    Examples
    --------
    >>> import t3
    >>> t3.validate().passed  # doctest: +SKIP
    True
    """
    from sysmodel.lib.output import OutputFolder

    if out is None:
        return Validation(_sections(), [])
    files: list[Path] = []
    with OutputFolder(checked_path("out", out), (PAGE, SUMMARY)) as folder:
        sections = _sections()
        with folder.writing():
            files = _written(sections, folder)
    return Validation(sections, files)


def _sections() -> "list[Section]":
    with shown_progress() as progress:
        from t3.experiments.validation.sections import compare_all

        return compare_all(progress)


def _written(sections: "list[Section]", folder: "OutputFolder") -> list[Path]:
    from rtl.export.revision import made_by
    from t3.experiments.validation.sections import write_page, write_summary

    source = made_by("t3 validate")
    write_page(sections, folder.staging / PAGE, source)
    write_summary(sections, folder.staging / SUMMARY, source)
    return folder.publish()
