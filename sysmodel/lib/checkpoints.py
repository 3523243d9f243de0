"""Checkpoints: results that outlast an interrupt, so that the same command continues from there."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import InputError

__all__ = ["Checkpoint"]


class Checkpoint:
    """File of JSON lines, one for each result; as a context manager it can be appended to.

    Parameters
    ----------
    path : Path
        File of the results; a file that does not exist holds none.
    code : str
        Digest of the sources, and of all other inputs that determine a result, except its identity.

    Attributes
    ----------
    results : dict
        Results of the same sources, each a mapping, by their identities.
    other_code, unreadable : int
        Number of lines that were made by other sources, and of lines without a result: a line may
        be cut short.

    Raises
    ------
    InputError
        The file cannot be read. On entry: it cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, code: str):
        self.path, self._code = path, code
        self.results: dict[str, dict[str, Any]] = {}
        self.other_code = self.unreadable = 0
        try:
            *lines, torn = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError("out", f"{str(path)!r} cannot be read: {error.strerror}") from error
        self.unreadable = int(bool(torn))
        for line in lines:
            try:
                entry = json.loads(line)
                identity, result = entry["identity"], dict(entry["result"])
                own = entry["code"] == code
            except (ValueError, TypeError, KeyError):
                self.unreadable += 1
            else:
                self.other_code += not own
                if own:
                    self._add(identity, result)

    def _add(self, identity: str, result: Mapping[str, Any]) -> None:
        self.results.setdefault(identity, {}).update(result)

    def __enter__(self) -> "Checkpoint":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer, closing the file writes nothing.
            self._file = self.path.open("ab+", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise InputError("out", f"another process is writing {str(self.path)!r}") from error
        # The next result must begin a new line.
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, identity: str, result: Mapping[str, Any], *, title: str = "") -> None:
        """Add to the result of an identity, and return when the line is on the disk.

        Parameters
        ----------
        result : mapping
            Values by key; they replace earlier values of the same keys.
        title : str
            Name of the result, for readers of the file.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        entry = {"code": self._code, "identity": identity, "title": title, "result": result}
        try:
            line = json.dumps(entry, allow_nan=False).encode() + b"\n"
            while line:  # A disk that is nearly full takes a part of a line, then reports an error.
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._add(identity, result)

    def remove(self) -> None:
        """Remove the file and forget its results."""
        self.path.unlink(missing_ok=True)
        self.results.clear()

    def _unwritable(self, error: OSError) -> InputError:
        return InputError("out", f"{str(self.path)!r} cannot be written: {error.strerror}")
