"""Systems as TOML files: a small machine with random keys at, over and far from their bounds."""

import json
import math
from collections.abc import Iterator
from random import Random
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sysmodel.config.schema import Strict
from sysmodel.config.system import System

from .case import Case
from .files import add_file
from .values import odd_text

__all__ = ["changes", "mapping", "system_file"]

_SMALL = {
    "gpu.compute_units": 8,
    "dram.channels": 4,
    "l2.slices": 8,
    "l2.capacity_mib": 2,
    "link.bandwidth_gb_per_s": 18.75,
}


def _leaves(shape: type[Strict], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of a section with their fields."""
    for name, one in shape.model_fields.items():
        union = get_origin(one.annotation) in (Union, UnionType)
        kinds = get_args(one.annotation) if union else (one.annotation,)
        sections = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Strict)]
        if sections and name != "topology":  # a name or a file, as a whole
            yield from _leaves(sections[0], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", one


_KEYS = dict(_leaves(System))
_WRONG = (0, -1, 1.5, 3, 1 << 62, 1e300, -1e-9, math.nan, math.inf, "", "x", True, [], [1], {})


def _value(random: Random, one: Any) -> Any:
    """Draw a value for a field: at its bounds, near them, or of any kind."""
    bounds = {kind: bound for m in one.metadata for kind, bound in vars_of(m).items()}
    if get_origin(one.annotation) is Literal and random.random() < 0.7:
        return random.choice(get_args(one.annotation))
    if {"ge", "le"} <= set(bounds) and random.random() < 0.7:
        low, high = bounds["ge"], bounds["le"]
        step = 1 if isinstance(low, int) else 1e-3
        power = 2 ** random.randint(0, 12)
        return random.choice([low, low, high, high, low - step, high + step, power, low + step])
    return random.choice(_WRONG)


def vars_of(constraint: Any) -> dict[str, Any]:
    """Bounds that a constraint of a field has."""
    return {name: getattr(constraint, name) for name in ("ge", "le") if hasattr(constraint, name)}


def changes(random: Random, case: Case, *, most: int = 2) -> dict[str, Any]:
    """Draw values for some keys, which may be unknown."""
    drawn: dict[str, Any] = {}
    for _ in range(random.randint(0, most) if case.faults else 0):
        key = random.choice(list(_KEYS))
        drawn[key] = _value(random, _KEYS[key])
        if random.random() < case.faults:
            *sections, last = key.split(".")
            drawn[".".join([*sections, last + "x"])] = drawn.pop(key)
    case.blamed.update(drawn)
    case.blamed.update(key.partition(".")[0] + "." for key in drawn)  # a rule names another key
    return drawn


def mapping(random: Random, case: Case) -> dict[str, Any]:
    """Draw a system as a dictionary, with dotted or with nested keys."""
    drawn = changes(random, case)
    return {"base": "asplos24", **_SMALL, **drawn}


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "{}"
    return json.dumps(value)


def system_file(random: Random, case: Case) -> str:
    """Add a system file to the case, and return its name."""
    wrong = ["system.toml", "no.toml", odd_text(random)]
    base = case.pick(random, "asplos24", wrong=wrong)
    base = base.encode("utf-8", "replace").decode()
    if base != "asplos24":
        case.blamed |= {"base", base}
    values = {**_SMALL, **changes(random, case)}
    lines = [f"base = {json.dumps(base)}", *(f"{k} = {_toml(v)}" for k, v in values.items())]
    return add_file(random, case, "system.toml", "\n".join(lines) + "\n")
