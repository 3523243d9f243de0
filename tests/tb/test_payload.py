import functools
import operator
import random

import pytest
from amaranth.hdl import Value
from amaranth.lib import data

from rtl.interface.configuration import MapConfiguration
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from tb.payload import Fields

LAYOUT = data.StructLayout({"a": 3, "b": data.ArrayLayout(4, 2), "c": Action})


def test_as_amaranth_has_it():
    values = {"a": 5, "b": [9, 14], "c": Action.OWN}
    fields = Fields(LAYOUT)
    bits = fields.pack(values)
    assert bits == Value.cast(LAYOUT.const(values)).value
    assert fields.width == len(Value.cast(LAYOUT.const(values)))
    assert fields.unpack(bits) == [5, 9, 14, 3]
    assert fields.named(bits) == {"a": 5, "b_0": 9, "b_1": 14, "c": 3}
    assert fields.pack([5, 9, 14, 3]) == bits
    assert fields.pack({"b_1": 14}) == 14 << 7


def test_tables():
    layout = MapConfiguration(T3Parameters(contexts=1))
    maps = {
        "regions": [{"enable": 1, "limit": 99}],
        "commands": [{}, {"waves": [1, 2, 3, 4], "stride": 7}],
    }
    assert Fields(layout).pack(maps) == Value.cast(layout.const(maps)).value


def test_unknown_field():
    with pytest.raises(KeyError, match="No fields .'d'"):
        Fields(LAYOUT).pack({"d": 1})


def test_too_wide():
    with pytest.raises(ValueError, match="a must have at most 3 bits, not 0x8"):
        Fields(LAYOUT).pack({"a": 8})


def test_the_rest_is_drawn():
    """Given fields keep their values; each other bit is on in some draws and off in others."""
    fields, rng = Fields(LAYOUT), random.Random(1)
    drawn = [fields.pack({"a": 5, "b_1": 9}, rest=rng) for _ in range(100)]
    given = fields.pack({"a": 7, "b_1": 15})
    assert {bits & given for bits in drawn} == {fields.pack({"a": 5, "b_1": 9})}
    rest = given ^ (1 << fields.width) - 1
    assert functools.reduce(operator.or_, drawn) & rest == rest
    assert not functools.reduce(operator.and_, drawn) & rest
