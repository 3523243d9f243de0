"""Flattening of nested tables to pairs of a dotted path and a value."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["dotted"]


def dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and its nested tables in order; lists are values."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
