"""Cache of compiled code and of other files that can be recreated."""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "digest", "locked", "report_not_stored"]

_reasons: dict[Path, str] = {}
"""Reasons why the cache could not be written, by the temporary folder in its place."""


def cache_folder() -> Path:
    """Folder of the cache, which can be written: ``T3_CACHE_DIR``, or one in the user's cache.

    If that folder cannot be written, a temporary folder with links to the files of the cache takes
    its place in this process and in the processes that this one starts.
    """
    chosen = os.environ.get("T3_CACHE_DIR")
    folder = Path(chosen).absolute() if chosen else platformdirs.user_cache_path("t3")
    return _writable(folder)


@functools.cache
def _writable(folder: Path) -> Path:
    """Return a folder if it and all its folders can be written, or else its replacement."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        for inner, _, _ in os.walk(folder):
            if os.path.isdir(inner) and not os.access(inner, os.W_OK):
                raise PermissionError(0, "Permission denied")
    except OSError as error:
        replacement = Path(tempfile.mkdtemp(prefix="t3-cache-"))
        atexit.register(shutil.rmtree, replacement, ignore_errors=True)
        _link(folder, replacement)
        _reasons[replacement] = (
            f"the cache folder {str(folder)!r} cannot be written ({error.strerror})"
        )
        os.environ["T3_CACHE_DIR"] = str(replacement)
        return replacement
    return folder


def _link(folder: Path, replacement: Path) -> None:
    """Fill a folder with the folders of another one, and with links to its files."""
    for inner, folders, files in os.walk(folder):
        within = replacement / Path(inner).relative_to(folder)
        for name in folders:
            (within / name).mkdir()
        for name in files:
            if not name.endswith(".lock"):
                (within / name).symlink_to(Path(inner, name))


def report_not_stored(reason: str | None = None) -> None:
    """Report once, on standard error, that results cannot be kept in the cache.

    Parameters
    ----------
    reason : str or None
        Reason. Without one, the function reports only if a temporary folder replaces the cache.
    """
    reason = reason or _reasons.get(cache_folder())
    if reason is not None:
        _report_once(reason)


@functools.cache
def _report_once(reason: str) -> None:
    print(
        f"t3: {reason}; compiled code is not kept. T3_CACHE_DIR names another folder.",
        file=sys.stderr,
    )


def digest(sources: Iterable[Path], *texts: str) -> str:
    """Name of a result that is made from files, regardless of their folder, and from texts."""
    total = hashlib.sha256()
    for path in sorted(sources):
        content = path.read_bytes()
        total.update(f"{path.name} {len(content)}\n".encode())
        total.update(content)
    for text in texts:
        total.update(f"text {len(text)}\n{text}".encode())
    return total.hexdigest()[:32]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; the lock ends with the process at the latest."""
    try:
        file = path.open("a")
    except PermissionError:  # the file of another user, in a cache that several users share
        file = path.open()
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
