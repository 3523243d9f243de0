"""Catalogue of the measured columns: key, unit, title and formula of each.

The tables of runs, sweeps, studies and the Python library have these columns.
"""

from dataclasses import dataclass, fields
from operator import attrgetter

from sysmodel.energy.counts import Activity, DramBytes, Energy

from .result import ConfigurationResult, RunResult
from .slots import SlotTimes

__all__ = ["ACTIVITY", "BY_KEY", "DRAM", "ENERGY", "LINK", "TIMES", "Column", "measured"]


@dataclass(frozen=True)
class Column:
    """One measured quantity of a configuration.

    Parameters
    ----------
    key : str
        Name of the column; ends with the unit if there is one.
    unit : str
        ``ns``, ``bytes``, ``J``, ``W``, or ``x`` for a ratio; empty for counts and shares.
    title : str
        Heading for readers, without the unit.
    formula : str
        Definition.
    path : str
        Attribute of the configuration's result, or of the whole run; the key unless given.
    """

    key: str
    unit: str
    title: str
    formula: str
    path: str = ""

    def value(self, one: ConfigurationResult, run: RunResult) -> float | None:
        """Value of a configuration in a run; None if it is not defined."""
        value: float | None = attrgetter(self.path or self.key)(run if self in _RUN else one)
        return int(value) if isinstance(value, bool) else value


def _category(name: str) -> str:
    """Title of a category of traffic: ``gemm_read`` is ``GEMM read``."""
    phase, way = name.split("_")
    return f"{phase.upper()} {way}"


_EVENTS = "from its first to its last event"
TIMES = (
    Column("gemm_ns", "ns", "GEMM", _EVENTS),
    Column("gemm_throttled_ns", "ns", "GEMM throttled", "slots kept empty by flow control, mean"),
    Column("tracker_stall_ns", "ns", "tracker stalls", "channel kept from issuing, mean"),
    Column("rs_ns", "ns", "RS", _EVENTS),
    Column("ag_ns", "ns", "AG", _EVENTS),
    Column("total_ns", "ns", "total", "from the start of the GEMM to the end of the AG"),
    Column("speedup", "x", "speedup", "total of sequential / total"),
    Column("overlapped_communication_ns", "ns", "hidden communication", "RS + AG - exposed"),
    Column("exposed_communication_ns", "ns", "exposed communication", "total - GEMM"),
    Column("gemm_slowdown", "x", "GEMM slowed", "GEMM / GEMM alone"),
    Column("gemm_waiting", "x", "waiting", "GEMM alone with its waits / GEMM alone"),
    Column("gemm_link", "x", "link", "GEMM alone with its waits and the link's / with its waits"),
    Column("gemm_contention", "x", "contention", "GEMM / GEMM alone with all waits"),
)
"""Times, and ratios of times."""

_SLOTS = tuple(
    Column(
        f"gemm_slot_{one.name}", "ns", f"slot, {one.name[:-3]}", "mean", f"gemm_slots.{one.name}"
    )
    for one in fields(SlotTimes)
)
"""Times of a workgroup slot in each of its states."""

DRAM = {
    one.name: Column(
        f"dram_{one.name}_bytes", "bytes", _category(one.name), "one GPU", f"dram_bytes.{one.name}"
    )
    for one in fields(DramBytes)
} | {"total": Column("dram_total_bytes", "bytes", "DRAM total", "sum", "dram_bytes.total")}
"""Traffic of the memory, by field of :class:`~sysmodel.energy.counts.DramBytes`, and its total."""

LINK = {
    name: Column(f"link_{name}_bytes", "bytes", title, "sent by one GPU", f"link_bytes.{name}")
    for name, title in (
        ("rs", "link RS"),
        ("ag", "link AG"),
        ("rs_overhead", "link RS, headers"),
        ("ag_overhead", "link AG, headers"),
    )
}
"""Traffic of the link, by field of :class:`~sysmodel.energy.counts.LinkBytes`."""

_RUN = (
    Column("gemm_efficiency", "", "GEMM efficiency", "GEMM alone: flop / time / peak"),
    Column("simulated_channels", "", "simulated channels", "number", "channels"),
    Column("simulated_share", "", "simulated share", "simulated products / products"),
    Column("launches", "", "launches", "launches in which T3 tracks the GEMM"),
    Column("extrapolated", "", "extrapolated", "1 if smaller GEMMs were simulated instead"),
)
"""Quantities that all configurations of a run have in common."""

ACTIVITY = {
    one.name: Column(
        one.name, "", one.name.replace("_", " "), "events of one GPU", f"activity.{one.name}"
    )
    for one in fields(Activity)
}
"""Other events, by field of :class:`~sysmodel.energy.counts.Activity`."""

ENERGY = {
    one.name: Column(
        f"energy_{one.name}_j", "J", one.name.replace("_", " "), "one GPU", f"energy_j.{one.name}"
    )
    for one in fields(Energy)
} | {"total": Column("energy_total_j", "J", "energy", "sum of the parts")}
"""Energies, by field of :class:`~sysmodel.energy.counts.Energy`, and their sum."""

BY_KEY = {
    one.key: one
    for one in (
        *(*TIMES, *_SLOTS, *DRAM.values(), *LINK.values(), *_RUN),
        *(*ACTIVITY.values(), *ENERGY.values()),
        Column("energy_reduction", "", "energy saved", "1 - energy / energy of sequential"),
        Column("t3_power_w", "W", "T3's power", "energy of the T3 hardware / total"),
    )
}
"""All columns, by key, in the order of the tables."""


def measured(result: RunResult) -> dict[str, dict[str, float | None]]:
    """Values of all columns, by configuration and key."""
    return {
        name: {key: column.value(one, result) for key, column in BY_KEY.items()}
        for name, one in result.configurations.items()
    }
