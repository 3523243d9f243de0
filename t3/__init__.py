"""T3: transparent tracking and triggering.

>>> import t3
>>> t3.run("mega-gpt-2", "op", tp=16, engine="golden")  # doctest: +SKIP

A name is loaded when it is first used, so that ``import t3`` takes no time.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

_MODULES = {
    "Calibrated": "t3.library.calibrating",
    "Collective": "sysmodel.runs.program.activities",
    "CollectiveResult": "sysmodel.runs.collective_result",
    "Comparison": "t3.library.comparison",
    "DramResult": "t3.library.memories",
    "Gemm": "sysmodel.runs.program.activities",
    "InputError": "sysmodel.lib.errors",
    "ModelResult": "t3.library.modelling",
    "Program": "sysmodel.runs.program.program",
    "Result": "t3.library.result",
    "SimulationError": "sysmodel.lib.errors",
    "System": "sysmodel.config.system",
    "Validation": "t3.library.validation",
    "calibrate": "t3.library.calibrating",
    "check": "t3.library.checking",
    "collective": "t3.library.collectives",
    "compare": "t3.library.comparison",
    "dram": "t3.library.memories",
    "export": "t3.library.hardware",
    "gemm": "t3.library.simulation",
    "model": "t3.library.modelling",
    "preset_names": "sysmodel.config.system",
    "run": "t3.library.simulation",
    "sweep": "t3.library.sweeping",
    "system": "t3.library.systems",
    "validate": "t3.library.validation",
}
"""Modules of the public names."""

__version__: str

__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = version("t3")
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 't3' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
