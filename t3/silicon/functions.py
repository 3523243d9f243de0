"""Boolean functions of Liberty's cells."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyparsing as pp

__all__ = ["truth_table"]

_Function = Callable[[Mapping[str, bool]], bool]


def truth_table(function: str, inputs: Sequence[str]) -> tuple[bool, ...]:
    """Evaluate a function for all values of its inputs, the last input changing fastest.

    Operators by precedence: ``'`` after an operand, ``!`` before it, ``^``, ``*`` or ``&`` or
    nothing, ``+`` or ``|``.

    Raises
    ------
    ValueError
        The function cannot be parsed, or has a variable that is not among the inputs.
    """
    try:
        (value,) = _GRAMMAR.parse_string(function, parse_all=True)
        return tuple(
            value({"0": False, "1": True} | dict(zip(inputs, values, strict=True)))
            for values in itertools.product((False, True), repeat=len(inputs))
        )
    except (pp.ParseException, KeyError):
        raise ValueError(f"{function!r} is not a function of {', '.join(inputs)}") from None


def _level(combine: Callable[[list[bool]], bool]) -> Callable[[Any], _Function]:
    """Make the parse action of an operator that combines any number of operands."""

    def action(tokens: Any) -> _Function:
        operands = [token for token in tokens[0] if callable(token)]
        return lambda values: combine([operand(values) for operand in operands])

    return action


def _inverted(tokens: Any) -> _Function:
    """Parse action of ``!``, and of any number of ``'``."""
    operand, *others = sorted(tokens[0], key=callable, reverse=True)
    return lambda values: operand(values) ^ (len(others) % 2 == 1)


def _variable(tokens: Any) -> _Function:
    name = tokens[0]
    return lambda values: values[name]


_GRAMMAR = pp.infix_notation(
    pp.Regex(r"[A-Za-z_]\w*(\[\d+\])?|[01]").set_parse_action(_variable),
    [
        ("'", 1, pp.OpAssoc.LEFT, _inverted),
        ("!", 1, pp.OpAssoc.RIGHT, _inverted),
        ("^", 2, pp.OpAssoc.LEFT, _level(lambda operands: sum(operands) % 2 == 1)),
        (pp.Opt(pp.one_of("* &")), 2, pp.OpAssoc.LEFT, _level(all)),
        (pp.one_of("+ |"), 2, pp.OpAssoc.LEFT, _level(any)),
    ],
)
