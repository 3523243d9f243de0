"""Errors of user input."""

from sysmodel.lib.errors import InputError


def test_a_message_is_one_line_whatever_the_name_of_the_file():
    assert str(InputError("a\nb.toml", "is no\n  TOML")) == "a b.toml: is no TOML"
