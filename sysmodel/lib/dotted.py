"""Nested tables as pairs of a dotted path and a value."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["dotted"]


def dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values of a table and of the tables in it, in their order; lists are values."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
