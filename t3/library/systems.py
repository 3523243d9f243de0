"""Systems in the forms that the functions of ``t3`` accept."""

from pathlib import Path

from sysmodel.config.system import System, load_system

__all__ = ["as_system"]


def as_system(system: System | Path | str) -> System:
    """Return a system itself, or load it from a file or a preset.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    return system if isinstance(system, System) else load_system(str(system))
