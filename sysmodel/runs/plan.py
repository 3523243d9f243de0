"""Plan of a run: the GEMMs to simulate, in one launch and in the launches that T3 tracks.

Each chain of the program is a part of the plan, with machines of its own. A GEMM that is too large
to simulate is extrapolated from smaller ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.engine.hardware import MOST_PEERS
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.machine.sampling import (
    output_atoms,
    require_output_atoms,
    samples,
    stands_for_all,
    symmetry,
)
from sysmodel.machine.tiling import equal_slices, kernel_of, launches

from .configurations.registry import (
    BASE,
    CONFIGURATIONS,
    LIBRARY,
    Configuration,
    evaluation_order,
)
from .equal_parts import equal_parts
from .extrapolation import ExtrapolatedKernel, SizeChoice
from .library_choice import Choice, chain_choice
from .options import RunOptions, SimulatedGpus
from .program.program import Chain
from .result import SimulatedGemm
from .run_context import is_alone
from .run_network import RunNetwork

__all__ = ["LaunchCounts", "Part", "Plan", "kernels_of"]

# Work of a configuration, as SizeChoice counts it. The golden engine simulates eight million cycles
# a second or more, and a run simulates about eight GEMMs.
_MOST_WORK = 64_000_000
# Work of a configuration up to which a run simulates more channels than it needs. A channel of many
# takes the golden engine ten times as long as one alone. The evaluation's sublayers take more.
_LITTLE_WORK = 1_900_000
# Largest difference in speedup between a sample and all channels that docs/sampling.md lists,
# rounded up.
_SAMPLING_BAND = 0.03


LaunchCounts = dict[ExtrapolatedKernel, int]
"""Number of launches of each GEMM."""


@dataclass
class Part:
    """Chain of the program, and the GEMMs that are simulated for it.

    Attributes
    ----------
    kernel : Kernel
        GEMM of the chain.
    tracked : dict
        Launches in which T3 tracks the GEMM; empty if no configuration tracks it.
    choice : Choice or None
        Collective that the library runs instead of the chain's; None if it runs these.
    whole, launches : dict
        Numbers of launches of the simulated GEMMs, in one launch and in T3's.
    consumes : bool
        The GEMM needs the output that the chain before gathers.
    equal : dict
        By the ways in which configurations cut, the kernel of an equal part of the rows, and its
        launches.
    cut : dict
        Numbers of launches of the simulated GEMMs of parts, by the way of cutting.
    """

    chain: Chain
    kernel: Kernel
    tracked: Mapping[Kernel, int]
    choice: Choice | None = None
    whole: LaunchCounts = field(default_factory=dict)
    launches: LaunchCounts = field(default_factory=dict)
    consumes: bool = False
    equal: Mapping[str, Mapping[Kernel, int]] = field(default_factory=dict)
    cut: dict[str, LaunchCounts] = field(default_factory=dict)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels to simulate, each once; those of T3's launches come first."""
        found = self.launches | self.whole
        for counts in self.cut.values():
            found |= counts
        return kernels_of(found)

    def launches_of(self, configuration: Configuration) -> LaunchCounts:
        """Launches in which a configuration runs the chain."""
        tracks = configuration.tracked and self.chain.collectives
        return self.launches if tracks else self.cut.get(configuration.cut, self.whole)

    def is_simulated(self, configuration: Configuration) -> bool:
        """Test whether a configuration runs the chain in another way than the base: a GEMM alone
        is the same in all."""
        if configuration.name == LIBRARY:
            return self.choice is not None
        if configuration.name == BASE or self.chain.collectives:
            return True
        return configuration.consumers and self.consumes


class Plan:
    """GEMMs that a run simulates, checked against the system and the options.

    Attributes
    ----------
    channels : int
        Simulated memory channels of a GPU.
    network : RunNetwork
        Links between the GPUs, and the library's schedules.
    mirror : bool
        One GPU is simulated, which represents all. The options can ask for it, but chunks that
        differ, and a network or a library on which GPUs do different things, need every GPU.
    every_gpu_because : str or None
        Reason for which every GPU is simulated although the options do not ask for it.
    parts : tuple of Part
        Chains of the program.
    sampling_band : float
        Share by which a speedup may differ from that with all channels; 0 if all are simulated.

    Raises
    ------
    InputError
        The workload does not fit the system, its topology or the options, the hardware cannot
        track the GEMM, or the simulated channels do not represent all.
    """

    def __init__(self, workload: Workload, system: System, options: RunOptions):
        self.workload, self.system, self.options = workload, system, options
        self.network = RunNetwork(system, workload.tp)
        self.every_gpu_because: str | None = None
        self._check_chains()
        try:
            self.parts = tuple(map(self._part, options.program.chains))
            self._choose(mirror=options.gpus == "mirror")
            self._check_configurations()
        except ValueError as error:
            raise self.input_error(error) from error
        self._check_ways()

    def _check_ways(self) -> None:
        """Check that there are direct ways for the configurations that store to owners."""
        for name in self.options.configurations:
            evaluated = [CONFIGURATIONS[one] for one in evaluation_order([name])]
            if any(one.stores_to_owners or one.direct for one in evaluated):
                self.network.require_direct(name)
            if any(one.direct for one in evaluated) and self.workload.tp > 1 + MOST_PEERS:
                raise InputError(
                    "configurations",
                    f"{name} exchanges packets with {self.workload.tp - 1} GPUs; allowed: at most "
                    f"the {MOST_PEERS} peers of the hardware",
                )

    def _choose(self, *, mirror: bool) -> None:
        """Choose channels, kernels and GPUs: every GPU if one cannot represent all."""
        self.mirror = mirror
        self._choose_kernels()
        self._check_channels()
        if mirror and (reason := self._why_every_gpu()):
            self.every_gpu_because = reason
            self._choose(mirror=False)

    def _why_every_gpu(self) -> str | None:
        """Find the reason for which one GPU cannot represent all; None if it can."""
        if direct := [one.name for one in self._evaluated if one.direct]:
            return f"packets of {direct[0]} go to all GPUs"
        schedules = [
            self.network.schedule(one.operation, one.algorithm)
            for part in self.parts
            for one in part.chain.collectives
        ]
        if reason := self.network.every_gpu_because(schedules):
            return reason
        alike = all(self._is_symmetric(kernel) for kernel, alone in self._sampled if not alone)
        return None if alike else "their chunks differ"

    @property
    def _sampled(self) -> Iterable[tuple[Kernel, bool]]:
        """Kernels that the simulated channels and GPUs represent; True for a kernel whose output no
        collective moves."""
        for part in self.parts:
            yield from ((kernel, is_alone(part.chain, kernel)) for kernel in part.kernels)
        yield from ((kernel, False) for kernel in self._slices())

    def _slices(self) -> Iterable[Kernel]:
        """Yield the parts of kernels that configurations simulate as launches of their own.

        Raises
        ------
        InputError
            An output has no equal parts.
        """
        for one, part in product(self._evaluated, self.parts):
            if one.launches == 1 or not part.is_simulated(one):
                continue
            for kernel in kernels_of(part.launches_of(one)):
                total = kernel.layout.outer_total
                if total % one.launches:
                    axis = "columns" if kernel.layout.column_major else "rows"
                    raise InputError(
                        "configurations",
                        f"{one.title} cuts the {total} {axis} of an output into {one.launches} "
                        f"equal parts; allowed: a multiple of {one.launches} {axis}, or other "
                        "configurations",
                    )
                yield from equal_slices(kernel, one.launches)

    @property
    def library(self) -> dict[str, str]:
        """Algorithms that the configuration ``library`` runs, by collective; none without it."""
        if LIBRARY not in self.options.configurations:
            return {}
        return {
            one.name: part.choice.algorithm
            if part.choice
            else one.algorithm or self.network.algorithm.name
            for part in self.parts
            for one in part.chain.collectives
        }

    @property
    def gpus(self) -> SimulatedGpus:
        """Simulated GPUs, as the options name them."""
        return "mirror" if self.mirror else "all"

    def _is_symmetric(self, kernel: Kernel) -> bool:
        """Test whether all chunks of a kernel are alike."""
        with suppress(ValueError):
            symmetry(kernel, output_atoms(self.system, kernel, self.channels), self.channels)
            return True
        return False

    def _part(self, chain: Chain) -> Part:
        work = self.options.program.workload_of(chain.gemm, self.workload)
        size = work.m, work.n, work.k, work.tp
        kernel = kernel_of(self.system, *size)
        tracks = self.options.tracks and chain.collectives
        tracked = launches(self.system, *size) if tracks else ()
        consumes = self.options.program.gathered(chain.gemm) is not None
        choice = chain_choice(self.network, chain, work.output_bytes)
        part = Part(chain, kernel, Counter(tracked), choice, consumes=consumes)
        cutting = [one for one in self._evaluated if part.is_simulated(one)]
        part.equal = equal_parts(chain.gemm.name, work, self.system, cutting)
        return part

    @property
    def _evaluated(self) -> list[Configuration]:
        """Configurations that the run evaluates."""
        return [CONFIGURATIONS[name] for name in evaluation_order(self.options.configurations)]

    def _choose_kernels(self) -> None:
        """Choose channels and kernels for the simulated GPUs."""
        system, options = self.system, self.options
        for channels in self._candidates():
            self.channels = channels
            for part in self.parts:
                part.whole = self._extrapolated({part.kernel: 1})
                part.launches = self._extrapolated(part.tracked)
                part.cut = {way: self._extrapolated(one) for way, one in part.equal.items()}
            if all(stands_for_all(system, one, channels, alone=a) for one, a in self._sampled):
                break
        options.buildable(self.channels)
        self.sampling_band = _SAMPLING_BAND if self.channels < system.dram.channels else 0.0

    def _candidates(self) -> Iterable[int]:
        """Numbers of channels, of which the first one that stands for all is simulated.

        They begin with the largest one that takes little work. The RTL engine is built for each
        number of channels, which takes longer than such a simulation, so they begin with the
        smallest one.
        """
        given = self.options.channels_of(self.system)
        if given != "auto":
            return (given,)
        numbers = list(samples(self.system))
        if self.options.engine == "rtl":
            return numbers
        little = [number for number in numbers if self._whole_work(number) <= _LITTLE_WORK]
        return numbers[max(0, len(little) - 1) :]

    def _whole_work(self, channels: int) -> float:
        """Work of a configuration on the largest GEMM as a whole, as SizeChoice counts it."""
        sizes = self._sizes(channels)
        return max(sizes.work(part.kernel) for part in self.parts)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels to simulate, each once; the kernels of a chain's launches on T3 come first."""
        return tuple(dict.fromkeys(one for part in self.parts for one in part.kernels))

    @property
    def launches(self) -> int:
        """Number of launches in which T3 tracks the GEMMs."""
        return sum(count for part in self.parts for count in part.launches.values())

    @property
    def work(self) -> float:
        """Work of a configuration on the largest kernel, as SizeChoice counts it."""
        sizes = self._sizes(self.channels)
        return max(map(sizes.work, self.kernels))

    @property
    def is_extrapolated(self) -> bool:
        """Flag of a plan in which some GEMM is too large to be simulated itself."""
        return any(
            one.smaller
            for part in self.parts
            for counts in (part.whole, part.launches, *part.cut.values())
            for one in counts
        )

    @property
    def simulated(self) -> dict[str, tuple[SimulatedGemm, ...]]:
        """Sizes simulated for the GEMM in one launch, for the launches of T3, and for equal parts
        of the rows, by the way of cutting."""
        named = {
            "whole": [part.whole for part in self.parts],
            "launches": [part.launches for part in self.parts if part.launches],
        }
        for way in dict.fromkeys(way for part in self.parts for way in part.cut):
            named[way] = [part.cut[way] for part in self.parts if way in part.cut]
        return {
            name: tuple(
                SimulatedGemm(m=one.tiling.m, n=one.tiling.n, k=one.tiling.k)
                for counts in each
                for one in kernels_of(counts)
            )
            for name, each in named.items()
            if each
        }

    def input_error(self, error: ValueError) -> InputError:
        """Make an error that names this plan's workload and system, from an error of the model."""
        if isinstance(error, InputError):
            return error
        return InputError(f"{self.workload.title} on {self.system.name}", str(error))

    def _extrapolated(self, launch_counts: Mapping[Kernel, int]) -> LaunchCounts:
        choice = self._sizes(self.channels)
        # GPUs beyond the first one do not make a GEMM longer, which has as many rounds.
        gpus = 1 if self.mirror else self.workload.tp
        most = _MOST_WORK * gpus / max(1, len(launch_counts))
        return {choice.of(kernel, most): count for kernel, count in launch_counts.items()}

    def _sizes(self, channels: int) -> SizeChoice:
        return SizeChoice(
            system=self.system, channels=channels, mirror=self.mirror, network=self.network
        )

    def _check_channels(self) -> None:
        """Check that the simulated channels stand for all."""
        workload, system = self.workload, self.system
        for kernel, alone in self._sampled:
            atoms = output_atoms(system, kernel, self.channels)
            try:
                of = system.dram.channels
                require_output_atoms(kernel, atoms, self.channels, of, alone=alone)
            except ValueError as error:
                title = f"{workload.title} on {system.name}: channels"
                raise InputError(title, str(error)) from error

    def _check_chains(self) -> None:
        """Check that each configuration can run the program."""
        for configuration in self._evaluated:
            for chain in self.options.program.chains:
                configuration.check(self.options.program, chain)

    def _check_configurations(self) -> None:
        """Check that each configuration has CUs and chunks to work with."""
        evaluated = [CONFIGURATIONS[name] for name in self.options.configurations]
        most = max(evaluated, key=lambda one: one.reserved_cus(self.system))
        cus, units = most.reserved_cus(self.system), self.system.gpu.compute_units
        if cus >= units:
            raise InputError(
                "configurations",
                f"{most.title} gives {cus} CUs to the collectives, and leaves none of "
                f"gpu.compute_units = {units} to the GEMM; allowed: fewer than {units}",
            )


def kernels_of(counts: LaunchCounts) -> tuple[Kernel, ...]:
    """Kernels to simulate for some launches, each once."""
    return tuple({kernel: None for one in counts for kernel in one.simulated})
