"""Results of single points, kept as they come: ``points.jsonl``, a line for each."""

import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import driver
import rtl
import sysmodel
from sysmodel.lib.cache import digest
from sysmodel.lib.errors import InputError

from .rows import Rows

__all__ = ["CODE", "Kept", "Store", "read_kept"]


def _code() -> str:
    """Hash of everything that may decide a result."""
    packages = [Path(one.__path__[0]) for one in (rtl, driver, sysmodel)]
    sources = [
        path
        for package in (*packages, Path(__file__).parent)
        for kind in ("*.py", "*.rdl", "*.cpp", "*.vlt")
        for path in package.rglob(kind)
    ]
    return digest([*sources, packages[-1] / "energy" / "constants.toml"])


# Sources may be edited while a process runs on what it imported before.
CODE = _code()


@dataclass
class Kept:
    """What a file of results held.

    Attributes
    ----------
    results : dict
        Rows by a point's identity; of this code.
    other_code : int
        Lines that other sources made.
    unreadable : int
        Lines that are no results, such as one that was being written at an interruption.
    """

    results: dict[str, Rows] = field(default_factory=dict)
    other_code: int = 0
    unreadable: int = 0

    def take(self, identity: str, rows: Rows) -> None:
        """Add the rows of a point to those that it has."""
        self.results.setdefault(identity, {}).update(rows)


def read_kept(path: Path) -> Kept:
    """Read a file of results; one that does not exist holds none.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    kept = Kept()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return kept
    except OSError as error:
        raise InputError("out", f"{str(path)!r} cannot be read: {error.strerror}") from error
    *lines, torn = content.split(b"\n")
    kept.unreadable = int(bool(torn))
    for line in lines:
        try:
            entry = json.loads(line)
            code, identity, rows = entry["code"], entry["identity"], dict(entry["rows"])
        except (ValueError, TypeError, KeyError):
            kept.unreadable += 1
            continue
        if code == CODE:
            kept.take(identity, rows)
        else:
            kept.other_code += 1
    return kept


class Store:
    """A file of results to append to; a context manager.

    Raises
    ------
    InputError
        On entry: it cannot be written, or another sweep is writing it.
    """

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> "Store":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab+")
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise InputError("out", f"another sweep is writing {str(self.path)!r}") from error
        # What follows goes on a line of its own.
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, identity: str, title: str, rows: Rows) -> None:
        """Write a point's line, and wait until the disk has it.

        Raises
        ------
        InputError
            It cannot be written.
        """
        entry = {"code": CODE, "identity": identity, "point": title, "rows": rows}
        try:
            self._file.write(json.dumps(entry, allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InputError:
        return InputError("out", f"{str(self.path)!r} cannot be written: {error.strerror}")
