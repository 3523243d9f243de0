"""Files of a command, and what may go wrong with them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sysmodel.lib.errors import InputError

__all__ = ["writing"]


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Say of an error of the file system that ``out`` cannot be written.

    Raises
    ------
    InputError
        With the reason.
    """
    try:
        yield
    except OSError as error:
        problem = f"{str(out)!r} cannot be written: {error.strerror}"
        raise InputError("out", problem) from error
