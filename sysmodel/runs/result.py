"""Results of a run."""

from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sysmodel.config.notices import notices
from sysmodel.config.workload import Workload
from sysmodel.energy.counts import Activity, DramBytes, Energy, LinkBytes

from .comparison import slower, spreads
from .options import RunOptions, SimulatedGpus
from .slots import SlotTimes

if TYPE_CHECKING:
    from sysmodel.config.system import System

    from .sampling_error import SamplingError
    from .timeline import Timeline

__all__ = ["ConfigurationResult", "RunResult", "SimulatedGemm"]


@dataclass(frozen=True, kw_only=True)
class ConfigurationResult:
    """Times, bytes and energy of one configuration.

    Attributes
    ----------
    gemm_ns, rs_ns, ag_ns : float
        Time of each phase, from its own first to its own last event; phases may overlap.
    gemm_throttled_ns : float
        Part of ``gemm_ns`` in which T3's flow control kept workgroup slots empty, averaged over the
        slots. The other slots of a CU then run faster, so the GEMM loses less than this.
    gemm_slots : SlotTimes
        Times of a workgroup slot by state while the GEMM lasts, averaged over the slots.
    tracker_stall_ns : float
        Time in which the tracker kept a memory channel from issuing, averaged over the channels.
    total_ns : float
        Time from the GEMM's start to the all-gather's end.
    speedup : float or None
        Total time of ``sequential`` over the total time of this configuration; None if
        ``sequential`` is not known.
    overlapped_communication_ns, exposed_communication_ns : float
        Communication (RS and AG) that the GEMM hides, and that adds to its time.
    gemm_slowdown : float
        GEMM time over the time of the GEMM alone: the product of waiting, link and contention.
    gemm_waiting : float
        Time of the GEMM alone with the waits of this configuration's flow control before each
        workgroup, over the time of the GEMM alone without waits.
    gemm_link : float
        Time of the GEMM alone whose workgroups, in addition, keep their slots for as long as the
        link makes their stores wait here, over the time with the waits for flow control only.
    gemm_contention : float
        GEMM time over the time of the GEMM alone with all these waits.
    dram_bytes : DramBytes
        Memory traffic of one whole GPU.
    link_bytes : LinkBytes
        Bytes that one whole GPU sends.
    activity : Activity
        Other events of one whole GPU.
    energy_j : Energy
        Energy of one whole GPU; ``docs/energy.md`` lists the parts that are left out.
    energy_total_j : float
        Sum of its parts.
    energy_reduction : float or None
        Saved share of the energy of ``sequential``; None if ``sequential`` is not known.
    t3_power_w : float
        Power of the T3 hardware: its part of ``energy_j`` over ``total_ns``.
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
    gemm_link: float
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
        held_gemm_ns: float | None = None,
        sequential_ns: float | None,
        dram_bytes: DramBytes,
        link_bytes: LinkBytes,
        activity: Activity,
        energy_j: Energy,
        sequential_j: float | None,
    ) -> "ConfigurationResult":
        """Derive the other quantities from the measured ones.

        ``withheld_gemm_ns`` is the time of the GEMM alone with the waits for flow control, and
        ``held_gemm_ns`` the time with the waits for the link as well; None if there were none.

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
        withheld_ns = isolated_gemm_ns if withheld_gemm_ns is None else withheld_gemm_ns
        held_ns = withheld_ns if held_gemm_ns is None else held_gemm_ns
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
            gemm_waiting=withheld_ns / isolated_gemm_ns,
            gemm_link=held_ns / withheld_ns,
            gemm_contention=gemm_ns / held_ns,
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
    sampling_band : float
        Share by which a speedup may differ from that of the whole; 0 without a reason for one.
    sampling_errors : tuple of SamplingError
        Estimates of the sampling's error, where they were made.
    launches : int
        Launches in which T3 tracks the GEMM, each with its own reduce-scatter and all-gather: more
        than one if a chunk of the output exceeds the tracker's window.
    simulated : dict
        GEMMs simulated for configurations with one launch (``whole``) and for those with T3's
        launches (``launches``), each once.
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
    gemm_efficiency : float
        Rate of the GEMM alone, as a share of the GPU's peak.
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
    gemm_efficiency: float
    cycles: int
    wall_s: float
    varied: tuple[dict[str, ConfigurationResult], ...] = ()
    sampling_errors: "tuple[SamplingError, ...]" = ()
    timelines: "dict[str, Timeline]" = field(default_factory=dict)

    @property
    def repetitions(self) -> tuple[dict[str, ConfigurationResult], ...]:
        """Results of every repetition."""
        return self.configurations, *self.varied

    @property
    def simulated_share(self) -> float:
        """Smallest share of the products that was simulated, in one launch or in T3's."""
        work = self.workload.m * self.workload.n * self.workload.k
        parts = self.simulated.values()
        return min(1.0, *(sum(one.m * one.n * one.k for one in of) / work for of in parts))

    @property
    def scaled(self) -> tuple[str, ...]:
        """Values of a configuration that are scaled from the simulated channels to all; all other
        counts of a whole GPU follow from the sizes.
        """
        if self.channels == self.system.dram.channels:
            return ()
        # Results that stay in the L2 do not reach the memory.
        cached = () if self.system.l2.flush_at_kernel_end else ("gemm_write", "rs_read", "ag_read")
        return (*(f"dram_bytes.{name}" for name in ("gemm_read", *cached)), "activity", "energy_j")

    @property
    def cycles_per_s(self) -> float:
        return self.cycles / self.wall_s

    def as_dict(self) -> dict[str, Any]:
        """Content of ``result.json``, keys in a fixed order."""
        from .bounds import bounds  # here, because bounds reads results

        work = asdict(self.workload)
        return {
            "workload": {**work, "output_bytes": self.workload.output_bytes},
            "system": self.system.model_dump(mode="json"),
            "notices": notices(self.system),
            "engine": self.options.engine,
            "channels": self.channels,
            "sampling_band": self.sampling_band,
            "sampling_errors": [asdict(one) for one in self.sampling_errors],
            "scaled": list(self.scaled),
            "gpus": self.gpus,
            "launches": self.launches,
            "extrapolated": self.extrapolated,
            "simulated": {
                name: [asdict(one) for one in parts] for name, parts in self.simulated.items()
            },
            "configurations": {name: asdict(one) for name, one in self.configurations.items()},
            "repetitions": [one.as_dict() for one in spreads(self.repetitions)],
            "slower": [asdict(one) for one in slower(self.repetitions, self.sampling_band)],
            "bounds": [asdict(one) for one in bounds(self)],
            "gemm_efficiency": self.gemm_efficiency,
            "cycles": self.cycles,
            "wall_s": self.wall_s,
            "cycles_per_s": self.cycles_per_s,
            "seed": self.options.seed,
            "version": version("t3"),
        }
