"""Cache of compiled code and of other files that can be recreated."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "digest", "locked"]


def cache_folder() -> Path:
    """Folder of the cache: ``T3_CACHE_DIR``, or else a folder in the user's cache."""
    chosen = os.environ.get("T3_CACHE_DIR")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("t3")


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
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
