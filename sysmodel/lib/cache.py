"""Where compiled code is kept between runs."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "digest", "locked"]


def cache_folder() -> Path:
    """Folder of everything that can be built anew: ``T3_CACHE_DIR``, or else the user's cache."""
    chosen = os.environ.get("T3_CACHE_DIR")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("t3")


def digest(sources: Iterable[Path], *texts: str) -> str:
    """Name for what is made from files, whatever folder they lie in, and from texts."""
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
    """Hold a lock that ends with the process at the latest."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
