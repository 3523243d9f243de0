"""Result of one configuration, by activity of the program."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sysmodel.energy.counts import DramBytes, Energy, Events, LinkBytes

from .program.program import Program
from .slots import SlotTimes

__all__ = ["RATIOS", "ConfigurationResult", "GemmTimes"]

RATIOS = ("slowdown", "waiting", "link", "contention")
"""Ratios of a :class:`GemmTimes`."""

_TOTALS = (
    *("total_ns", "speedup", "speedup_over_rival"),
    *("overlapped_communication_ns", "exposed_communication_ns"),
)
_ENERGIES = ("energy_total_j", "energy_reduction", "t3_power_w")


@dataclass(frozen=True, kw_only=True)
class GemmTimes:
    """Course of one GEMM in one configuration.

    Attributes
    ----------
    throttled_ns : float
        Part of the GEMM's time in which T3's flow control kept workgroup slots empty, averaged over
        the slots. The other slots of a CU then run faster, so the GEMM loses less than this.
    slots : SlotTimes
        Times of a workgroup slot by state while the GEMM lasts, averaged over the slots.
    slowdown : float
        GEMM time over the time of the GEMM alone: the product of waiting, link and contention.
    waiting : float
        Time of the GEMM alone with the waits of this configuration's flow control before each
        workgroup, over the time of the GEMM alone without waits.
    link : float
        Time of the GEMM alone whose workgroups, in addition, keep their slots for as long as the
        link makes their stores wait here, over the time with the waits for flow control only.
    contention : float
        GEMM time over the time of the GEMM alone with all these waits.
    """

    throttled_ns: float = 0.0
    slots: SlotTimes = SlotTimes()
    slowdown: float = 1.0
    waiting: float = 1.0
    link: float = 1.0
    contention: float = 1.0

    @classmethod
    def from_times(
        cls,
        *,
        ns: float,
        alone_ns: float,
        throttled_ns: float = 0.0,
        slots: SlotTimes | None = None,
        withheld_ns: float | None = None,
        held_ns: float | None = None,
    ) -> "GemmTimes":
        """Derive the ratios from the measured times.

        ``withheld_ns`` is the time of the GEMM alone with the waits for flow control, and
        ``held_ns`` the time with the waits for the link as well; None if there were none.
        """
        withheld_ns = alone_ns if withheld_ns is None else withheld_ns
        held_ns = withheld_ns if held_ns is None else held_ns
        return cls(
            throttled_ns=throttled_ns,
            slots=slots or SlotTimes(),
            slowdown=ns / alone_ns,
            waiting=withheld_ns / alone_ns,
            link=held_ns / withheld_ns,
            contention=ns / held_ns,
        )


@dataclass(frozen=True, kw_only=True)
class ConfigurationResult:
    """Times, bytes and energy of one configuration.

    Attributes
    ----------
    ns : mapping
        Time of each activity by name, from its own first to its own last event; activities may
        overlap.
    gemms : mapping
        Course of each GEMM by name.
    tracker_stall_ns : float
        Time in which the tracker kept a memory channel from issuing, averaged over the channels.
    total_ns : float
        Time from the first activity's start to the last one's end.
    speedup : float or None
        Total time of ``sequential`` over the total time of this configuration; None if
        ``sequential`` is not known.
    speedup_over_rival : float or None
        Total time of the fastest rival of the run over the total time of this configuration; None
        if no rival is known.
    overlapped_communication_ns, exposed_communication_ns : float
        Time of the collectives that the GEMMs hide, and that adds to their time.
    dram_bytes : DramBytes
        Memory traffic of one whole GPU.
    link_bytes : LinkBytes
        Bytes that one whole GPU sends.
    events : Events
        Other events of one whole GPU.
    energy_j : Energy
        Energy of one whole GPU; ``docs/energy.md`` lists the parts that are left out.
    energy_total_j : float
        Sum of its parts.
    energy_reduction : float or None
        Saved share of the energy of ``sequential``; None if ``sequential`` is not known.
    t3_power_w : float
        Power of the T3 hardware: its part of ``energy_j`` over ``total_ns``.
    chosen : mapping
        What the configuration chose for an activity, in words, by the activity's name.
    """

    ns: Mapping[str, float]
    gemms: Mapping[str, GemmTimes]
    tracker_stall_ns: float
    total_ns: float
    speedup: float | None
    speedup_over_rival: float | None
    overlapped_communication_ns: float
    exposed_communication_ns: float
    dram_bytes: DramBytes
    link_bytes: LinkBytes
    events: Events
    energy_j: Energy
    energy_total_j: float
    energy_reduction: float | None
    t3_power_w: float
    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_times(
        cls,
        *,
        program: Program,
        ns: Mapping[str, float],
        gemms: Mapping[str, GemmTimes],
        tracker_stall_ns: float = 0.0,
        total_ns: float,
        sequential_ns: float | None,
        rival_ns: float | None,
        dram_bytes: DramBytes,
        link_bytes: LinkBytes,
        events: Events,
        energy_j: Energy,
        sequential_j: float | None,
        chosen: Mapping[str, str] | None = None,
    ) -> "ConfigurationResult":
        """Derive the other quantities from the measured ones.

        Raises
        ------
        ValueError
            The total is shorter than the GEMMs or than the collectives, or longer than all of them.
        """
        gemm_ns = sum(ns[one.name] for one in program.gemms)
        communication_ns = sum(ns[one.name] for one in program.collectives)
        slack = 1e-6 * total_ns  # sums of rounded times
        least, most = max(gemm_ns, communication_ns), gemm_ns + communication_ns
        if not least - slack <= total_ns <= most + slack:
            raise ValueError(
                "total_ns must be between the longer of the sums of the GEMMs' and the "
                f"collectives' times ({least!r}) and both sums ({most!r}), not {total_ns!r}"
            )
        exposed = total_ns - gemm_ns
        return cls(
            ns=ns,
            gemms=gemms,
            tracker_stall_ns=tracker_stall_ns,
            total_ns=total_ns,
            speedup=None if sequential_ns is None else sequential_ns / total_ns,
            speedup_over_rival=None if rival_ns is None else rival_ns / total_ns,
            overlapped_communication_ns=max(0.0, communication_ns - exposed),
            exposed_communication_ns=exposed,
            dram_bytes=dram_bytes,
            link_bytes=link_bytes,
            events=events,
            energy_j=energy_j,
            energy_total_j=energy_j.total,
            energy_reduction=None if sequential_j is None else 1 - energy_j.total / sequential_j,
            t3_power_w=energy_j.t3 / (total_ns * 1e-9),
            chosen=chosen or {},
        )

    def exposed_ns(self, program: Program) -> dict[str, float]:
        """Part of the exposed communication by operation; a later operation has as much of it as it
        lasts."""
        left = self.exposed_communication_ns
        operations = [one.operation for one in program.in_order_collectives]
        found: dict[str, float] = {}
        for operation in reversed([*dict.fromkeys(operations)][1:]):
            each = (self.ns[one.name] for one in program.collectives if one.operation == operation)
            found[operation] = min(sum(each), left)
            left -= found[operation]
        return {one: found.get(one, left) for one in operations}

    def as_dict(self) -> dict[str, Any]:
        """Content for ``result.json``: values of an activity have keys that begin with its name."""
        times: dict[str, Any] = {}
        for name, gemm in self.gemms.items():
            times[f"{name}_ns"] = self.ns[name]
            times[f"{name}_throttled_ns"] = gemm.throttled_ns
            times[f"{name}_slots"] = asdict(gemm.slots)
        times["tracker_stall_ns"] = self.tracker_stall_ns
        times |= {f"{name}_ns": ns for name, ns in self.ns.items() if name not in self.gemms}
        for name in _TOTALS:
            times[name] = getattr(self, name)
        for name, gemm in self.gemms.items():
            times |= {f"{name}_{ratio}": getattr(gemm, ratio) for ratio in RATIOS}
        return {
            **times,
            "dram_bytes": self.dram_bytes.as_dict(),
            "link_bytes": self.link_bytes.as_dict(),
            "activity": self.events.as_dict(),
            "energy_j": asdict(self.energy_j),
            **{name: getattr(self, name) for name in _ENERGIES},
            **({"chosen": dict(self.chosen)} if self.chosen else {}),
        }
