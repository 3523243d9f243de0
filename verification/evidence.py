"""Results of checks of the hardware: JSON, the full page, and its summary for the documentation."""

from pathlib import Path
from typing import Any

from rtl.export.revision import made_by, project_version, revision
from sysmodel.lib.output import OutputFolder, write_json
from t3.report.markdown import filled

__all__ = ["Evidence"]


class Evidence:
    """Files of one check: ``<name>.json``, ``<name>.md`` and ``<name>-summary.md``.

    The summary has at most 80 lines and is committed in ``docs/verification/<name>.md``; the full
    page is a build artefact. The class is a context manager, to be entered before the check begins:
    it proves that the folder can be written, and notes the revision of the sources, which may be
    edited meanwhile.

    Parameters
    ----------
    out : Path
        Folder for the files.
    name : str
        Name of the files.
    title : str
        Title of both pages.
    command : str
        Command that makes the files.

    Raises
    ------
    InputError
        On entry, if the folder or a file cannot be written.
    """

    def __init__(self, out: Path, name: str, *, title: str, command: str):
        self._name, self._title, self._command = name, title, command
        self._folder = OutputFolder(out, (f"{name}.json", f"{name}.md", f"{name}-summary.md"))

    def __enter__(self) -> "Evidence":
        self._folder.__enter__()
        self._program, self._revision = f"t3 {project_version()}", revision()
        self._source = made_by(self._command)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.__exit__()

    def publish(self, result: dict[str, Any], page: str, summary: str) -> None:
        """Write the three files.

        Parameters
        ----------
        result : dict
            Content of the JSON file, without the program and its revision.
        page, summary : str
            Markdown, after the title and the line that names the command and the revision.
        """
        origin = {"program": self._program, "revision": self._revision}
        write_json(self._folder.staging / f"{self._name}.json", origin | result)
        for name, body in ((self._name, page), (f"{self._name}-summary", summary)):
            text = "\n\n".join([f"# {self._title}", self._source, body.strip()]) + "\n"
            (self._folder.staging / f"{name}.md").write_text(filled(text), encoding="utf-8")
        self._folder.publish()
