"""The TOML format of a grid: blocks, each a cross product of axes."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from sysmodel.config.schema import Strict, integer, text
from sysmodel.config.system import System
from sysmodel.config.topology_shapes import Topology
from sysmodel.config.workload import DTYPES, LARGEST_TP, DtypeName
from sysmodel.lib.dotted import dotted
from sysmodel.lib.errors import InputError, short
from sysmodel.runs.engines import ENGINES, EngineName
from sysmodel.runs.options import CONFIGURATIONS, DEFAULT_CONFIGURATIONS, GPUS, SimulatedGpus
from sysmodel.runs.program.program import Program

__all__ = ["LISTS", "Block", "GridFile"]


LISTS = (tuple, list)
"""Types of the system values that are lists."""

_LARGEST_SIZE = 1 << 20  # largest m, n, k or number of tokens


_V = TypeVar("_V")
_Axis = Annotated[
    list[_V], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]
"""Axis: a list of values, or one value."""


def _allowed(text: str) -> Any:
    """Field of an axis, which is not empty, with a description of the allowed values."""
    return Field(min_length=1, description=text)


def _one_or_more(allowed: Sequence[str]) -> str:
    return f"one or more of {', '.join(allowed)}"


def _channels(value: Any) -> Any:
    if value in ("auto", "all") or (type(value) is int and value >= 1):
        return value
    raise PydanticCustomError("channels", "not a number of channels")


def _source(value: Any) -> Any:
    if isinstance(value, Path) or (isinstance(value, str) and value):
        return value
    raise PydanticCustomError("source", "no model")


def _program(value: Any) -> Any:
    if isinstance(value, (Path, Program)) or (isinstance(value, str) and value):
        return value
    raise PydanticCustomError("program", "no program")


def _configuration(name: str) -> str:
    if name not in CONFIGURATIONS:
        raise PydanticCustomError("configuration", "not a configuration")
    return name


_Name = Annotated[str, text()]
_Source = Annotated[
    Any, Field(description="a model's name, or a TOML file"), AfterValidator(_source)
]
_ProgramSource = Annotated[
    Any, Field(description="a program's name, or a TOML file"), AfterValidator(_program)
]
_Degree = Annotated[int, integer(2, LARGEST_TP)]
_Degrees = Annotated[
    _Axis[_Degree], _allowed(f"an integer from 2 to {LARGEST_TP}, or a list of them")
]
_Size = Annotated[int, integer(1, _LARGEST_SIZE)]
_Sizes = Annotated[
    _Axis[_Size], _allowed(f"an integer from 1 to {_LARGEST_SIZE}, or a list of them")
]
_Channels = Annotated[Any, Field(description="1 or more, auto, or all"), AfterValidator(_channels)]
_Configuration = Annotated[
    str, Field(description=_one_or_more(CONFIGURATIONS)), AfterValidator(_configuration)
]


class WorkloadAxes(Strict):
    """Axes of the workload: sublayers of known models, or explicit GEMMs.

    An axis that the file leaves out is empty.
    """

    model: Annotated[_Axis[_Source], _allowed("a model's name, or a list of them")] = []
    layer: Annotated[_Axis[_Name], _allowed("a sublayer's name, or a list of them")] = []
    tp: _Degrees = []
    tokens: _Sizes = []
    m: _Sizes = []
    n: _Sizes = []
    k: _Sizes = []
    dtype: Annotated[_Axis[DtypeName], _allowed(_one_or_more(DTYPES))] = [DTYPES[0]]

    @model_validator(mode="after")
    def _one_kind(self) -> "WorkloadAxes":
        sizes = [name for name in ("m", "n", "k") if getattr(self, name)]
        named = [name for name in ("model", "layer", "tokens") if getattr(self, name)]
        if sizes and named:
            raise InputError(
                named[0], f"not allowed together with {sizes[0]}; allowed: model or m, n, k"
            )
        if not sizes and "model" not in named:
            raise InputError("model", "missing; allowed: a model, or m, n, k and tp")
        for name in ("m", "n", "k", "tp") if sizes else ():
            if not getattr(self, name):
                raise InputError(name, "missing; m, n, k and tp must be given together")
        return self


class RunAxes(Strict):
    """Axes of the simulation. ``configurations`` is not an axis: each point compares all of
    them.
    """

    engine: Annotated[_Axis[EngineName], _allowed(_one_or_more(ENGINES))] = [ENGINES[0]]
    channels: Annotated[_Axis[_Channels], _allowed("1 or more, auto, all, or a list of such")] = [
        "auto"
    ]
    program: Annotated[_Axis[_ProgramSource], _allowed("a program's name, or a list of them")] = []
    gpus: Annotated[_Axis[SimulatedGpus], _allowed(_one_or_more(GPUS))] = [GPUS[0]]
    configurations: Annotated[_Axis[_Configuration], _allowed(_one_or_more(CONFIGURATIONS))] = list(
        DEFAULT_CONFIGURATIONS
    )
    seed: Annotated[int, integer(0, (1 << 32) - 1)] = 0


def _keys_of(shape: type[Strict], prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Dotted keys of a system's sections, each with whether its value is a list."""
    for name, field in shape.model_fields.items():
        if field.annotation == Topology:
            yield name, False  # a name or a file, as a whole
            continue
        # An optional section is a section in a union with None.
        union = get_origin(field.annotation) in (Union, UnionType)
        kinds = get_args(field.annotation) if union else (field.annotation,)
        sections = [one for one in kinds if isinstance(one, type) and issubclass(one, Strict)]
        for section in sections:
            yield from _keys_of(section, f"{prefix}{name}.")
        if prefix and not sections:
            yield f"{prefix}{name}", get_origin(field.annotation) in LISTS


# The standard decides the defaults of other values, so only a system file sets it.
_SYSTEM_KEYS = {key: listed for key, listed in _keys_of(System) if key != "dram.standard"}


def _system_axis(key: str, value: Any) -> list[Any]:
    if key != "base" and key not in _SYSTEM_KEYS:
        close = get_close_matches(key, _SYSTEM_KEYS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(key, f"unknown key; {hint}allowed: base, or a dotted key of a system file")
    one = not isinstance(value, list)
    if _SYSTEM_KEYS.get(key) and not one and value:
        one = not any(isinstance(part, list) for part in value)
    values = [value] if one else value
    if not values:
        raise InputError(key, "[] is not allowed; allowed: a value, or a list of values")
    for part in values:
        if key == "base" and not (isinstance(part, (str, Path, System)) and part):
            problem = f"{short(part)} is not allowed; allowed: a preset, or a TOML file"
            raise InputError(key, problem)
    return values


def _system_axes(table: dict[str, Any]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for key, value in dotted(table):
        if key in axes:
            raise InputError(key, "given twice")
        axes[key] = _system_axis(key, value)
    return axes


SystemAxes = Annotated[dict[str, Any], AfterValidator(_system_axes)]


class Block(Strict):
    """Cross product of axes; ``system`` has an axis for each dotted key, in the file's order."""

    workload: WorkloadAxes
    system: SystemAxes = {}
    run: RunAxes = RunAxes()


class GridFile(Strict):
    """Content of a grid's file."""

    title: _Name
    grid: Annotated[list[Block], Field(min_length=1, description="one or more [[grid]] blocks")]
