"""The configurations by name, in the order of tables and help.

It is read to print a command's help, so a configuration's file is imported when it is simulated.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["CONFIGURATIONS", "Configuration"]


class Configuration:
    """How one configuration is simulated.

    Parameters
    ----------
    file, function : str
        Where it is: ``function(context, name, *of, **options)`` gives its ``PhaseResult``.
    of : tuple of str
        Configurations whose results it is made of.
    listed : bool
        A run may ask for it; else it serves others.
    default : bool
        A run has it unless asked for others.
    options
        What tells it apart from others of the same function.
    """

    def __init__(
        self,
        file: str,
        function: str,
        *,
        of: tuple[str, ...] = (),
        listed: bool = True,
        default: bool = True,
        **options: object,
    ):
        self.of, self.listed, self.default = of, listed, listed and default
        self._file, self._function, self._options = file, function, options

    @property
    def tracked(self) -> bool:
        """Whether the T3 hardware does the reduction."""
        return self._file == "transparent"

    def simulate(self, context: Any, name: str, *of: Any) -> Any:
        module = import_module(f"{__package__}.{self._file}")
        function: Callable[..., Any] = getattr(module, self._function)
        return function(context, name, *of, **self._options)


CONFIGURATIONS = {
    "sequential": Configuration("sequential", "sequential"),
    "t3": Configuration("transparent", "transparent", policy="round-robin"),
    "t3-mca": Configuration("transparent", "transparent", policy="mca"),
    "t3-critical": Configuration("transparent", "transparent", policy="critical"),
    "t3-mca-paper": Configuration("transparent", "transparent", policy="mca-paper", default=False),
    "t3-compute-first": Configuration(
        "transparent", "transparent", policy="compute-first", default=False
    ),
    "ideal-overlap": Configuration("ideal", "ideal", of=("sequential", "sequential")),
    "ideal-rs-nmc": Configuration("ideal", "ideal", of=("sequential", "rs-nmc")),
    "rs-nmc": Configuration("transparent", "scatter", listed=False),
    "cu-split-8": Configuration("cu_split", "cu_split", default=False, collective_cus=8),
    "cu-split-16": Configuration("cu_split", "cu_split", default=False, collective_cus=16),
}
