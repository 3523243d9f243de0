"""Differences of two results of ``t3 run``: in their workloads, systems and options, and in their
measured values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysmodel.lib.dotted import dotted
from sysmodel.lib.errors import InputError

from .columns import BY_KEY, Column

__all__ = ["Change", "Difference", "asked_differently", "changes", "read_result"]

_RESULT = "result.json"
_LARGEST_FILE = 1 << 26
_MEASURED = tuple(
    BY_KEY[key]
    for key in (
        *("total_ns", "gemm_ns", "rs_ns", "ag_ns", "exposed_communication_ns", "speedup"),
        *("gemm_contention", "gemm_waiting", "energy_total_j", "t3_power_w"),
    )
)
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
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise InputError(str(file), f"is larger than {_LARGEST_FILE} bytes")
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(file), f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(file), f"is not JSON: {error}") from error
    needed = ("workload", "system", "configurations")
    if not isinstance(data, dict) or not all(isinstance(data.get(key), dict) for key in needed):
        raise InputError(str(file), "is not a result of t3 run")
    return data


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
    for name, one in first["configurations"].items():
        other = second["configurations"].get(name)
        for column in _MEASURED if isinstance(one, dict) and isinstance(other, dict) else ():
            first_value, second_value = one.get(column.key), other.get(column.key)
            if all(isinstance(value, (int, float)) for value in (first_value, second_value)):
                found.append(
                    Change(
                        configuration=name, column=column, first=first_value, second=second_value
                    )
                )
    return found


def _asked(result: Mapping[str, Any]) -> dict[str, Any]:
    system = {key: value for key, value in result["system"].items() if key not in _WORDS}
    options = {key: result.get(key) for key in _OPTIONS}
    return {"workload": result["workload"], "system": system, **options}
