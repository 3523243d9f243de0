"""Checks of a program's activities, before anything is simulated."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sysmodel.collectives.registry import algorithms
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.errors import InputError, short

from .activities import Activity, Collective, Gemm

__all__ = ["OPERATIONS", "check_activities", "in_order"]

OPERATIONS = ("reduce-scatter", "all-gather", "all-reduce")
"""Operations of a program's collectives."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LONGEST_NAME = 20
# Names whose columns would have the keys of other columns.
_TAKEN = ("total", "tracker_stall", "overlapped_communication", "exposed_communication")
_TAKEN_ENDS = re.compile(r".*_(throttled|overhead|slot_[a-z0-9_]+)")


def check_activities(activities: Sequence[Any]) -> None:
    """Check that activities make a program.

    Raises
    ------
    InputError
        An activity is not allowed; the message names the activity and its field.
    """
    if not 1 <= len(activities) <= MOST_ACTIVITIES:
        problem = f"{len(activities)} are not allowed; allowed: 1 to {MOST_ACTIVITIES}"
        raise InputError("activities", problem)
    by_name: dict[str, Activity] = {}
    for number, one in enumerate(activities):
        if not isinstance(one, (Gemm, Collective)):
            problem = f"{short(one)} is not allowed; allowed: Gemm or Collective"
            raise InputError(f"activities.{number}", problem)
        _check_name(one.name, number)
        if by_name.setdefault(one.name, one) is not one:
            raise InputError(
                f"activities.{one.name}", "two activities have this name; allowed: each name once"
            )
    if not any(isinstance(one, Gemm) for one in activities):
        raise InputError("activities", "no GEMM is among them; allowed: at least one")
    for one in activities:
        _check_references(one, by_name)
        if isinstance(one, Collective):
            _check_collective(one, by_name)
    _check_uses(activities)
    in_order(activities)


def in_order(activities: Sequence[Activity]) -> tuple[Activity, ...]:
    """Order activities so that each follows those that it needs, otherwise as they stand.

    Raises
    ------
    InputError
        Some activities need each other.
    """
    ordered: dict[str, Activity] = {}
    left = list(activities)
    while left:
        ready = next((one for one in left if all(name in ordered for name in one.awaited)), None)
        if ready is None:
            names = ", ".join(one.name for one in left)
            raise InputError(f"activities.{left[0].name}.needs", f"{names} wait for each other")
        ordered[ready.name] = ready
        left.remove(ready)
    return tuple(ordered.values())


def _check_name(name: Any, number: int) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        allowed = f"up to {_LONGEST_NAME} lower-case letters, digits and _, a letter first"
        raise InputError(
            f"activities.{number}.name", f"{short(name)} is not allowed; allowed: {allowed}"
        )
    if name in _TAKEN or _TAKEN_ENDS.fullmatch(name):
        problem = f"{name!r} is the name of another column; allowed: any other name"
        raise InputError(f"activities.{number}.name", problem)


def _check_references(one: Activity, by_name: Mapping[str, Activity]) -> None:
    others = [name for name in by_name if name != one.name]
    given = {"needs": one.needs} | ({"of": (one.of,)} if isinstance(one, Collective) else {})
    for field, names in given.items():
        for name in names:
            if name not in others:
                itself = "is the activity itself" if name == one.name else "is no activity"
                allowed = ", ".join(others) or "none"
                problem = f"{short(name)} {itself}; allowed: {allowed}"
                raise InputError(f"activities.{one.name}.{field}", problem)


def _check_collective(one: Collective, by_name: Mapping[str, Activity]) -> None:
    if one.operation not in OPERATIONS:
        problem = f"{short(one.operation)} is not allowed; allowed: {', '.join(OPERATIONS)}"
        raise InputError(f"activities.{one.name}.operation", problem)
    sources = {
        other.name: other.kind
        for other in by_name.values()
        if other.kind == ("gemm" if one.reduces else "reduce-scatter")
    }
    if one.of not in sources:
        needed = "a GEMM" if one.reduces else "a reduce-scatter"
        problem = f"{one.of!r} is not {needed}; allowed: {', '.join(sources) or 'none'}"
        raise InputError(f"activities.{one.name}.of", problem)
    _check_algorithm(one)


def _check_algorithm(one: Collective) -> None:
    known = [name for name, other in algorithms().items() if one.operation in other.operations]
    if one.algorithm is not None and one.algorithm not in known:
        problem = f"{short(one.algorithm)} does no {one.operation} of a GEMM's output"
        raise InputError(
            f"activities.{one.name}.algorithm", f"{problem}; allowed: {', '.join(known)}"
        )


def _check_uses(activities: Sequence[Activity]) -> None:
    """Check that each output is reduced or gathered once."""
    users: dict[str, str] = {}
    for one in activities:
        if isinstance(one, Collective) and users.setdefault(one.of, one.name) != one.name:
            problem = f"{one.of!r} is already the input of {users[one.of]}; allowed: one collective"
            raise InputError(f"activities.{one.name}.of", problem)
