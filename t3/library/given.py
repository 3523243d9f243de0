"""Options as keywords: a function takes the fields of a dataclass, which documents them."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, signature
from typing import Any, TypeVar

from sysmodel.lib.errors import InputError

__all__ = ["options_of", "takes_options"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Options = TypeVar("_Options")


def takes_options(kind: type[Any]) -> Callable[[_Function], _Function]:
    """Show the fields of a dataclass in the signature of a function with ``**options``."""

    def decorated(function: _Function) -> _Function:
        whole = signature(function)
        own = [one for one in whole.parameters.values() if one.kind != Parameter.VAR_KEYWORD]
        options = [
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in fields(kind)
            if one.name not in whole.parameters
        ]
        function.__signature__ = whole.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return function

    return decorated


def options_of(kind: type[_Options], given: Mapping[str, Any]) -> _Options:
    """Make the dataclass from keywords.

    Raises
    ------
    InputError
        No option has the name, or a value is not allowed.
    """
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise InputError(name, f"no such option; allowed: {', '.join(known)}")
    return kind(**given)
