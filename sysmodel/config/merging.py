"""Files that give only what differs from a base: the content of a file, merged over its base's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sysmodel.lib.errors import InputError

from .bundled import Bundle, Located
from .schema import read_toml

__all__ = ["Content", "merged", "over_base"]

Content = dict[str, Any]
"""Content of a TOML file."""


def over_base(
    data: Content,
    own: Located,
    bundle: Bundle,
    *,
    prepare: Callable[[Content, Located], Content],
    combine: Callable[[Content, Content, str], Content],
    seen: tuple[Path, ...] = (),
) -> Content:
    """Merge the content of a file over its base, which may have its own base.

    Parameters
    ----------
    own : Located
        The file.
    bundle : Bundle
        Bundled files, which may be named as the base.
    prepare : callable
        Completes or checks the content of each file, given its place.
    combine : callable
        Merges the content of a base and of the file that names the base; the third argument names
        the file in messages.

    Raises
    ------
    InputError
        The base is not known, or the file is its own base.
    """
    data = prepare(data, own)
    if "base" not in data:
        return data
    where, base = own.where, data.pop("base")
    place = bundle.locate(base, f"{where}: base", own.path.parent)
    seen = (*seen, own.path.resolve())
    if place.path.resolve() in seen:
        raise InputError(f"{where}: base", f"{base!r} is the base of itself")
    below = over_base(
        read_toml(place.path), place, bundle, prepare=prepare, combine=combine, seen=seen
    )
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
