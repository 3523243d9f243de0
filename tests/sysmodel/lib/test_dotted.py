"""Nested tables and dotted keys."""

from sysmodel.lib.dotted import dotted


def test_a_table_that_is_empty_is_a_value():
    assert dict(dotted({"a": {"b": 1, "c": {}}, "d": []})) == {"a.b": 1, "a.c": {}, "d": []}
