"""Nested tables and dotted keys."""

import itertools

import pytest

from sysmodel.lib.dotted import dotted, nested
from sysmodel.lib.errors import InputError


def test_a_table_that_is_empty_is_a_value():
    assert dict(dotted({"a": {"b": 1, "c": {}}, "d": []})) == {"a.b": 1, "a.c": {}, "d": []}


def test_dotted_and_nested_keys_make_one_table():
    """The order of the keys, and the level at which the dots end, do not matter."""
    keys = {"a.b.c": 1, "a": {"b": {"d": 2}, "e": 3}, "a.b": {"f": 4}, "a.b.g": {}}
    for order in itertools.permutations(keys):
        tree = nested({key: keys[key] for key in order})
        assert tree == {"a": {"b": {"c": 1, "d": 2, "f": 4, "g": {}}, "e": 3}}
    assert nested({"a.b": 1, "a": {}}) == nested({"a": {}, "a.b": 1}) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    "table",
    [
        {"a.b": 1, "a": {"b": 2}},
        {"a": 1, "a.b": 2},
        {"a": {"b": 1}, "a.b.c": 2},
        {"a.b": 1, "a": 2},
    ],
)
def test_a_key_has_one_value(table):
    with pytest.raises(InputError, match="given twice|a value and a section"):
        nested(table)
