"""Systems as the functions of ``t3`` take them."""

from pathlib import Path

from sysmodel.config.system import System, load_system

__all__ = ["as_system"]


def as_system(system: System | Path | str) -> System:
    """A system itself, or the one that a file or a preset describes.

    Raises
    ------
    InputError
        It cannot be read.
    """
    return system if isinstance(system, System) else load_system(str(system))
