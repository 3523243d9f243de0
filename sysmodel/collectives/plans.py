"""Plans of other tools as schedules: a reader for each format."""

from pathlib import Path

from sysmodel.lib.errors import InputError, short

from .schedule import Expanded

__all__ = ["is_plan", "read_plan"]

_SUFFIXES = (".xml", ".json")


def is_plan(source: str) -> bool:
    """Test whether a source is the path of a file rather than the name of an algorithm."""
    return "/" in source or source.endswith(_SUFFIXES)


def read_plan(path: Path) -> Expanded:
    """Read an MSCCL file (``.xml``) or an MSCCL++ plan (``.json``).

    Raises
    ------
    InputError
        The file cannot be read, or has a step that is not supported.
    """
    where = str(path)
    if path.suffix not in _SUFFIXES:
        problem = f"{short(path.suffix)} is no known suffix; allowed: {', '.join(_SUFFIXES)}"
        raise InputError(where, problem)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(where, f"the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(where, "the file is no text in UTF-8") from None
    if path.suffix == ".xml":
        from .msccl import msccl_schedule

        return msccl_schedule(text, where)
    from .mscclpp import mscclpp_schedule

    return mscclpp_schedule(text, where)
