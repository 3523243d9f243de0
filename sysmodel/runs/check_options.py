"""Options and result of a check with real values."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sysmodel.collectives.schedule import OPERATIONS, Operation
from sysmodel.config.arguments import Checked
from sysmodel.config.granularity import GRANULARITIES, GranularityName
from sysmodel.config.schema import PowerOfTwo, integer, one_of, power_of_two, text
from sysmodel.config.workload import DTYPES, LARGEST, DtypeName
from sysmodel.lib.errors import InputError

from .engines import ENGINES, EngineName

if TYPE_CHECKING:
    from sysmodel.collectives.launch_map import TrackedSchedule

__all__ = ["CheckOptions", "CheckResult", "Mismatch", "Problem"]


@dataclass(frozen=True)
class Problem:
    """GEMM of m × n × k on each GPU, whose results the GPUs exchange."""

    m: int
    n: int
    k: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k} {self.dtype}"


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Checked):
    """Options of a check: a GEMM with real values on every GPU and channel, or two at a time.

    Parameters
    ----------
    collective : str
        Algorithm, of a single stage that does not cut chunks: ``ring``, ``direct``, ``send``.
    operation : str or None
        Operation; None for the algorithm's first one, mostly ``reduce-scatter``.
    accumulate : bool
        A reduce-scatter adds to what the memory of the owners holds, as for gradients.
    uneven : bool
        In an all-to-all, the GPUs send random numbers of atoms to each other, also none.
    split_k : int
        Workgroups that share the depth of a tile, and add to it in memory.
    free_order : bool
        Contributions are added as they arrive. Sums that depend on the order are compared within a
        bound instead of bit by bit.
    gpus : int
        Number of GPUs.
    m, n, k : int
        Size of each GPU's GEMM.
    dtype : str
        Format of operands and output: ``fp16`` or ``bf16``.
    contexts : int
        Contexts that work at the same time; the second one has an output of n × m in the other
        format.
    granularity : str
        Owner of the tile that is sent on when complete: ``workgroup`` or ``wavefront``.
    engine : str
        Engine of the T3 hardware: ``rtl`` or ``golden``.
    channels : int
        Memory channels of every GPU, a power of two.
    skew : int
        Memory cycles between the starts of two neighbouring GPUs.
    topology : str
        Links between the GPUs: the name of a bundled topology, or a TOML file.
    back_pressure : int
        Share of cycles, in percent and at random, in which a link accepts nothing.
    seed : int
        Seed of the operands and of every other random choice.

    Raises
    ------
    InputError
        A value is not allowed.
    """

    collective: Annotated[str, text()] = "ring"
    operation: Annotated[Operation | None, one_of(OPERATIONS)] = None
    accumulate: bool = False
    uneven: bool = False
    split_k: Annotated[int, integer(1, 8)] = 1
    free_order: bool = False
    gpus: Annotated[int, integer(2, 8)] = 4
    m: Annotated[int, integer(1, LARGEST["m"])] = 512
    n: Annotated[int, integer(1, LARGEST["n"])] = 384
    k: Annotated[int, integer(1, LARGEST["k"])] = 128
    dtype: Annotated[DtypeName, one_of(DTYPES)] = "fp16"
    contexts: Annotated[int, integer(1, 2)] = 1
    granularity: Annotated[GranularityName, one_of(GRANULARITIES)] = "workgroup"
    engine: Annotated[EngineName, one_of(ENGINES)] = "rtl"
    channels: Annotated[PowerOfTwo, power_of_two(1, 32)] = 2
    skew: Annotated[int, integer(0, 1_000_000)] = 0
    topology: Annotated[str, text()] = "ring"
    back_pressure: Annotated[int, integer(0, 95)] = 0
    seed: Annotated[int, integer(0, (1 << 32) - 1)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tracked.has_fixed_sums and self.free_order:
            problem = (
                f"True is not allowed with {self.collective} on {self.gpus} GPUs, whose sums do "
                "not depend on an order"
            )
            raise InputError("free_order", problem)
        exchanges = self.tracked.schedule.operation == "all-to-all"
        if self.uneven and not exchanges:
            raise InputError("uneven", "True is not allowed; allowed: with an all-to-all")
        if (exchanges or self.split_k > 1) and self.contexts > 1:
            problem = f"{self.contexts} is not allowed with an all-to-all or splits; allowed: 1"
            raise InputError("contexts", problem)
        if self.split_k > self.k or self.uneven and self.split_k > 1:
            most = 1 if self.uneven else self.k
            raise InputError("split_k", f"{self.split_k} is not allowed; allowed: up to {most}")
        if self.needed_bytes > _memory_bytes():
            raise InputError(
                "m, n, k, gpus",
                f"{self.m} x {self.n} x {self.k} on {self.gpus} GPUs take about "
                f"{self.needed_bytes / 1e9:.1f} GB; allowed: the {_memory_bytes() / 1e9:.1f} GB of "
                "this machine",
            )

    @property
    def tracked(self) -> "TrackedSchedule":
        """Collective that the hardware runs."""
        # On demand: the shell's completion imports the options, and must be quick.
        from sysmodel.collectives.launch_map import tracked_schedule
        from sysmodel.collectives.registry import algorithm

        operation = self.operation or algorithm(self.collective, "collective").operations[0]
        return tracked_schedule(
            self.collective,
            self.gpus,
            operation,
            free=self.free_order,
            accumulate=self.accumulate,
            splits=self.split_k,
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problem of each context."""
        (other,) = set(DTYPES) - {self.dtype}
        first = Problem(self.m, self.n, self.k, self.dtype)
        return (first, Problem(self.n, self.m, self.k, other))[: self.contexts]

    @property
    def needed_bytes(self) -> int:
        """Memory that the check takes, for each context: operands and product in fp32, and for each
        GPU its product, the result of the hardware with its epochs, and the expected result. A
        result with several places is as much larger as their addresses are apart."""
        output = self.m * self.n
        operands = (self.m + self.n) * self.k
        places = self.tracked.places
        apart = 2 * self.channels if places > 1 else 1
        of_gpu = output * (16 + 4 * (places * apart - 1) + 4 * (self.split_k - 1))
        return self.contexts * (self.gpus * of_gpu + (output + 2 * operands) * 4)


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Element whose bits differ: its place, and both bit patterns; in an all-to-all or a send also
    the GPU whose element it is, otherwise -1."""

    gpu: int
    row: int
    column: int
    expected: int
    found: int
    context: int = 0
    source: int = -1


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """Result of a check.

    Attributes
    ----------
    passed : bool
        Every bit of every element agrees and the hardware reported no error.
    elements, mismatches : int
        Number of compared elements, and of those that differ.
    first_mismatches : tuple of Mismatch
        First elements that differ.
    launches : int
        Launches in which the output was computed, slice by slice.
    errors : tuple of str
        Errors that the hardware or the loop reported.
    cycles : int
        Memory cycles simulated.
    wall_s : float
        Time that the simulation took.
    """

    passed: bool
    elements: int
    mismatches: int
    cycles: int
    wall_s: float
    launches: int = 1
    first_mismatches: tuple[Mismatch, ...] = ()
    errors: tuple[str, ...] = ()
