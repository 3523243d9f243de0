"""Cache of the texts that tools write."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sysmodel.lib.cache import cache_folder, locked, report_not_stored

__all__ = ["cached"]


def cached(kind: str, key: str, make: Callable[[Path], str]) -> str:
    """Take a text from the cache, or let ``make`` produce it in a temporary folder.

    Parameters
    ----------
    kind : str
        Folder in the cache.
    key : str
        Name of the text, which depends on all inputs of ``make``.
    make : callable
        Function from the temporary folder to the text.
    """
    file = cache_folder() / kind / f"{key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_suffix(".lock")):
        if not file.exists():
            report_not_stored()
            with tempfile.TemporaryDirectory(prefix="t3-") as name:
                text = make(Path(name))
            partial = file.with_name(f".{file.name}.{os.getpid()}")
            partial.write_text(text, encoding="utf-8")
            partial.replace(file)
    return file.read_text(encoding="utf-8")
