"""Payloads as bit vectors in the Verilog, converted from fields and back."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

__all__ = ["Fields", "flatten"]


def _leaves(layout: data.Layout, prefix: str, base: int) -> Iterator[tuple[str, int, int]]:
    for key, field in layout:
        name, offset = f"{prefix}{key}", base + field.offset
        if isinstance(field.shape, data.Layout):
            yield from _leaves(field.shape, f"{name}_", offset)
        else:
            yield name, offset, Shape.cast(field.shape).width


def flatten(values: Mapping[str, Any]) -> dict[str, int]:
    """Flatten nested mappings and sequences into one mapping, with the names of :class:`Fields`."""
    flat = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = value
        elif isinstance(value, Sequence):
            inner = {str(index): element for index, element in enumerate(value)}
        else:
            flat[name] = int(getattr(value, "value", value))
            continue
        flat |= {f"{name}_{rest}": leaf for rest, leaf in flatten(inner).items()}
    return flat


class Fields:
    """Fields of a layout, in its order; a field of a nested layout is named ``outer_inner``.

    The records of the golden model have the same order.

    Parameters
    ----------
    layout : :class:`~amaranth.lib.data.Layout`

    Attributes
    ----------
    names : tuple of str
    width : int
        Bits of the vector.
    """

    def __init__(self, layout: data.Layout):
        self._leaves = list(_leaves(layout, "", 0))
        self.names: tuple[str, ...] = tuple(name for name, _, _ in self._leaves)
        self.width: int = Shape.cast(layout).width

    def pack(
        self, values: Mapping[str, Any] | Sequence[int], *, rest: random.Random | None = None
    ) -> int:
        """Make the vector from fields, given by name (nested or flat) or all in order.

        Parameters
        ----------
        values : mapping or sequence
        rest : random.Random, optional
            Draws the fields that are not named, on which a block must not depend; without it they
            are 0.

        Raises
        ------
        KeyError
            If no field has the name.
        ValueError
            If a value does not fit its field.
        """
        if isinstance(values, Mapping):
            values = flatten(values)
            if unknown := values.keys() - set(self.names):
                raise KeyError(f"No fields {sorted(unknown)}")
            drawn = rest.getrandbits if rest else lambda _: 0
            values = [
                values[name] if name in values else drawn(width) for name, _, width in self._leaves
            ]
        bits = 0
        for (name, offset, width), value in zip(self._leaves, values, strict=True):
            value = int(value)
            if value >> width:
                raise ValueError(f"{name} must have at most {width} bits, not {value:#x}")
            bits |= value << offset
        return bits

    def unpack(self, bits: int) -> list[int]:
        """Return the values of the fields, in order."""
        return [bits >> offset & (1 << width) - 1 for _, offset, width in self._leaves]

    def named(self, bits: int) -> dict[str, int]:
        """Return the values of the fields, by name."""
        return dict(zip(self.names, self.unpack(bits), strict=True))
