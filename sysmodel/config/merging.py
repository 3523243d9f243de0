"""Merge of a file's content over that of its base."""

from collections.abc import Callable
from typing import Any

__all__ = ["merged"]


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
