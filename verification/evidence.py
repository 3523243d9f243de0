"""Results of checks of the hardware, as JSON and as a page of the documentation."""

from pathlib import Path
from typing import Any

from rtl.export.revision import project_version, revision
from sysmodel.lib.markdown import filled
from sysmodel.lib.output import OutputFolder, write_json

__all__ = ["Evidence"]


class Evidence:
    """The files ``<name>.json`` and ``<name>.md`` of one check.

    A context manager, to be entered before the check begins: it proves that the folder can be
    written, and notes which sources are checked, since they may be edited meanwhile.

    Parameters
    ----------
    out : Path
        Folder for the files.
    name : str
        Of the files.
    title : str
        Of the page.
    command : str
        That makes the files.

    Raises
    ------
    InputError
        On entry: the folder or a file cannot be written.
    """

    def __init__(self, out: Path, name: str, *, title: str, command: str):
        self._json, self._page = f"{name}.json", f"{name}.md"
        self._title, self._command = title, command
        self._folder = OutputFolder(out, (self._json, self._page))

    def __enter__(self) -> "Evidence":
        self._folder.__enter__()
        self._program, self._revision = f"t3 {project_version()}", revision()
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.__exit__()

    def publish(self, result: dict[str, Any], page: str) -> None:
        """Write both files.

        Parameters
        ----------
        result : dict
            Content of the JSON file, beside the program and its revision.
        page : str
            Markdown, after the title and the line that says where it comes from.
        """
        origin = {"program": self._program, "revision": self._revision}
        sources = f", revision {self._revision}" if self._revision else ""
        source = f"Made by `{self._command}` ({self._program}{sources})."
        write_json(self._folder.staging / self._json, origin | result)
        text = "\n\n".join([f"# {self._title}", source, page.strip()]) + "\n"
        (self._folder.staging / self._page).write_text(filled(text), encoding="utf-8")
        self._folder.publish()
