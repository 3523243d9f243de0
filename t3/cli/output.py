"""Output files of a command, and the errors of writing them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sysmodel.lib.errors import InputError

__all__ = ["writing"]


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Report a file system error as an ``InputError`` for ``out``.

    Raises
    ------
    InputError
        A file cannot be written; the message gives the reason.
    """
    try:
        yield
    except OSError as error:
        problem = f"{str(out)!r} cannot be written: {error.strerror}"
        raise InputError("out", problem) from error
