"""T3: transparent tracking and triggering.

>>> import t3
>>> t3.run("mega-gpt-2", "op", tp=16, engine="golden")  # doctest: +SKIP

What is here is loaded when it is first used, so that importing takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from sysmodel.config.system import System, load_system, preset_names
    from sysmodel.lib.errors import InputError, SimulationError

    from .library.checking import check
    from .library.hardware import export
    from .library.result import Result
    from .library.simulation import gemm, run
    from .library.sweeping import sweep

__all__ = [
    "InputError",
    "Result",
    "SimulationError",
    "System",
    "__version__",
    "check",
    "export",
    "gemm",
    "load_system",
    "preset_names",
    "run",
    "sweep",
]

_HOMES = {
    "InputError": "sysmodel.lib.errors",
    "Result": "t3.library.result",
    "SimulationError": "sysmodel.lib.errors",
    "System": "sysmodel.config.system",
    "check": "t3.library.checking",
    "export": "t3.library.hardware",
    "gemm": "t3.library.simulation",
    "load_system": "sysmodel.config.system",
    "preset_names": "sysmodel.config.system",
    "run": "t3.library.simulation",
    "sweep": "t3.library.sweeping",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = import_module("importlib.metadata").version("t3")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 't3' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
