"""Two results of ``t3 run`` side by side: what was asked differently, and what came out so."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysmodel.lib.dotted import dotted
from sysmodel.lib.errors import InputError

__all__ = ["Change", "Difference", "asked_differently", "changes", "read_result"]

_RESULT = "result.json"
_LARGEST_FILE = 1 << 26
_TIMES = ("total_ns", "gemm_ns", "rs_ns", "ag_ns", "exposed_communication_ns")
_MEASURED = (*_TIMES, "speedup", "gemm_contention", "gemm_waiting", "energy_total_j", "t3_power_w")
_OPTIONS = ("engine", "channels", "gpus", "launches", "extrapolated", "seed", "version")
_WORDS = ("name", "description", "source")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A value of the workload, the system or the options that is another one in the second."""

    key: str
    first: Any
    second: Any


@dataclass(frozen=True, kw_only=True)
class Change:
    """A measured value of a configuration that both have; ``share`` is of the first."""

    configuration: str
    key: str
    first: float
    second: float

    @property
    def share(self) -> float | None:
        """None if the first is 0."""
        return self.second / self.first - 1 if self.first else None


def read_result(path: Path) -> dict[str, Any]:
    """A ``result.json``, or that of the folder of a run.

    Raises
    ------
    InputError
        It cannot be read, or is none.
    """
    file = path / _RESULT if path.is_dir() else path
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise InputError(str(file), f"is larger than {_LARGEST_FILE} bytes")
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(file), f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(file), f"is no JSON: {error}") from error
    needed = ("workload", "system", "configurations")
    if not isinstance(data, dict) or not all(isinstance(data.get(key), dict) for key in needed):
        raise InputError(str(file), "is no result of t3 run")
    return data


def asked_differently(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """Where workloads, systems and options differ; names and descriptions aside."""
    values = [dict(dotted(_asked(one))) for one in (first, second)]
    return [
        Difference(key=key, first=values[0].get(key), second=values[1].get(key))
        for key in dict.fromkeys((*values[0], *values[1]))
        if values[0].get(key) != values[1].get(key)
    ]


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Change]:
    """What was measured, of each configuration that both have."""
    found = []
    for name, one in first["configurations"].items():
        other = second["configurations"].get(name)
        for key in _MEASURED if isinstance(one, dict) and isinstance(other, dict) else ():
            pair = one.get(key), other.get(key)
            if all(isinstance(value, (int, float)) for value in pair):
                found.append(Change(configuration=name, key=key, first=pair[0], second=pair[1]))
    return found


def _asked(result: Mapping[str, Any]) -> dict[str, Any]:
    system = {key: value for key, value in result["system"].items() if key not in _WORDS}
    options = {key: result.get(key) for key in _OPTIONS}
    return {"workload": result["workload"], "system": system, **options}
