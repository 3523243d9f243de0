"""Named constants that compiled functions read."""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

__all__ = ["constants"]


def constants(name: str, values: Mapping[str, Any]) -> Any:
    """Make a tuple of these constants with their names."""
    return namedtuple(name, values)(*values.values())
