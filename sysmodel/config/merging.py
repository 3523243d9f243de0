"""Files that give only what differs from a base: the content of a file, merged over its base's."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sysmodel.lib.dotted import nested
from sysmodel.lib.errors import InputError

from .arguments import plain
from .bundled import Bundle, Located
from .schema import read_toml

__all__ = ["Content", "load_content", "merged"]

Content = dict[str, Any]
"""Content of a TOML file."""


_CUSTOM = "custom"
"""Name of content that is no file."""

_Prepare = Callable[[Content, Located], Content]
_Combine = Callable[[Content, Content, str], Content]


def load_content(
    source: Mapping[str, Any] | Path | str,
    bundle: Bundle,
    *,
    field: str,
    beside: Path,
    prepare: _Prepare,
    combine: _Combine,
) -> tuple[Content, str]:
    """Load the content of a file over its bases; return it with its name, and the file in messages.

    Parameters
    ----------
    source : mapping, path or str
        Content, path of a file, or name of a bundled file.
    bundle : Bundle
        Bundled files, which may be named as a base, too.
    field : str
        Argument or key that gives the source, for messages.
    beside : Path
        Folder to which paths are relative.
    prepare : callable
        Completes or checks the content of each file, given its place.
    combine : callable
        Merges the content of a base and of the file that names the base; the third argument names
        the file in messages.

    Raises
    ------
    InputError
        The file or a base is not known, gives its own name, or is its own base.
    """
    if isinstance(source, Mapping):
        place = Located(beside / _CUSTOM, field, is_file=False)
        data = nested(plain(source))
    else:
        place = bundle.locate(source, field, beside)
        data = read_toml(place.path)
    data = _over_base(data, place, bundle, prepare, combine, ())
    if "name" in data:
        problem = f"unknown key; a {bundle.content} is named by its file"
        raise InputError(f"{place.where}: name", problem)
    return {"name": place.path.name.removesuffix(".toml"), **data}, place.where


def _over_base(
    data: Content,
    own: Located,
    bundle: Bundle,
    prepare: _Prepare,
    combine: _Combine,
    seen: tuple[Path, ...],
) -> Content:
    """Merge the content of a file over its base, which may have its own base."""
    data = prepare(data, own)
    if "base" not in data:
        return data
    where, base = own.where, data.pop("base")
    place = bundle.locate(base, f"{where}: base", own.path.parent)
    seen = (*seen, own.path.resolve())
    if place.path.resolve() in seen:
        raise InputError(f"{where}: base", f"{base!r} is the base of itself")
    below = _over_base(read_toml(place.path), place, bundle, prepare, combine, seen)
    data.setdefault("description", f"{base} with changes")
    data.setdefault("source", f"{base} and {where}")
    return combine(below, data, where)


def merged(
    base: dict[str, Any],
    change: dict[str, Any],
    is_value: Callable[[dict[str, Any]], bool] = lambda table: False,
) -> dict[str, Any]:
    """Merge a change over a base, table by table.

    Parameters
    ----------
    is_value : callable
        Tests whether a table is a value, which the change replaces as a whole.
    """
    result = dict(base)
    for key, value in change.items():
        was = base.get(key)
        if isinstance(was, dict) and isinstance(value, dict) and not is_value(value):
            result[key] = merged(was, value, is_value)
        else:
            result[key] = value
    return result
