"""Text traces of memory accesses: each line has an access and a byte address of the channel."""

from pathlib import Path

import numpy as np

from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.errors import InputError
from sysmodel.lib.text import read_text

from .patterns import Pattern

__all__ = ["read_trace"]

_ACCESSES = {
    **dict.fromkeys(("R", "READ", "LD"), READ),
    **dict.fromkeys(("W", "WRITE", "ST"), WRITE),
    **dict.fromkeys(("U", "UPDATE"), UPDATE),
}
_LARGEST_ADDRESS = 1 << 48


def read_trace(path: Path, atom_bytes: int) -> Pattern:
    """Read a trace.

    A line is ``R 0x1f40`` or ``0x1f40 R``, with ``W`` for a write and ``U`` for an update; ``LD``,
    ``READ``, ``ST``, ``WRITE`` and ``UPDATE`` are allowed, too. A ``#`` begins a comment.

    Raises
    ------
    InputError
        If the file cannot be read or has no access, or if a line is wrong; the error names file and
        line.
    """
    try:
        lines = read_text(path).splitlines()
    except InputError as error:
        raise InputError("trace", f"{error.field!r} {error.problem}") from error
    atoms, accesses = [], []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words:
            access, address = _access(words, f"{path}, line {number}")
            atoms.append(address // atom_bytes)
            accesses.append(access)
    if not atoms:
        raise InputError("trace", f"{str(path)!r} has no access")
    return Pattern(np.array(atoms), np.array(accesses))


def _access(words: list[str], where: str) -> tuple[int, int]:
    named = [_ACCESSES[word.upper()] for word in words if word.upper() in _ACCESSES]
    numbers = [word for word in words if word.upper() not in _ACCESSES]
    try:
        (access,), (number,) = named, numbers
        address = int(number, 0)
        if 0 <= address < _LARGEST_ADDRESS:
            return access, address
    except ValueError:
        pass
    shown = " ".join(words)[:40]
    raise InputError(
        "trace",
        f"{where}: {shown!r} is not allowed; allowed: R, W or U and a byte address below 2^48",
    )
