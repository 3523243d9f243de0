"""Output of a run's files: all of them or none."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError

__all__ = ["OutputFolder", "json_text", "write_json", "write_text", "writing"]


@contextmanager
def writing(path: Path, field: str = "out") -> Iterator[None]:
    """Report an error of the file system as a path that cannot be written.

    Parameters
    ----------
    path : Path
        File or folder, for the message.
    field : str
        Argument that gives the path.

    Raises
    ------
    InputError
        The path cannot be written; the message gives the reason.
    """
    try:
        yield
    except OSError as error:
        problem = f"{str(path)!r} cannot be written: {error.strerror or error}"
        raise InputError(field, problem) from error


class OutputFolder:
    """Output folder whose new files appear together when they are complete.

    On entry, the context manager checks that the folder can be written, before anything is
    computed.
    Files, and folders of files, are made in ``staging`` and moved by ``publish``; a new folder
    replaces an existing one. Leaving the context without ``publish`` changes nothing.

    Parameters
    ----------
    path : Path
        Output folder; made with its parents if it does not exist.
    names : tuple of str
        Names of the files that will be published, without folders.
    field : str
        Argument that gives the folder, for messages.

    Raises
    ------
    InputError
        On entry, if the folder or one of the files cannot be written.
    """

    def __init__(self, path: Path, names: tuple[str, ...], field: str = "out"):
        self.path, self.names, self._field = path, names, field
        self._made: list[Path] = []

    def __enter__(self) -> "OutputFolder":
        try:
            with self.writing():
                missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
                for folder in reversed(missing):
                    self._make(folder)
                self.staging = Path(tempfile.mkdtemp(prefix=".t3-", dir=self.path))
        except BaseException:
            self._remove_made()
            raise
        for name in self.names:
            if (self.path / name).is_dir():
                self.__exit__()
                problem = f"{str(self.path / name)!r} is a folder, not a file"
                raise InputError(self._field, problem)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)
        self._remove_made()

    def writing(self) -> AbstractContextManager[None]:
        """Report errors of the file system as a folder that cannot be written."""
        return writing(self.path, self._field)

    def publish(self) -> list[Path]:
        """Move the contents of ``staging`` into the folder; return their paths."""
        self._made = []
        published = []
        for file in sorted(self.staging.iterdir()):
            target = self.path / file.name
            if file.is_dir() and target.is_dir():
                os.replace(target, Path(tempfile.mkdtemp(dir=self.staging)) / file.name)
            os.replace(file, target)
            published.append(target)
        return published

    def write(self, files: Mapping[str, str | bytes]) -> list[Path]:
        """Write files, given by names and contents, and publish them.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        published: list[Path] = []
        with self.writing():
            for name, content in files.items():
                file = self.staging / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.encode() if isinstance(content, str) else content)
            published = self.publish()
        return published

    def _make(self, folder: Path) -> None:
        """Make a folder, unless another process has just made it."""
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            self._made.append(folder)

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            try:
                folder.rmdir()
            except OSError:
                return  # another process uses the folder


def json_text(data: Any, *, indent: int | None = 2) -> str:
    """Serialize to standard JSON, without NaN and infinity.

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    return json.dumps(data, indent=indent, allow_nan=False) + "\n"


def write_json(path: Path, data: Any, *, indent: int | None = 2) -> None:
    """Write JSON as :func:`write_text` does."""
    write_text(path, json_text(data, indent=indent))


def write_text(path: Path, content: str) -> None:
    """Write a file under a temporary name, then rename it: ``path`` is either complete or
    unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(content, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
