"""List of the configurations, in the order of tables and help."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sysmodel.lib.errors import InputError

if TYPE_CHECKING:
    from sysmodel.runs.cycle_result import CycleResult
    from sysmodel.runs.program.program import Chain, Program
    from sysmodel.runs.simulation import RunContext

__all__ = ["BASE", "CONFIGURATIONS", "Configuration", "evaluation_order"]

BASE = "sequential"
"""Configuration that every run simulates, and over which speedups are given."""


@dataclass(frozen=True)
class Configuration:
    """One configuration.

    Parameters
    ----------
    name : str
        Name in tables and options.
    function : str
        Module beside this one and its function, as ``cu_split.cu_split``; imported when it is
        called. The function returns the result, given the context of a kernel, the name and the
        options; or, for a derived configuration, given the program and the results of the others.
    options : mapping
        Further arguments of the function.
    of : tuple of str
        Configurations from whose results this one is derived; empty if it is simulated.
    tracked : bool
        The T3 hardware does the reduction.
    listed : bool
        A run may request the configuration; otherwise it only serves others.
    default : bool
        A run includes the configuration unless others are requested.
    rival : bool
        GPUs of today can run it: T3 is compared with the fastest of these.
    """

    name: str
    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    of: tuple[str, ...] = ()
    tracked: bool = False
    listed: bool = True
    default: bool = True
    rival: bool = False

    @property
    def collective_cus(self) -> int:
        """CUs that the GEMM leaves to the collectives all the time."""
        cus: int = self.options.get("collective_cus", 0)
        return cus

    def check(self, program: "Program", chain: "Chain") -> None:
        """Check that the configuration can run a chain of a program.

        Raises
        ------
        InputError
            The T3 hardware cannot run a collective of the chain.
        """
        for one in chain.collectives if self.tracked else ():
            if (one.operation, one.algorithm or _T3_RUNS) not in _TRACKED:
                known = ", ".join(f"{operation} by {name}" for operation, name in _TRACKED)
                raise InputError(
                    f"program {program.name}: activities.{one.name}",
                    f"{one.operation} by {one.algorithm or _T3_RUNS} does not run on {self.name}; "
                    f"allowed: {known}, or other configurations",
                )

    def simulate(self, context: "RunContext") -> "CycleResult":
        """Simulate a chain on a kernel."""
        return self._call(context, self.name)

    def derive(self, program: "Program", *results: "CycleResult") -> "CycleResult":
        """Derive the result from the results of the configurations in ``of``."""
        return self._call(program, *results)

    def _call(self, *arguments: object) -> "CycleResult":
        module, _, name = self.function.partition(".")
        function = getattr(import_module(f".{module}", __package__), name)
        result: CycleResult = function(*arguments, **self.options)
        return result


# Operations and algorithms that the T3 hardware runs.
_T3_RUNS = "ring"
_TRACKED = (("reduce-scatter", _T3_RUNS), ("all-gather", _T3_RUNS))


def _t3(name: str, policy: str, default: bool = True) -> Configuration:
    options = {"policy": policy}
    return Configuration(
        name, "transparent.transparent", options=options, tracked=True, default=default
    )


def _cu_split(cus: int) -> Configuration:
    return Configuration(
        f"cu-split-{cus}",
        "cu_split.cu_split",
        options={"collective_cus": cus},
        default=False,
        rival=True,
    )


_LIST = (
    Configuration(BASE, "sequential.sequential", rival=True),
    _t3("t3", "round-robin"),
    _t3("t3-mca", "mca"),
    _t3("t3-critical", "critical"),
    _t3("t3-mca-paper", "mca-paper", default=False),
    _t3("t3-compute-first", "compute-first", default=False),
    Configuration("ideal-overlap", "ideal.ideal", of=(BASE, BASE)),
    Configuration("ideal-rs-nmc", "ideal.ideal", of=(BASE, "rs-nmc")),
    Configuration("rs-nmc", "transparent.scatter", tracked=True, listed=False, default=False),
    _cu_split(8),
    _cu_split(16),
)
CONFIGURATIONS = {one.name: one for one in _LIST}


def evaluation_order(names: Iterable[str]) -> list[str]:
    """Configurations to evaluate for the named ones, each after the configurations from which it is
    derived.
    """
    order = (one for name in names for one in (*evaluation_order(CONFIGURATIONS[name].of), name))
    return list(dict.fromkeys(order))
