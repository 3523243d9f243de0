"""Strict TOML: every key is known, every value is bounded, every error is one line."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from sysmodel.lib.errors import InputError, short
from sysmodel.lib.text import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "PowerOfTwo",
    "Strict",
    "allowed_values",
    "integer",
    "number",
    "one_of",
    "power_of_two",
    "read_toml",
    "text",
    "validate",
]

_LARGEST_FILE = 1 << 20
_ONE_LINE = r"^(?:\t|[^\p{Cc}\p{Zl}\p{Zp}])*$"
"""No control character, such as the end of a line, and none of Unicode's separators of lines."""
_WORDS = {int: "an integer", str: "a string", bool: "true or false"}
"""Allowed values of types without bounds."""


class Strict(BaseModel):
    """Table without unknown keys, whose values are not converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def integer(least: int, most: int) -> Any:
    """Make a field for an integer between two bounds, inclusive."""
    return Field(ge=least, le=most, description=f"an integer from {least} to {most}")


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise PydanticCustomError("power_of_two", "not a power of two")
    return value


PowerOfTwo = Annotated[int, AfterValidator(_power_of_two)]


def power_of_two(least: int, most: int) -> Any:
    """Make a field for a ``PowerOfTwo`` between two bounds, inclusive."""
    return Field(ge=least, le=most, description=f"a power of two from {least} to {most}")


def number(least: float, most: float) -> Any:
    """Make a field for a number between two bounds, inclusive."""
    return Field(ge=least, le=most, description=f"a number from {least:g} to {most:g}")


def one_of(words: Sequence[str]) -> Any:
    """Make a field for one of a few words, for a ``Literal``."""
    return Field(description=", ".join(words))


def text() -> Any:
    """Make a field for a short string of one line that is not empty."""
    words = "a string of 1 to 400 characters in one line"
    return Field(min_length=1, max_length=400, pattern=_ONE_LINE, description=words)


_Shape = TypeVar("_Shape", bound=Strict)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InputError
        The file cannot be read, is too large, or is not TOML; the message names file and line.
    """
    content = read_text(path, most_bytes=_LARGEST_FILE)
    try:
        data: dict[str, Any] = tomllib.loads(content)
        return data
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(path), f"is not TOML: {error}") from error
    except RecursionError as error:
        raise InputError(str(path), "is nested too deeply") from error


def validate(shape: type[_Shape], data: Any, where: str) -> _Shape:
    """Check ``data`` and convert it into a ``shape``.

    Parameters
    ----------
    shape : type
        Subclass of ``Strict``.
    data : dict
        Content of a TOML file.
    where : str
        File name for messages.

    Raises
    ------
    InputError
        A field is wrong; the message names the first one by its dotted path, its value, and the
        allowed values.
    """
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        path, problem = _explain(shape, errors[0])
        if len(errors) > 1:
            problem += f" ({len(errors) - 1} more to mend)"
        raise InputError(f"{where}: {path}" if path else where, problem) from error


def _explain(shape: type, error: Any) -> tuple[str, str]:
    """Dotted path of the field, and the problem there."""
    location, kind = error["loc"], error["type"]
    if isinstance(error.get("ctx", {}).get("error"), InputError):
        cause = error["ctx"]["error"]
        return ".".join((*map(str, location), cause.field)), cause.problem
    if kind == "missing" and isinstance(location[-1], int):
        location = location[:-1]  # the list is too short
        problem = "too short"
    elif kind == "missing":
        problem = "missing"
    elif kind == "extra_forbidden":
        known = list(_at(shape, location[:-1])[0].model_fields)
        close = get_close_matches(str(location[-1]), known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        return ".".join(map(str, location)), f"unknown key; {hint}allowed: {', '.join(known)}"
    else:
        problem = f"{short(error['input'])} is not allowed"
    return ".".join(map(str, location)), f"{problem}; allowed: {_at(shape, location)[1]}"


def allowed_values(shape: Any) -> str:
    """Describe the values that a type allows."""
    shape, words = _without_metadata(shape)
    return words or _at(shape, ())[1]


def _without_metadata(shape: Any) -> tuple[Any, str | None]:
    """Type without its annotations, and the description among them."""
    if get_origin(shape) is not Annotated:
        return shape, None
    shape, *metadata = get_args(shape)
    return shape, next((one.description for one in metadata if hasattr(one, "description")), None)


def _section(shape: Any) -> Any:
    """Section of a union with None, which an optional section is; any other type as it is."""
    if get_origin(shape) not in (Union, UnionType):
        return shape
    sections = [one for one in get_args(shape) if isinstance(one, type) and issubclass(one, Strict)]
    return sections[0] if sections else shape


def _at(shape: Any, location: tuple[str | int, ...]) -> tuple[Any, str]:
    """Type of the field at a location, and a description of its allowed values."""
    words = None
    for part in location:
        if isinstance(part, int):
            # All elements of a list have one type.
            shape, own = _without_metadata(get_args(shape)[0])
            words = own or words
        else:
            field = shape.model_fields[part]
            shape, words = _section(field.annotation), field.description
    if words is not None:
        return shape, words
    if shape in _WORDS:
        return shape, _WORDS[shape]
    if get_origin(shape) is Literal:
        return shape, ", ".join(map(repr, get_args(shape)))
    if get_origin(shape) is tuple:
        return shape, f"a list of {len(get_args(shape))}"
    if get_origin(shape) is list:
        return shape, "a list"
    return shape, "a section"
