"""Bundled files, and the rule that separates their names from paths."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sysmodel.lib.errors import InputError, short

__all__ = [
    "MEMORIES",
    "MODELS",
    "PRESETS",
    "PROGRAMS",
    "TOPOLOGIES",
    "Bundle",
    "Located",
    "is_path",
    "known_name",
    "name_key",
]

_SUFFIX = ".toml"


class Located(NamedTuple):
    """A file, and its name in messages.

    ``is_file`` is false for the content of a dictionary, whose path only has the folder to which
    paths in the content are relative.
    """

    path: Path
    where: str
    is_file: bool = True


class Bundle:
    """TOML files of one kind that come with the project, each under a name.

    Parameters
    ----------
    folder : str
        Folder of the files, beside this module.
    content : str
        Description of a file's content, as a noun.
    """

    def __init__(self, folder: str, content: str):
        self._folder, self.content = Path(__file__).parent / folder, content

    def names(self) -> list[str]:
        """Names of the files."""
        return sorted(file.stem for file in self._folder.glob(f"*{_SUFFIX}"))

    def path(self, name: str, field: str) -> Path:
        """Path of a file by its name.

        Parameters
        ----------
        name : str
            Name in any case, with or without hyphens.
        field : str
            Argument or key that gives the name, for messages.

        Raises
        ------
        InputError
            No file has that name.
        """
        return self._folder / f"{known_name(field, name, self.names())}{_SUFFIX}"

    def locate(self, source: str | Path, field: str, beside: Path = Path()) -> Located:
        """Locate a bundled file by its name, or a user's file by its path.

        A source with a ``/`` or with the suffix ``.toml`` is a path, and so is every ``Path``. Any
        other source is a name, whatever the working folder holds.

        Parameters
        ----------
        beside : Path
            Folder to which a path is relative.

        Raises
        ------
        InputError
            No bundled file has the name, or no file has the path.
        """
        if not isinstance(source, (str, os.PathLike)):
            raise InputError(field, f"{short(source)} is not allowed; allowed: {self.allowed}")
        if is_path(source):
            path = beside / source
            if not os.path.exists(path):
                raise InputError(field, f"{short(str(source))}: no such file")
            if path.is_dir():
                raise InputError(field, f"{short(str(source))} is a folder; allowed: a file")
            return Located(path, str(source))
        try:
            path = self.path(str(source), field)
        except InputError:
            raise InputError(
                field, f"{short(source)} is not known; allowed: {self.allowed}"
            ) from None
        return Located(path, path.name)

    @property
    def allowed(self) -> str:
        """Description of the sources that name a file."""
        return f"{', '.join(self.names())}, or a path with a / or the suffix {_SUFFIX}"


PRESETS, MODELS = Bundle("presets", "system"), Bundle("models", "model")
MEMORIES, TOPOLOGIES = Bundle("memories", "memory"), Bundle("topologies", "topology")
PROGRAMS = Bundle("programs", "program")


def is_path(source: str | Path) -> bool:
    """Test whether a source is the path of a file rather than the name of a bundled file."""
    return not isinstance(source, str) or "/" in source or source.endswith(_SUFFIX)


def known_name(field: str, wanted: str, known: Sequence[str]) -> str:
    """Find a name among known names, in any case, with or without hyphens.

    Raises
    ------
    InputError
        The name is not known.
    """
    for name in known:
        if isinstance(wanted, str) and name_key(name) == name_key(wanted):
            return name
    raise InputError(field, f"{short(wanted)} is not known; allowed: {', '.join(known)}")


def name_key(name: str) -> str:
    """Reduce a name to the form in which names are compared."""
    return name.lower().replace("-", "").replace("_", "")
