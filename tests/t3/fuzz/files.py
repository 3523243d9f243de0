"""Files that are damaged in the ways in which real files are."""

from random import Random

from .case import FOLDER, Case

__all__ = ["add_file"]

_DAMAGES = (
    lambda random, raw: b"",
    lambda random, raw: b"\xef\xbb\xbf" + raw,
    lambda random, raw: raw.decode().encode("utf-16"),
    lambda random, raw: raw.decode().encode("utf-16-be"),
    lambda random, raw: raw.decode().encode("utf-32"),
    lambda random, raw: raw[: random.randrange(len(raw) + 1)],
    lambda random, raw: raw.replace(b"\n", b"\r\n"),
    lambda random, raw: raw.replace(b"\n", b"\r"),
    lambda random, raw: raw + b"\xff",
    lambda random, raw: raw + b"\0",
    lambda random, raw: raw + raw,
    lambda random, raw: b"[" * 5000 + raw,
    lambda random, raw: raw + b"x = " + b"[" * 5000,
    lambda random, raw: raw.replace(b"=", b"", 1),
    lambda random, raw: b"x" * 3_000_000,
    lambda random, raw: FOLDER,
)


def add_file(random: Random, case: Case, name: str, content: str) -> str:
    """Add a file to a case, which may be damaged, and return its name."""
    raw: bytes | None = content.encode()
    if random.random() < case.faults:
        raw = random.choice(_DAMAGES)(random, content.encode())
        case.blamed.add(name)
    case.files[name] = raw
    return name
