"""What a run is asked for and what it gives."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sysmodel.config.notices import notices
from sysmodel.config.workload import Workload
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes
from sysmodel.lib.errors import InputError

from .comparison import slower, spreads
from .configurations import registry
from .slots import SlotTimes

if TYPE_CHECKING:
    from sysmodel.config.system import System

    from .timeline import Timeline

__all__ = [
    "CONFIGURATIONS",
    "DEFAULT_CONFIGURATIONS",
    "ENGINES",
    "GPUS",
    "ConfigurationResult",
    "EngineName",
    "RunOptions",
    "RunResult",
    "SimulatedGemm",
    "SimulatedGpus",
]

EngineName = Literal["rtl", "golden"]
SimulatedGpus = Literal["mirror", "all"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
GPUS: tuple[SimulatedGpus, ...] = get_args(SimulatedGpus)
CONFIGURATIONS = tuple(name for name, one in registry.CONFIGURATIONS.items() if one.listed)
DEFAULT_CONFIGURATIONS = tuple(name for name, one in registry.CONFIGURATIONS.items() if one.default)
# Amaranth numbers 65,535 bits of a module's inputs, and a channel of the whole has 280.
_MOST_RTL_CHANNELS = 128
_LARGEST_WAVES = 1_000_000
_LARGEST_SEED = (1 << 32) - 1
_MOST_REPETITIONS = 1000


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a workload is simulated.

    Parameters
    ----------
    engine : str
        ``rtl``, the compiled hardware, or ``golden``, the model in Numba.
    channels : int, "auto" or "all"
        Memory channels that are simulated; with a uniform interleave a few stand for all. ``auto``
        takes the fewest that do.
    gpus : str
        ``mirror``: one GPU, whose egress feeds its own ingress, stands for all; or ``all``.
    configurations : tuple of str
        Some of ``CONFIGURATIONS``, each once.
    waves : tuple of int or None
        First and last memory cycle of a waveform; the RTL engine only.
    waves_file : Path or None
        Where the waveform goes.
    seed : int
        Of everything random.
    repeat : int
        Repetitions: the machine as it is, then with what a real machine varies.

    Raises
    ------
    InputError
        A value that is not allowed.
    """

    engine: EngineName = "rtl"
    channels: int | Literal["auto", "all"] = "auto"
    gpus: SimulatedGpus = "mirror"
    configurations: tuple[str, ...] = DEFAULT_CONFIGURATIONS
    waves: tuple[int, int] | None = None
    waves_file: Path | None = None
    seed: int = 0
    repeat: int = 1

    def __post_init__(self) -> None:
        _one_of("engine", self.engine, ENGINES)
        _one_of("gpus", self.gpus, GPUS)
        if self.channels not in ("auto", "all") and (
            not isinstance(self.channels, int) or self.channels < 1
        ):
            raise InputError(
                "channels", f"{self.channels!r} is not allowed; allowed: 1 or more, auto, or all"
            )
        if not self.configurations:
            raise InputError(
                "configurations", f"none given; allowed: some of {', '.join(CONFIGURATIONS)}"
            )
        for name in self.configurations:
            _one_of("configurations", name, CONFIGURATIONS)
        if len(set(self.configurations)) < len(self.configurations):
            raise InputError("configurations", "each may be named once")
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InputError(
                "seed", f"{self.seed} is not allowed; allowed: an integer from 0 to {_LARGEST_SEED}"
            )
        if not 1 <= self.repeat <= _MOST_REPETITIONS:
            raise InputError(
                "repeat",
                f"{self.repeat} is not allowed; allowed: an integer from 1 to {_MOST_REPETITIONS}",
            )
        if self.waves is not None:
            first, last = self.waves
            if not 0 <= first < last <= first + _LARGEST_WAVES:
                raise InputError(
                    "waves",
                    f"{first}:{last} is not allowed; allowed: A:B with 0 <= A < B, "
                    f"at most {_LARGEST_WAVES} cycles",
                )
            if self.engine != "rtl":
                raise InputError("waves", "a waveform needs --engine rtl")

    def channels_of(self, system: "System") -> int | Literal["auto"]:
        """Channels of a system to simulate, if it was said how many.

        Raises
        ------
        InputError
            The system has fewer, they are a part of channels that share their command buses, or the
            engine has no hardware for so many.
        """
        most, together = system.dram.channels, system.dram.pseudo_channels
        if self.channels == "auto":
            return "auto"
        if self.channels == "all":
            return self.buildable(most)
        if self.channels > most or self.channels % together:
            multiple = (
                f"{together} to {most} in steps of {together}" if together > 1 else f"1 to {most}"
            )
            raise InputError(
                "channels",
                f"{self.channels} is not allowed; allowed: {multiple} (dram.channels of "
                f"{system.name}), auto, or all",
            )
        return self.buildable(self.channels)

    def buildable(self, channels: int) -> int:
        """So many channels, if the engine can have them.

        Raises
        ------
        InputError
            The RTL engine's hardware would have more of them than can be built.
        """
        if self.engine == "rtl" and channels > _MOST_RTL_CHANNELS:
            raise InputError(
                "channels",
                f"{channels} are not allowed with the RTL engine; allowed: up to "
                f"{_MOST_RTL_CHANNELS}, or the golden engine, which has the same cycles",
            )
        return channels


def _one_of(field_name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(field_name, f"{value!r} is not allowed; allowed: {', '.join(allowed)}")


@dataclass(frozen=True, kw_only=True)
class ConfigurationResult:
    """One configuration's times, bytes and energy.

    Attributes
    ----------
    gemm_ns, rs_ns, ag_ns : float
        Each from its own first to its own last event; they may overlap.
    gemm_throttled_ns : float
        Part of ``gemm_ns`` in which T3's flow control kept workgroup slots empty, averaged over the
        slots. The others of a CU run the faster for it, so it is not what the GEMM loses.
    gemm_slots : SlotTimes
        What a workgroup slot does or waits for while the GEMM lasts, averaged over the slots.
    tracker_stall_ns : float
        Time in which the tracker kept a memory channel from issuing, averaged over the channels.
    total_ns : float
        From the GEMM's start to the all-gather's end.
    speedup : float or None
        Over ``sequential``; None if that was not run.
    overlapped_communication_ns, exposed_communication_ns : float
        Communication (RS and AG) that the GEMM hides, and that comes on top of it.
    gemm_slowdown : float
        GEMM time over that of the GEMM alone: waiting times contention.
    gemm_waiting : float
        Time of the GEMM alone whose dispatcher waits as long before each workgroup as flow control
        makes it wait here, over that of the GEMM alone.
    gemm_contention : float
        GEMM time over that of the GEMM alone with these waits.
    dram_bytes : DramBytes
        Of one whole GPU.
    link_bytes : LinkBytes
        That one whole GPU sends.
    activity : Activity
        Other events of one whole GPU.
    energy_j : Energy
        Of one whole GPU; see ``docs/energy.md`` for what is not counted.
    energy_total_j : float
        Sum of its parts.
    energy_reduction : float or None
        Share of the energy of ``sequential`` that is saved; None if that was not run.
    t3_power_w : float
        Of the T3 hardware, averaged over ``total_ns``: its part of ``energy_j``.
    """

    gemm_ns: float
    gemm_throttled_ns: float
    gemm_slots: SlotTimes
    tracker_stall_ns: float
    rs_ns: float
    ag_ns: float
    total_ns: float
    speedup: float | None
    overlapped_communication_ns: float
    exposed_communication_ns: float
    gemm_slowdown: float
    gemm_waiting: float
    gemm_contention: float
    dram_bytes: DramBytes
    link_bytes: LinkBytes
    activity: Activity
    energy_j: Energy
    energy_total_j: float
    energy_reduction: float | None
    t3_power_w: float

    @classmethod
    def from_times(
        cls,
        *,
        gemm_ns: float,
        gemm_throttled_ns: float = 0.0,
        gemm_slots: SlotTimes | None = None,
        tracker_stall_ns: float = 0.0,
        rs_ns: float,
        ag_ns: float,
        total_ns: float,
        isolated_gemm_ns: float,
        withheld_gemm_ns: float | None = None,
        sequential_ns: float | None,
        dram_bytes: DramBytes,
        link_bytes: LinkBytes,
        activity: Activity,
        energy_j: Energy,
        sequential_j: float | None,
    ) -> "ConfigurationResult":
        """Derive what follows from what was measured.

        ``withheld_gemm_ns`` is the time of the GEMM alone with the waits for flow control; None if
        there were none.

        Raises
        ------
        ValueError
            The total is shorter than the GEMM or than RS and AG, or longer than all three.
        """
        slack = 1e-6 * total_ns  # sums of rounded times
        least, most = max(gemm_ns, rs_ns + ag_ns), gemm_ns + rs_ns + ag_ns
        if not least - slack <= total_ns <= most + slack:
            raise ValueError(
                f"total_ns must be between the longer of gemm_ns and rs_ns + ag_ns ({least!r}) "
                f"and their sum ({most!r}), not {total_ns!r}"
            )
        exposed = total_ns - gemm_ns
        with_waits_ns = isolated_gemm_ns if withheld_gemm_ns is None else withheld_gemm_ns
        return cls(
            gemm_ns=gemm_ns,
            gemm_throttled_ns=gemm_throttled_ns,
            gemm_slots=gemm_slots or SlotTimes(),
            tracker_stall_ns=tracker_stall_ns,
            rs_ns=rs_ns,
            ag_ns=ag_ns,
            total_ns=total_ns,
            speedup=None if sequential_ns is None else sequential_ns / total_ns,
            overlapped_communication_ns=max(0.0, rs_ns + ag_ns - exposed),
            exposed_communication_ns=exposed,
            gemm_slowdown=gemm_ns / isolated_gemm_ns,
            gemm_waiting=with_waits_ns / isolated_gemm_ns,
            gemm_contention=gemm_ns / with_waits_ns,
            dram_bytes=dram_bytes,
            link_bytes=link_bytes,
            activity=activity,
            energy_j=energy_j,
            energy_total_j=energy_j.total,
            energy_reduction=None if sequential_j is None else 1 - energy_j.total / sequential_j,
            t3_power_w=energy_j.t3 / (total_ns * 1e-9),
        )

    @property
    def exposed_ag_ns(self) -> float:
        return min(self.ag_ns, self.exposed_communication_ns)

    @property
    def exposed_rs_ns(self) -> float:
        return self.exposed_communication_ns - self.exposed_ag_ns


@dataclass(frozen=True, kw_only=True)
class SimulatedGemm:
    """Size of a GEMM that was simulated."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A finished run.

    Attributes
    ----------
    channels : int
        Memory channels simulated.
    launches : int
        In which T3 tracks the GEMM, each with a reduce-scatter and an all-gather of its own: more
        than one where a chunk of the output exceeds the tracker's window.
    simulated : dict
        The GEMMs simulated for configurations with one launch, ``whole``, and for those with T3's,
        ``launches``; of equal ones, one.
    extrapolated : bool
        Smaller ones stand for some that are too large, whose times and bytes follow from theirs.
    configurations : dict
        Results of the machine as it is.
    varied : tuple of dict
        Those of each further repetition.
    cycles : int
        Memory cycles simulated, all configurations and repetitions together.
    wall_s : float
        Time that the simulation took, without building the engine.
    gemm_efficiency : float
        Of the GEMM alone, as a share of the GPU's peak.
    timelines : dict
        For some or all configurations.
    """

    workload: Workload
    system: "System"
    options: RunOptions
    channels: int
    launches: int
    simulated: dict[str, tuple[SimulatedGemm, ...]]
    extrapolated: bool
    configurations: dict[str, ConfigurationResult]
    gemm_efficiency: float
    cycles: int
    wall_s: float
    varied: tuple[dict[str, ConfigurationResult], ...] = ()
    timelines: "dict[str, Timeline]" = field(default_factory=dict)

    @property
    def repetitions(self) -> tuple[dict[str, ConfigurationResult], ...]:
        """Results of every repetition."""
        return self.configurations, *self.varied

    @property
    def simulated_share(self) -> float:
        """Share of the products that was simulated, at least in either way to launch them."""
        work = self.workload.m * self.workload.n * self.workload.k
        parts = self.simulated.values()
        return min(1.0, *(sum(one.m * one.n * one.k for one in of) / work for of in parts))

    @property
    def cycles_per_s(self) -> float:
        return self.cycles / self.wall_s

    def as_dict(self) -> dict[str, Any]:
        """Content of ``result.json``, keys in a fixed order."""
        # They take their time, for which the help of a command shall not wait.
        from importlib.metadata import version

        from .bounds import bounds

        work = asdict(self.workload)
        return {
            "workload": {**work, "output_bytes": self.workload.output_bytes},
            "system": self.system.model_dump(mode="json"),
            "notices": notices(self.system),
            "engine": self.options.engine,
            "channels": self.channels,
            "gpus": self.options.gpus,
            "launches": self.launches,
            "extrapolated": self.extrapolated,
            "simulated": {
                name: [asdict(one) for one in parts] for name, parts in self.simulated.items()
            },
            "configurations": {name: asdict(one) for name, one in self.configurations.items()},
            "repetitions": [one.as_dict() for one in spreads(self.repetitions)],
            "slower": [asdict(one) for one in slower(self.repetitions)],
            "bounds": [asdict(one) for one in bounds(self)],
            "gemm_efficiency": self.gemm_efficiency,
            "cycles": self.cycles,
            "wall_s": self.wall_s,
            "cycles_per_s": self.cycles_per_s,
            "seed": self.options.seed,
            "version": version("t3"),
        }
