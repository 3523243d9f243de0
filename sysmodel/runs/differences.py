"""Differences of two results of ``t3 run``: in their workloads, systems and options, and in their
measured values."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sysmodel.lib.dotted import dotted
from sysmodel.lib.errors import InputError
from sysmodel.lib.text import read_text

from .columns import Column, columns_of
from .program.files import default_program, program_of_record
from .program.program import Program

__all__ = [
    "Change",
    "Difference",
    "asked_differently",
    "changes",
    "checked_result",
    "notes",
    "read_result",
]

_RESULT = "result.json"
_NEEDED = ("workload", "system", "configurations")
_OPTIONS = ("engine", "channels", "gpus", "launches", "extrapolated", "seed", "version")
_WORDS = ("name", "description", "source")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Value of the workload, the system or the options that differs in the second result."""

    key: str
    first: Any
    second: Any


@dataclass(frozen=True, kw_only=True)
class Change:
    """Measured value of a configuration that both results have."""

    configuration: str
    column: Column
    first: float
    second: float

    @property
    def share(self) -> float | None:
        """Change as a share of the first value; None if that is 0."""
        return self.second / self.first - 1 if self.first else None


def read_result(path: Path) -> dict[str, Any]:
    """Read a ``result.json``, or the one in the folder of a run.

    Raises
    ------
    InputError
        The file cannot be read, or is not a result.
    """
    file = path / _RESULT if path.is_dir() else path
    text = read_text(file)
    try:
        data = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        begin, end = text.lstrip()[:1], text.rstrip()[-1:]
        is_cut = error.pos >= len(text.rstrip()) or (begin == "{" and end != "}")
        cut = "the file is cut short: " if is_cut else ""
        raise InputError(str(file), f"is not JSON: {cut}{error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(file), f"is not JSON: {error}") from error
    return checked_result(data, str(file))


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON")


def checked_result(data: Any, where: str) -> dict[str, Any]:
    """Check that data is the content of a ``result.json``.

    Parameters
    ----------
    where : str
        Name of the data in messages.

    Raises
    ------
    InputError
        The data lacks the workload, the system, or the times of a configuration.
    """
    if not isinstance(data, Mapping) or not all(isinstance(data.get(key), dict) for key in _NEEDED):
        raise InputError(where, "is not a result of t3 run")
    times = [*(f"{name}_ns" for name in _program(data, where).names), "total_ns"]
    for name, one in data["configurations"].items():
        if not isinstance(one, dict) or not all(_is_number(one.get(key)) for key in times):
            lacking = f"configuration {name!r} lacks one of {', '.join(times)}"
            made = data.get("version")
            other = f"; version {made} of T3 made it" if made not in (None, version("t3")) else ""
            raise InputError(where, f"is not a result of this version of t3 run: {lacking}{other}")
    return dict(data)


def _program(result: Mapping[str, Any], where: str = "program") -> Program:
    """Program of a result; results of older versions name none."""
    record = result.get("program")
    return default_program() if record is None else program_of_record(record, where)


def _columns(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Column]:
    """Main columns of the results' programs."""
    programs = [_program(one) for one in (first, second)]
    activities = [name for one in programs for name in one.names]
    gemms = [gemm.name for one in programs for gemm in one.gemms]
    ratios = (f"{name}_{ratio}" for name in gemms for ratio in ("contention", "link", "waiting"))
    keys = (
        *("total_ns", *(f"{name}_ns" for name in activities)),
        *("exposed_communication_ns", "speedup", *ratios, "energy_total_j", "t3_power_w"),
    )
    columns = columns_of(programs)
    return [columns[key] for key in dict.fromkeys(keys)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def notes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """List the reasons why two results are not alike in kind, as sentences."""
    found = []
    if first["workload"] != second["workload"]:
        found.append("The workloads differ, so the times are those of different GEMMs.")
    if first.get("version") != second.get("version"):
        versions = (one.get("version", "unknown") for one in (first, second))
        found.append(f"Different versions of T3 made the results: {' and '.join(versions)}.")
    names = [one["configurations"].keys() for one in (first, second)]
    if not names[0] & names[1]:
        found.append("The results have no configuration in common.")
    if names[0] ^ names[1]:
        found.append(f"In only one of the results: {', '.join(sorted(names[0] ^ names[1]))}.")
    keys = [
        {key for one in result["configurations"].values() for key in one}
        for result in (first, second)
    ]
    if keys[0] ^ keys[1]:
        found.append(
            f"Measured in only one of the results: {', '.join(sorted(keys[0] ^ keys[1]))}."
        )
    return found


def asked_differently(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """List the differences of workloads, systems and options, without names and descriptions."""
    values = [dict(dotted(_asked(one))) for one in (first, second)]
    return [
        Difference(key=key, first=values[0].get(key), second=values[1].get(key))
        for key in dict.fromkeys((*values[0], *values[1]))
        if values[0].get(key) != values[1].get(key)
    ]


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Change]:
    """Measured values of each configuration that both results have."""
    found = []
    columns = _columns(first, second)
    for name, one in first["configurations"].items():
        other = second["configurations"].get(name)
        for column in columns if other is not None else ():
            first_value, second_value = one.get(column.key), other.get(column.key)
            if _is_number(first_value) and _is_number(second_value):
                found.append(
                    Change(
                        configuration=name, column=column, first=first_value, second=second_value
                    )
                )
    return found


def _asked(result: Mapping[str, Any]) -> dict[str, Any]:
    system = {key: value for key, value in result["system"].items() if key not in _WORDS}
    options = {key: result.get(key) for key in _OPTIONS}
    program = _program(result).as_dict()
    return {"workload": result["workload"], "program": program, "system": system, **options}
