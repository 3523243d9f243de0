"""Records of the golden model: derived from the hardware's layouts, and copied as a whole."""

from typing import Any, TypeAlias

import numpy as np
from amaranth.lib import data
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "Record",
    "Records",
    "Words",
    "clear_record",
    "copy_record",
    "fields_of",
    "load_record",
    "record",
    "store_record",
]

Record: TypeAlias = Any
"""Record of a structured array. Its fields come from a layout at run time, and only Numba checks
them.
"""
Records: TypeAlias = Any
"""Array of records."""
Words: TypeAlias = Any
"""Array of 64-bit words."""


def fields_of(layout: data.StructLayout) -> list[tuple[Any, ...]]:
    """List a layout's fields for :func:`record`: words, arrays of words, or nested records."""
    return [(name, *_member(field.shape)) for name, field in layout]


def _member(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, data.StructLayout):
        return (record(fields_of(shape)),)
    if isinstance(shape, data.ArrayLayout):
        (element,) = _member(shape.elem_shape)
        return element, (shape.length,)
    return (np.int64,)


def record(*parts: list[tuple[Any, ...]] | str) -> np.dtype[Any]:
    """Make the type of a record with these fields; a string names fields of one word each."""
    fields: list[tuple[Any, ...]] = []
    for part in parts:
        fields += [(name, np.int64) for name in part.split()] if isinstance(part, str) else part
    return np.dtype(fields, align=True)


# Numba copies and clears a record field by field or not at all. These functions take single
# instructions.


def _copy(builder: Any, target: Any, source: Any, size: int) -> None:
    cgutils.raw_memcpy(builder, target, source, cgutils.intp_t(size), 1)


@intrinsic
def copy_record(typing_context: Any, target: Any, source: Any) -> Any:
    """Copy a record over the first fields of another one."""
    if not all(isinstance(each, types.Record) for each in (target, source)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, at = arguments
        _copy(builder, to, at, source.size)
        return context.get_dummy_value()

    return types.void(target, source), generate


@intrinsic
def clear_record(typing_context: Any, target: Any) -> Any:
    """Set all fields of a record to zero."""
    if not isinstance(target, types.Record):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cgutils.memset(builder, arguments[0], cgutils.intp_t(target.size), 0)
        return context.get_dummy_value()

    return types.void(target), generate


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    pointer = context.make_array(kind)(context, builder, array).data
    return builder.gep(pointer, [index])


@intrinsic
def load_record(typing_context: Any, target: Any, words: Any, index: Any) -> Any:
    """Copy words of an array, from an index on, into the fields of a record."""
    if not isinstance(target, types.Record) or not isinstance(words, types.Array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, array, at = arguments
        _copy(builder, to, _address(context, builder, words, array, at), target.size)
        return context.get_dummy_value()

    return types.void(target, words, types.intp), generate


@intrinsic
def store_record(typing_context: Any, words: Any, index: Any, source: Any) -> Any:
    """Copy the fields of a record into words of an array, from an index on."""
    if not isinstance(source, types.Record) or not isinstance(words, types.Array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, record = arguments
        _copy(builder, _address(context, builder, words, array, at), record, source.size)
        return context.get_dummy_value()

    return types.void(words, types.intp, source), generate
