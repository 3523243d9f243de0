"""Nested tables, and their values by dotted path."""

from collections.abc import Iterator, Mapping
from typing import Any

from .errors import InputError

__all__ = ["dotted", "nested"]


def dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and its nested tables in order; lists and empty tables are
    values."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def nested(table: Mapping[str, Any]) -> dict[str, Any]:
    """Nest the values of dotted keys, as TOML does.

    Raises
    ------
    InputError
        A key is given twice, or is a value and a section.
    """
    tree: dict[str, Any] = {}
    for key, value in dotted(table):
        *sections, last = str(key).split(".")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise InputError(key, f"{section} is a value and a section")
        if value == {} and isinstance(place.get(last), dict):
            continue
        if last in place:
            is_section = isinstance(place[last], dict) and bool(place[last])
            reason = f"{last} is a value and a section" if is_section else "given twice"
            raise InputError(key, reason)
        place[last] = value
    return tree
