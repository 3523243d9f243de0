"""What is simulated of a run: the whole GEMM, the launches in which T3 tracks it, and of what is
too large to simulate smaller sizes, from which its times and bytes are extrapolated linearly."""

from collections import Counter

from sysmodel.config.system import System
from sysmodel.config.workload import LARGEST_TP, Workload
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.machine.sampling import (
    output_atoms,
    require_output_atoms,
    samples,
    stands_for_all,
    symmetry,
)
from sysmodel.machine.tiling import kernel_of, launches

from .configurations.registry import CONFIGURATIONS
from .result import RunOptions, SimulatedGemm
from .sizes import Estimate, Sizes

__all__ = ["Parts", "Plan", "kernels_of"]

# Of a configuration, as Sizes counts it. The golden engine does eight million a second or more,
# and a run simulates some eight GEMMs.
_MOST_WORK = 64_000_000


Parts = dict[Estimate, int]
"""GEMMs, and how often each runs."""


class Plan:
    """What a run simulates, checked.

    Attributes
    ----------
    channels : int
        Simulated ones of a GPU.
    whole : dict
        The GEMM in one launch.
    launches : dict
        Those in which T3 tracks it; empty if it does not.

    Raises
    ------
    InputError
        The hardware cannot track the GEMM, or what would be simulated does not stand for all.
    """

    def __init__(self, workload: Workload, system: System, options: RunOptions):
        self._system, self._options = system, options
        size = workload.m, workload.n, workload.k, workload.tp
        kernel = kernel_of(system, *size)
        tracked = launches(system, *size) if _is_tracked(options) else ()
        asked = options.channels_of(system)
        for self.channels in samples(system) if asked == "auto" else (asked,):
            self.whole = self._parts({kernel: 1})
            self.launches = self._parts(Counter(tracked))
            if all(stands_for_all(system, one, self.channels) for one in self.kernels):
                break
        options.buildable(self.channels)
        self._check(workload)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All that is simulated, each once, first the one of which the most is to be seen."""
        return kernels_of(self.launches | self.whole)

    @property
    def is_extrapolated(self) -> bool:
        """Whether something is too large to be simulated itself."""
        return any(one.smaller for one in (*self.whole, *self.launches))

    @property
    def simulated(self) -> dict[str, tuple[SimulatedGemm, ...]]:
        """Sizes simulated for a GEMM in one launch, and for those of T3."""
        named = {"whole": self.whole, "launches": self.launches}
        return {
            name: tuple(SimulatedGemm(m=one.m, n=one.n, k=one.k) for one in kernels_of(parts))
            for name, parts in named.items()
            if parts
        }

    def _parts(self, kernels: dict[Kernel, int]) -> Parts:
        """What is simulated of kernels, of which each runs so many times."""
        sizes = Sizes(
            system=self._system,
            channels=self.channels,
            mirror=self._options.gpus == "mirror",
        )
        most = _MOST_WORK / max(1, len(kernels))
        return {sizes.of(kernel, most): count for kernel, count in kernels.items()}

    def _check(self, workload: Workload) -> None:
        """Whether the simulated channels and GPUs stand for all."""
        system, problems = self._system, {}
        for kernel in self.kernels:
            channels = self.channels
            atoms = output_atoms(system, kernel, channels)
            try:
                require_output_atoms(kernel, atoms, channels, system.dram.channels)
            except ValueError as error:
                problems["channels"] = str(error)
            try:
                if self._options.gpus == "mirror":
                    symmetry(kernel, atoms, channels)
            except ValueError as error:
                problems["tp"] = f"{error}{_others(workload, system)}"
        if problems:
            raise InputError(
                f"{workload.title} on {system.name}: {', '.join(problems)}",
                "; ".join(problems.values()),
            )


def kernels_of(parts: Parts) -> tuple[Kernel, ...]:
    """What is simulated for them, each once."""
    return tuple({kernel: None for one in parts for kernel in one.simulated})


def _is_tracked(options: RunOptions) -> bool:
    """Whether T3 tracks the GEMM in a configuration, or in what one is made of."""
    chosen = [CONFIGURATIONS[name] for name in options.configurations]
    return any(
        one.tracked or any(CONFIGURATIONS[other].tracked for other in one.of) for one in chosen
    )


def _others(workload: Workload, system: System) -> str:
    """Degrees of tensor parallelism whose chunks are alike."""
    products = workload.k * workload.tp
    alike = [
        tp
        for tp in range(2, LARGEST_TP + 1)
        if products % tp == 0 and _alike(system, workload.m, workload.n, products // tp, tp)
    ]
    return f", or --tp {', '.join(map(str, alike))}" if alike else ""


def _alike(system: System, m: int, n: int, k: int, gpus: int) -> bool:
    try:
        return all(one.uniform for one in set(launches(system, m, n, k, gpus)))
    except ValueError:
        return False
