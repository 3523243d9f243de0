"""Text files of a user: UTF-8, with or without a byte order mark."""

import codecs
from pathlib import Path

from .errors import InputError

__all__ = ["decoded", "read_text"]

_LARGEST_FILE = 1 << 26
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path, *, most_bytes: int = _LARGEST_FILE) -> str:
    """Read a text file.

    Raises
    ------
    InputError
        The file cannot be read, is too large, or is not UTF-8; the message names file and line.
    """
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    if len(content) > most_bytes:
        raise InputError(str(path), f"is larger than {most_bytes} bytes")
    return decoded(content, str(path))


def decoded(content: bytes, where: str) -> str:
    """Decode the content of a text file.

    Parameters
    ----------
    where : str
        Name of the file in messages.

    Raises
    ------
    InputError
        The content is compressed, or is not UTF-8.
    """
    if content.startswith(_GZIP):
        raise InputError(where, "is compressed; allowed: a text, as gunzip makes of it")
    if content.startswith(_UTF16) or b"\0" in content[:4]:
        raise InputError(where, "is UTF-16; allowed: UTF-8, which every editor can save")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(where, f"is not UTF-8 (at line {line})") from error
