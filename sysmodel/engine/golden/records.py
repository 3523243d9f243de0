"""Records of the golden model: derived from the hardware's layouts, and moved as a whole."""

import numpy as np
from amaranth.lib import data
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["clear_record", "copy_record", "fields_of", "load_record", "record", "store_record"]


def fields_of(layout: data.StructLayout) -> list[tuple]:
    """A layout's fields for :func:`record`: 64-bit words, arrays of them, or nested records."""
    return [(name, *_member(field.shape)) for name, field in layout]


def _member(shape) -> tuple:
    if isinstance(shape, data.StructLayout):
        return (record(fields_of(shape)),)
    if isinstance(shape, data.ArrayLayout):
        (element,) = _member(shape.elem_shape)
        return element, (shape.length,)
    return (np.int64,)


def record(*parts: list[tuple] | str) -> np.dtype:
    """A record of these fields; a string names fields of one word each."""
    fields = []
    for part in parts:
        fields += [(name, np.int64) for name in part.split()] if isinstance(part, str) else part
    return np.dtype(fields, align=True)


# Numba moves and clears a record field by field or not at all. These are single instructions.


def _copy(builder, target, source, size):
    cgutils.raw_memcpy(builder, target, source, cgutils.intp_t(size), 1)


@intrinsic
def copy_record(typing_context, target, source):
    """Copy a record over the first fields of another one."""
    if not all(isinstance(each, types.Record) for each in (target, source)):
        return None

    def generate(context, builder, signature, arguments):
        _copy(builder, *arguments, source.size)
        return context.get_dummy_value()

    return types.void(target, source), generate


@intrinsic
def clear_record(typing_context, target):
    """Make a record all zero."""
    if not isinstance(target, types.Record):
        return None

    def generate(context, builder, signature, arguments):
        cgutils.memset(builder, arguments[0], cgutils.intp_t(target.size), 0)
        return context.get_dummy_value()

    return types.void(target), generate


def _address(context, builder, kind, array, index):
    pointer = context.make_array(kind)(context, builder, array).data
    return builder.gep(pointer, [index])


@intrinsic
def load_record(typing_context, target, words, index):
    """Copy an array's words, from an index on, into the record that has them as its fields."""
    if not isinstance(target, types.Record) or not isinstance(words, types.Array):
        return None

    def generate(context, builder, signature, arguments):
        to, array, at = arguments
        _copy(builder, to, _address(context, builder, words, array, at), target.size)
        return context.get_dummy_value()

    return types.void(target, words, types.intp), generate


@intrinsic
def store_record(typing_context, words, index, source):
    """Copy a record's fields into an array's words, from an index on."""
    if not isinstance(source, types.Record) or not isinstance(words, types.Array):
        return None

    def generate(context, builder, signature, arguments):
        array, at, what = arguments
        _copy(builder, _address(context, builder, words, array, at), what, source.size)
        return context.get_dummy_value()

    return types.void(words, types.intp, source), generate
