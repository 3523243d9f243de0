"""List of the configurations, in the order of tables and help."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from sysmodel.lib.errors import InputError

if TYPE_CHECKING:
    from sysmodel.config.system import System
    from sysmodel.runs.cycle_result import CycleResult
    from sysmodel.runs.plan import Plan
    from sysmodel.runs.program.activities import Collective
    from sysmodel.runs.program.program import Chain, Program
    from sysmodel.runs.run_context import RunContext

__all__ = ["BASE", "CONFIGURATIONS", "LIBRARY", "Configuration", "evaluation_order"]

BASE = "sequential"
"""Configuration that every run simulates, and over which speedups are given."""

LIBRARY = "library"
"""Configuration of the algorithms that a collective library chooses."""


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
    options : dict
        Further arguments of the function.
    of : tuple of str
        Configurations from whose results this one is derived; empty if it is simulated.
    of_plan : bool
        A derived configuration's function takes the plan instead of the program.
    tracked : bool
        The T3 hardware does the reduction.
    direct : bool
        T3's packets go to all other GPUs, so that every GPU is simulated.
    cut : str
        Equal parts of a GEMM's rows, of which one is simulated: all rows, ``halves``, or a part for
        each of the ``owners`` of the output's chunks. ``consumers`` of a gathered output are cut,
        too.
    beside : bool
        The collectives of a launch run beside its GEMM.
    splits : bool
        CUs are split between GEMM and collectives as is the fastest.
    exchanges : bool
        Each GPU sends its part of a chunk straight to the owner; other algorithms are refused.
    stores_to_owners : bool
        The GEMM stores each tile in the memory of its owner, so that every GPU has a direct way to
        every other one.
    listed : bool
        A run may request the configuration; otherwise it only serves others.
    part_of : str
        Configuration that this one serves alone, for messages.
    default : bool
        A run includes the configuration unless others are requested.
    rival : bool
        GPUs of today can run it: T3 is compared with the fastest of these.
    """

    name: str
    function: str
    options: dict[str, Any] = field(default_factory=dict)
    of: tuple[str, ...] = ()
    of_plan: bool = False
    tracked: bool = False
    direct: bool = False
    cut: Literal["whole", "halves", "owners"] = "whole"
    consumers: bool = False
    beside: bool = False
    splits: bool = False
    exchanges: bool = False
    stores_to_owners: bool = False
    listed: bool = True
    part_of: str = ""
    default: bool = True
    rival: bool = False

    @property
    def title(self) -> str:
        """Name in messages: that of a configuration that a run may request."""
        return self.part_of or self.name

    def reserved_cus(self, system: "System") -> int:
        """Fewest CUs that the GEMM leaves to the collectives all the time."""
        all_options = (self.options | one for one in self.candidates(system))
        return min(int(one.get("collective_cus", 0)) for one in all_options)

    @property
    def launches(self) -> int:
        """Launches, in contexts of their own, into which each launch of T3 is cut."""
        return int(self.options.get("launches", 1))

    def parts(self, gpus: int) -> int:
        """Equal parts into which a GEMM's rows are cut."""
        return {"whole": 1, "halves": 2, "owners": gpus}[self.cut]

    def candidates(self, system: "System") -> tuple[dict[str, Any], ...]:
        """Options of which the fastest count, with more and more CUs for the collectives."""
        if not self.splits:
            return ({},)
        library, most = system.collective_cus, system.gpu.compute_units // 2
        cus = {max(1, library // part) for part in _SHARES_OF_LIBRARY}
        allowed = sorted(one for one in cus if one <= most) or [max(1, most)]
        return tuple({"collective_cus": one} for one in allowed)

    def check(self, program: "Program", chain: "Chain") -> None:
        """Check that the configuration can run a chain of a program.

        Raises
        ------
        InputError
            The T3 hardware, or the configuration's software, cannot run a collective of the chain.
        """
        if self.exchanges:
            self._check_exchanges(program, chain)
        if self.stores_to_owners and (reduction := chain.reduction) is not None:
            by = reduction.algorithm or _OWNERS_ADD
            if (reduction.operation, by) != ("reduce-scatter", _OWNERS_ADD):
                raise InputError(
                    f"program {program.name}: activities.{reduction.name}",
                    f"{self.title} does not run {_words(reduction)}; allowed: "
                    f"reduce-scatter by {_OWNERS_ADD}, or other configurations",
                )
        for one in chain.collectives if self.tracked else ():
            if (one.operation, one.algorithm or _T3_RUNS) not in _TRACKED:
                known = ", ".join(f"{operation} by {name}" for operation, name in _TRACKED)
                raise InputError(
                    f"program {program.name}: activities.{one.name}",
                    f"{self.title} does not run {_words(one)}; allowed: {known}, or other "
                    "configurations",
                )

    def _check_exchanges(self, program: "Program", chain: "Chain") -> None:
        for one in chain.collectives:
            if one.algorithm not in (None, _EXCHANGE):
                raise InputError(
                    f"program {program.name}: activities.{one.name}",
                    f"{self.title} does not run {_words(one)}; allowed: {_EXCHANGE}, no "
                    "algorithm, or other configurations",
                )

    def simulate(
        self, context: "RunContext", candidate: dict[str, Any] | None = None
    ) -> "CycleResult":
        """Simulate a chain on a kernel, with the options of a candidate."""
        return self._call(context, self.title, **(candidate or {}))

    def derive(self, program: "Program | Plan", *results: "CycleResult") -> "CycleResult":
        """Derive the result from the results of the configurations in ``of``; from the plan, with
        ``of_plan``."""
        return self._call(program, *results)

    def _call(self, *arguments: object, **options: object) -> "CycleResult":
        module, _, name = self.function.partition(".")
        function = getattr(import_module(f".{module}", __package__), name)
        result: CycleResult = function(*arguments, **self.options, **options)
        return result


# Parts of the library's CUs with which its collectives are tried beside a GEMM: on H100s, 4 CTAs
# are 2 % slower than 8 or more, and 2 are half as fast (microsoft/tokenweave).
_SHARES_OF_LIBRARY = (8, 4, 2, 1)
_EXCHANGE = "direct"  # algorithm by which the owners of chunks get all parts of their sums
# Operations and algorithms that the T3 hardware runs.
_T3_RUNS = "ring"
_TRACKED = (("reduce-scatter", _T3_RUNS), ("all-gather", _T3_RUNS))

# Algorithm of a fused GEMM's reduce-scatter: the owners add the contributions of all GPUs.
_OWNERS_ADD = "direct"


def _words(one: "Collective") -> str:
    """Name an operation, with its algorithm if the program names one."""
    return f"{one.operation} by {one.algorithm}" if one.algorithm else one.operation


def _t3(name: str, policy: str, default: bool = True) -> Configuration:
    options = {"policy": policy}
    return Configuration(
        name, "transparent.transparent", options=options, tracked=True, default=default
    )


def _t3_all_reduce(name: str, launches: int) -> Configuration:
    options = {"policy": "critical", "launches": launches}
    return Configuration(
        name,
        "all_reduce.all_reduce",
        options=options,
        tracked=True,
        default=False,
    )


def _cu_split(cus: int) -> Configuration:
    return Configuration(
        f"cu-split-{cus}",
        "cu_split.cu_split",
        options={"collective_cus": cus},
        default=False,
        rival=True,
    )


_PIECES, _SUMS = "chunked-gemms", "fused-sums"
_LIST = (
    Configuration(BASE, "sequential.sequential", rival=True),
    _t3("t3", "round-robin"),
    _t3("t3-mca", "mca"),
    _t3("t3-critical", "critical"),
    _t3("t3-mca-paper", "mca-paper", default=False),
    _t3("t3-compute-first", "compute-first", default=False),
    _t3_all_reduce("t3-one-launch", launches=1),
    _t3_all_reduce("t3-halves", launches=2),
    Configuration(
        "t3-direct",
        "direct.direct",
        options={"policy": "critical"},
        tracked=True,
        direct=True,
        default=False,
    ),
    Configuration("ideal-overlap", "ideal.ideal", of=(BASE, BASE)),
    Configuration("ideal-rs-nmc", "ideal.ideal", of=(BASE, "rs-nmc")),
    Configuration("rs-nmc", "transparent.scatter", tracked=True, listed=False, default=False),
    Configuration(LIBRARY, "library.library", default=False, rival=True),
    _cu_split(8),
    _cu_split(16),
    Configuration(
        "two-batch",
        "cu_split.two_batch",
        cut="halves",
        beside=True,
        splits=True,
        default=False,
        rival=True,
    ),
    Configuration(
        _PIECES,
        "pieces.pieces",
        cut="owners",
        consumers=True,
        exchanges=True,
        listed=False,
        part_of="chunked",
        default=False,
    ),
    Configuration(
        "chunked", "chunked.chunked", of=(BASE, _PIECES), of_plan=True, default=False, rival=True
    ),
    Configuration("ideal", "lower_bound.lower_bound", of=(BASE,), of_plan=True, default=False),
    Configuration(
        _SUMS,
        "fused.fused",
        stores_to_owners=True,
        listed=False,
        part_of="fused",
        default=False,
    ),
    Configuration(
        "fused", "fused_gathers.fused", of=(_SUMS,), of_plan=True, default=False, rival=True
    ),
)
CONFIGURATIONS = {one.name: one for one in _LIST}


def evaluation_order(names: Iterable[str]) -> list[str]:
    """Configurations to evaluate for the named ones, each after the configurations from which it is
    derived.
    """
    order = (one for name in names for one in (*evaluation_order(CONFIGURATIONS[name].of), name))
    return list(dict.fromkeys(order))
