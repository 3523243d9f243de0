"""Results of a run."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sysmodel.config.notices import notices
from sysmodel.config.workload import Workload

from .comparison import slower, spreads
from .configuration_result import ConfigurationResult
from .options import RunOptions, SimulatedGpus
from .program.files import default_program
from .program.program import Program

if TYPE_CHECKING:
    from sysmodel.config.system import System

    from .run_network import RunNetwork
    from .sampling_error import SamplingError
    from .timeline import Timeline

__all__ = ["RunResult", "SimulatedGemm"]


@dataclass(frozen=True, kw_only=True)
class SimulatedGemm:
    """Size of a simulated GEMM."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Result of a run.

    Attributes
    ----------
    channels : int
        Simulated memory channels.
    gpus : str
        Simulated GPUs: ``mirror`` or ``all``.
    every_gpu_because : str or None
        Reason for which every GPU is simulated although the options do not ask for it.
    sampling_band : float
        Share by which a speedup may differ from that of the whole; 0 without a reason for one.
    sampling_errors : tuple of SamplingError
        Estimates of the sampling's error, where they were made.
    library : dict
        Algorithms of the configuration ``library`` by collective; empty without it.
    launches : int
        Launches in which T3 tracks the program's GEMMs, each with its own reduce-scatter and
        all-gather: more than one for a GEMM if a chunk of its output exceeds the tracker's window.
    simulated : dict
        GEMMs simulated for configurations with one launch (``whole``), for those with T3's launches
        (``launches``), and for those that cut the rows into ``halves`` or a part for each of the
        ``owners``, each once.
    extrapolated : bool
        Times and bytes of a GEMM that is too large to simulate follow from smaller ones.
    configurations : dict
        Results of the first repetition, by name.
    varied : tuple of dict
        Results of each further repetition, by configuration.
    cycles : int
        Memory cycles simulated in all configurations and repetitions together.
    wall_s : float
        Time that the simulation took, without building the engine.
    fastest_rival : str
        Rival with the shortest total time in the first repetition; ``sequential`` counts, although
        the options may not name it.
    rivals_left_out : dict
        Reason for which a rival is not among the configurations by default; empty if the options
        name the configurations.
    efficiencies : dict
        Rate of each GEMM alone, as a share of the GPU's peak.
    timelines : dict
        Timelines of the simulated configurations, by name.
    """

    workload: Workload
    system: "System"
    options: RunOptions
    channels: int
    gpus: SimulatedGpus
    sampling_band: float
    launches: int
    simulated: dict[str, tuple[SimulatedGemm, ...]]
    extrapolated: bool
    configurations: dict[str, ConfigurationResult]
    fastest_rival: str
    efficiencies: dict[str, float]
    cycles: int
    wall_s: float
    every_gpu_because: str | None = None
    varied: tuple[dict[str, ConfigurationResult], ...] = ()
    sampling_errors: "tuple[SamplingError, ...]" = ()
    library: dict[str, str] = field(default_factory=dict)
    rivals_left_out: dict[str, str] = field(default_factory=dict)
    timelines: "dict[str, Timeline]" = field(default_factory=dict)

    @cached_property
    def network(self) -> "RunNetwork":
        """Links between the GPUs, and the library's schedules."""
        from .run_network import RunNetwork  # imports Numba

        return RunNetwork(self.system, self.workload.tp)

    @property
    def program(self) -> Program:
        """Program of the run."""
        return self.options.program

    @property
    def title(self) -> str:
        """Title of the workload, with the program unless it is the usual one."""
        title = self.workload.title
        named = self.program != default_program()
        return f"{title}, program {self.program.name}" if named else title

    @property
    def repetitions(self) -> tuple[dict[str, ConfigurationResult], ...]:
        """Results of every repetition."""
        return self.configurations, *self.varied

    @property
    def simulated_share(self) -> float:
        """Smallest share of the products that was simulated, in one launch or in T3's."""
        chains = self.program.chains
        tracked = [one.gemm for one in chains if one.collectives]
        gemms = {"whole": self.program.gemms, "launches": tracked}
        shares = []
        for name in gemms.keys() & self.simulated.keys():
            parts = self.simulated[name]
            works = [self.program.workload_of(one, self.workload) for one in gemms[name]]
            simulated = sum(one.m * one.n * one.k for one in parts)
            shares.append(simulated / sum(one.m * one.n * one.k for one in works))
        return min(1.0, *shares)

    @property
    def scaled(self) -> tuple[str, ...]:
        """Values of a configuration that are scaled from the simulated channels to all; all other
        counts of a whole GPU follow from the sizes.
        """
        if self.channels == self.system.dram.channels:
            return ()
        names = [f"{one.name}_read" for one in self.program.gemms]
        if not self.system.l2.flush_at_kernel_end:
            # Results that stay in the L2 do not reach the memory.
            names += [f"{one.name}_write" for one in self.program.gemms]
            names += [f"{one.name}_read" for one in self.program.collectives]
        return (*(f"dram_bytes.{name}" for name in names), "activity", "energy_j")

    @property
    def cycles_per_s(self) -> float:
        return self.cycles / self.wall_s

    def as_dict(self) -> dict[str, Any]:
        """Content of ``result.json``, keys in a fixed order."""
        from .bounds import bounds  # here, because bounds reads results

        work = asdict(self.workload)
        return {
            "workload": {**work, "output_bytes": self.workload.output_bytes},
            "program": self.program.as_dict(),
            "system": self.system.model_dump(mode="json"),
            "notices": notices(self.system),
            "engine": self.options.engine,
            "channels": self.channels,
            "sampling_band": self.sampling_band,
            "sampling_errors": [asdict(one) for one in self.sampling_errors],
            "scaled": list(self.scaled),
            "gpus": self.gpus,
            "every_gpu_because": self.every_gpu_because,
            "network": self.network.as_dict() | ({"library": self.library} if self.library else {}),
            "launches": self.launches,
            "extrapolated": self.extrapolated,
            "simulated": {
                name: [asdict(one) for one in parts] for name, parts in self.simulated.items()
            },
            "configurations": {name: one.as_dict() for name, one in self.configurations.items()},
            "fastest_rival": self.fastest_rival,
            "rivals_left_out": self.rivals_left_out,
            "repetitions": [one.as_dict() for one in spreads(self.repetitions)],
            "slower": [asdict(one) for one in slower(self.repetitions, self.sampling_band)],
            "bounds": [asdict(one) for one in bounds(self)],
            **{f"{name}_efficiency": share for name, share in self.efficiencies.items()},
            "cycles": self.cycles,
            "wall_s": self.wall_s,
            "cycles_per_s": self.cycles_per_s,
            "seed": self.options.seed,
            "version": version("t3"),
        }
