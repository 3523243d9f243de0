"""Files of the evaluation: page, figures, tables and report in the results; summary in the docs."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder

from .figures import FIGURES, draw_figures
from .page import SUMMARY_FIGURE, origin, page, report, summary
from .study import Study
from .tables import DETAILS

__all__ = ["FOLDER", "PAGE", "REPORT", "Outputs"]

PAGE, REPORT, FOLDER = "evaluation.md", "report.html", "evaluation"

_FILES = {name: f"{name}.csv" for name in DETAILS}


class Outputs:
    """Folders of the files; all files appear when all are complete.

    A context manager, which checks that the files can be written before anything is simulated.

    Parameters
    ----------
    out : Path
        Folder for the results.
    copy : Path or None
        Path of the summary; its figure goes into a folder of the same name.

    Raises
    ------
    InputError
        On entry: a folder cannot be written.
    """

    def __init__(self, out: Path, copy: Path | None):
        self._out, self._copy = out, copy

    def __enter__(self) -> "Outputs":
        beside = (*(one.file for one in FIGURES.values()), *_FILES.values())
        with ExitStack() as stack:
            self._results = stack.enter_context(OutputFolder(self._out, (PAGE, REPORT)))
            self._beside = stack.enter_context(OutputFolder(self._out / FOLDER, beside))
            self._copies: list[OutputFolder] = []
            if self._copy is not None:
                folders = (
                    OutputFolder(self._copy.parent, (self._copy.name,), "page"),
                    OutputFolder(self._copy.with_suffix(""), (SUMMARY_FIGURE.file,), "page"),
                )
                self._copies = [stack.enter_context(folder) for folder in folders]
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, study: Study) -> list[Path]:
        """Write all files; return the paths of the pages.

        Raises
        ------
        InputError
            A file cannot be written, or the study lacks a value that the page shows.
        """
        made_by = origin()
        whole = page(study, made_by, FOLDER, is_whole=True)
        beside = self._beside.staging
        try:
            draw_figures(study, beside)
            for name, file in _FILES.items():
                _write(beside / file, DETAILS[name].csv(study))
            _write(self._results.staging / PAGE, page(study, made_by, FOLDER))
            _write(self._results.staging / REPORT, report(whole, beside, study.system.name))
            if self._copy is not None:
                pages, beside_copy = self._copies
                _write(pages.staging / self._copy.name, summary(study, made_by, self._copy.stem))
                shutil.copy(beside / SUMMARY_FIGURE.file, beside_copy.staging)
            self._beside.publish()
            published = self._results.publish()
            for folder in reversed(self._copies):
                published += folder.publish()
        except OSError as error:
            problem = f"{str(error.filename)!r} cannot be written: {error.strerror}"
            raise InputError("out", problem) from error
        return [file for file in published if file.suffix in (".md", ".html")]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
