"""Arguments of Python functions and fields of dataclasses, checked as the values of TOML files are.

Each argument has a kind: a type that may be annotated with the bounds of :mod:`.schema`.
"""

import numbers
import operator
import os
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sysmodel.lib.errors import InputError, short

from .schema import allowed_values

__all__ = ["Checked", "checked", "checked_path", "plain"]


class Checked:
    """Base of a dataclass whose fields are checked by their annotations.

    Raises
    ------
    InputError
        The value of a field is not allowed; the message names field, value and allowed values.
    """

    def __post_init__(self) -> None:
        kinds = _kinds(type(self))  # type: ignore[arg-type]  # a dataclass without eq
        for field in fields(self):  # type: ignore[arg-type]
            value = checked(field.name, getattr(self, field.name), kinds[field.name])
            object.__setattr__(self, field.name, value)


def checked(field: str, value: Any, kind: Any) -> Any:
    """Check an argument and convert it to Python's own type.

    Parameters
    ----------
    field : str
        Name of the argument.
    value : object
        Integers of any kind are allowed for an integer, and so are NumPy's numbers and arrays.
    kind : type
        Type of the argument, with its bounds.

    Raises
    ------
    InputError
        The value is not allowed.
    """
    try:
        return _adapter(kind).validate_python(plain(value))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]["input"]
        allowed = allowed_values(kind)
        raise InputError(field, f"{short(wrong)} is not allowed; allowed: {allowed}") from error


def checked_path(field: str, value: Any) -> Path:
    """Check the path of a file or folder.

    Raises
    ------
    InputError
        The value is no path.
    """
    if not isinstance(value, (str, os.PathLike)) or not str(value) or "\0" in str(value):
        raise InputError(field, f"{short(value)} is not allowed; allowed: a path")
    return Path(value)


def plain(value: Any) -> Any:
    """Convert numbers, sequences and mappings of other libraries to Python's own types."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist") and not isinstance(
        value, type
    ):  # an array or a number of NumPy, or a column of pandas
        return plain(value.tolist())
    if isinstance(value, numbers.Real) and not hasattr(value, "__index__"):
        return float(value)
    try:
        return operator.index(value)
    except TypeError:
        return value


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))


@cache
def _kinds(shape: type) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)
