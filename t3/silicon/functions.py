"""Boolean functions of Liberty's cells."""

import itertools
import re
from collections.abc import Sequence

__all__ = ["truth_table"]

_token = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?|[01]|[()!'*&+|^])")
_starts_operand = re.compile(r"[\w(!]")


def truth_table(function: str, inputs: Sequence[str]) -> tuple[bool, ...]:
    """Values of a function for all values of its inputs, the last input changing fastest.

    Operators by precedence: ``!`` before and ``'`` after, ``^``, ``*`` or ``&`` or nothing, ``+``
    or ``|``.

    Raises
    ------
    ValueError
        The function cannot be read, or has a variable that is not among the inputs.
    """
    tokens = _tokens(function)
    table = []
    for values in itertools.product((False, True), repeat=len(inputs)):
        rest = list(tokens)
        try:
            table.append(_or(rest, dict(zip(inputs, values, strict=True))))
        except (IndexError, KeyError):
            rest = ["?"]
        if rest:
            raise ValueError(f"{function!r} is no function of {', '.join(inputs)}")
    return tuple(table)


def _tokens(function: str) -> list[str]:
    tokens, position = [], 0
    while position < len(function.rstrip()):
        found = _token.match(function, position)
        if not found:
            raise ValueError(f"{function!r} is not a function")
        tokens.append(found[1])
        position = found.end()
    return tokens


def _or(rest: list[str], values: dict[str, bool]) -> bool:
    value = _and(rest, values)
    while rest and rest[0] in "+|":
        rest.pop(0)
        value |= _and(rest, values)
    return value


def _and(rest: list[str], values: dict[str, bool]) -> bool:
    value = _xor(rest, values)
    while rest and (rest[0] in "*&" or _starts_operand.match(rest[0])):
        if rest[0] in "*&":
            rest.pop(0)
        value &= _xor(rest, values)
    return value


def _xor(rest: list[str], values: dict[str, bool]) -> bool:
    value = _operand(rest, values)
    while rest and rest[0] == "^":
        rest.pop(0)
        value ^= _operand(rest, values)
    return value


def _operand(rest: list[str], values: dict[str, bool]) -> bool:
    token = rest.pop(0)
    if token == "!":
        return not _operand(rest, values)
    if token == "(":
        value = _or(rest, values)
        rest.pop(0)
    else:
        value = token == "1" if token in "01" else values[token]
    while rest and rest[0] == "'":
        rest.pop(0)
        value = not value
    return value
