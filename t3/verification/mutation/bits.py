"""Nets of a module in Yosys' JSON format."""

from collections.abc import Mapping
from typing import Any

__all__ = ["first_free_bit"]


def first_free_bit(module: Mapping[str, Any]) -> int:
    """The first number that no cell's port has; nets from it on are new ones."""
    ports = (bits for cell in module["cells"].values() for bits in cell["connections"].values())
    return 1 + max(bit for bits in ports for bit in bits if isinstance(bit, int))
