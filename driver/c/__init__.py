"""C99 driver: the sources ``t3.h`` and ``t3.c``."""

from pathlib import Path

__all__ = ["c_driver"]


def c_driver() -> dict[str, bytes]:
    """Read the C driver's sources.

    Returns
    -------
    dict
        Contents by file name.
    """
    folder = Path(__file__).parent
    return {name: (folder / name).read_bytes() for name in ("t3.c", "t3.h")}
