"""Catalogue of the measured columns: key, unit, title and formula of each.

The tables of runs, sweeps, studies and the Python library have these columns. Those of an activity
have keys that begin with its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any

from sysmodel.energy.counts import Energy, Events

from .program.activities import title_of
from .program.files import default_program
from .program.program import Program
from .result import RunResult
from .slots import SlotTimes

__all__ = ["SUBLAYER", "Catalogue", "Column", "catalogue", "columns_of", "measured"]


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
    path : tuple of str
        Attributes of the configuration's result, or of the whole run, and keys of mappings, which
        lead to the value; the key unless given.
    of_run : bool
        All configurations of a run have the value in common.
    """

    key: str
    unit: str
    title: str
    formula: str
    path: tuple[str, ...] = ()
    of_run: bool = False

    def value(self, name: str, run: RunResult) -> float | None:
        """Value of a configuration in a run; None if it is not defined."""
        value: Any = run if self.of_run else run.configurations[name]
        for part in self.path or (self.key,):
            value = value[part] if isinstance(value, Mapping) else getattr(value, part)
        return int(value) if isinstance(value, bool) else value


@dataclass(frozen=True)
class Catalogue:
    """Columns of a program.

    Attributes
    ----------
    times : tuple of Column
        Times, and ratios of times.
    slots : tuple of Column
        Times of a workgroup slot of each GEMM in each of its states.
    dram, link : dict
        Traffic of memory and links by category, such as ``rs_read`` and ``rs_overhead``; ``total``
        of the memory.
    run : tuple of Column
        Quantities that all configurations of a run have in common.
    events, energy : dict
        Other events, and energies, by their names in :class:`~sysmodel.energy.counts.Events` and
        :class:`~sysmodel.energy.counts.Energy`; ``total`` of the energies.
    """

    times: tuple[Column, ...]
    slots: tuple[Column, ...]
    dram: Mapping[str, Column]
    link: Mapping[str, Column]
    run: tuple[Column, ...]
    events: Mapping[str, Column]
    energy: Mapping[str, Column]

    @cached_property
    def by_key(self) -> dict[str, Column]:
        """All columns, by key, in the order of the tables."""
        return {
            one.key: one
            for one in (
                *(*self.times, *self.slots, *self.dram.values(), *self.link.values(), *self.run),
                *(*self.events.values(), *self.energy.values(), *_SAVED),
            )
        }


_SAVED = (
    Column("energy_reduction", "", "energy saved", "1 - energy / energy of sequential"),
    Column("t3_power_w", "W", "T3's power", "energy of the T3 hardware / total"),
)
_EVENTS = "from its first to its last event"


@cache
def catalogue(program: Program) -> Catalogue:
    """Columns of a program's runs."""
    return Catalogue(
        times=tuple(_times(program)),
        slots=tuple(_slots(program)),
        dram=_dram(program),
        link=_link(program),
        run=tuple(_run(program)),
        events=_events(program),
        energy=_energies(),
    )


def columns_of(programs: Iterable[Program]) -> dict[str, Column]:
    """Columns of some programs by key, each once."""
    found: dict[str, Column] = {}
    for program in dict.fromkeys(programs):
        found |= {key: one for key, one in catalogue(program).by_key.items() if key not in found}
    return found


def measured(result: RunResult) -> dict[str, dict[str, float | None]]:
    """Values of all columns, by configuration and key."""
    columns = catalogue(result.program).by_key
    return {
        name: {key: column.value(name, result) for key, column in columns.items()}
        for name in result.configurations
    }


def _sum(titles: Iterable[str]) -> str:
    return " + ".join(titles)


def _times(program: Program) -> Iterator[Column]:
    gemms = [one.name for one in program.gemms]
    collectives = [one.name for one in program.collectives]
    for name in gemms:
        title = title_of(name)
        yield Column(f"{name}_ns", "ns", title, _EVENTS, ("ns", name))
        waits = "slots kept empty by flow control, mean"
        path = ("gemms", name, "throttled_ns")
        yield Column(f"{name}_throttled_ns", "ns", f"{title} throttled", waits, path)
    yield Column("tracker_stall_ns", "ns", "tracker stalls", "channel kept from issuing, mean")
    for name in collectives:
        yield Column(f"{name}_ns", "ns", title_of(name), _EVENTS, ("ns", name))
    all_gemms, communication = (_sum(map(title_of, names)) for names in (gemms, collectives))
    first, last = (title_of(program.in_order[place].name) for place in (0, -1))
    whole = f"from the start of the {first} to the end of the {last}"
    yield Column("total_ns", "ns", "total", whole)
    yield Column("speedup", "x", "speedup", "total of sequential / total")
    rival = "total of the run's fastest rival / total"
    yield Column("speedup_over_rival", "x", "over the fastest rival", rival)
    hidden = f"{communication or 0} - exposed"
    yield Column("overlapped_communication_ns", "ns", "hidden communication", hidden)
    exposed = f"total - {all_gemms if len(gemms) == 1 else f'({all_gemms})'}"
    yield Column("exposed_communication_ns", "ns", "exposed communication", exposed)
    for name in gemms:
        yield from _ratios(name, title_of(name), alone=len(gemms) == 1)


def _ratios(name: str, title: str, *, alone: bool) -> Iterator[Column]:
    """Yield the ratios of a GEMM; ``alone``, if it is the only one, whose title need not be in
    theirs."""
    prefix = "" if alone else f"{title} "
    formulas = {
        "slowdown": (f"{title} slowed", f"{title} / {title} alone"),
        "waiting": (f"{prefix}waiting", f"{title} alone with its waits / {title} alone"),
        "link": (
            f"{prefix}link",
            f"{title} alone with its waits and the link's / with its waits",
        ),
        "contention": (f"{prefix}contention", f"{title} / {title} alone with all waits"),
    }
    for ratio, (heading, formula) in formulas.items():
        yield Column(f"{name}_{ratio}", "x", heading, formula, ("gemms", name, ratio))


def _slots(program: Program) -> Iterator[Column]:
    for gemm in program.gemms:
        whose = "slot" if len(program.gemms) == 1 else f"{title_of(gemm.name)} slot"
        for one in fields(SlotTimes):
            yield Column(
                f"{gemm.name}_slot_{one.name}",
                "ns",
                f"{whose}, {one.name[:-3]}",
                "mean",
                ("gemms", gemm.name, "slots", one.name),
            )


def _dram(program: Program) -> dict[str, Column]:
    found = {
        f"{name}_{way}": Column(
            f"dram_{name}_{way}_bytes",
            "bytes",
            f"{title_of(name)} {way}",
            "one GPU",
            ("dram_bytes", way, name),
        )
        for name in program.names
        for way in ("read", "write")
    }
    total = Column("dram_total_bytes", "bytes", "DRAM total", "sum", ("dram_bytes", "total"))
    return {**found, "total": total}


def _link(program: Program) -> dict[str, Column]:
    sent, names = "sent by one GPU", [one.name for one in program.collectives]
    found = {}
    for kind, ending, words in (("payload", "", ""), ("overhead", "_overhead", ", headers")):
        for name in names:
            key, title = f"link_{name}{ending}_bytes", f"link {title_of(name)}{words}"
            found[f"{name}{ending}"] = Column(key, "bytes", title, sent, ("link_bytes", kind, name))
    return found


def _run(program: Program) -> Iterator[Column]:
    for one in program.gemms:
        key, title = f"{one.name}_efficiency", title_of(one.name)
        formula = f"{title} alone: flop / time / peak"
        path = ("efficiencies", one.name)
        yield Column(key, "", f"{title} efficiency", formula, path, of_run=True)
    for key, title, formula, attribute in (
        ("simulated_channels", "simulated channels", "number", "channels"),
        ("simulated_share", "simulated share", "simulated products / products", ""),
        ("launches", "launches", "launches in which T3 tracks the GEMM", ""),
        ("extrapolated", "extrapolated", "1 if smaller GEMMs were simulated instead", ""),
    ):
        yield Column(key, "", title, formula, (attribute or key,), of_run=True)


def _events(program: Program) -> dict[str, Column]:
    paths: dict[str, tuple[str, ...]] = {}
    for one in fields(Events):
        if one.name == "updates":
            paths |= {f"{name}_updates": ("updates", name) for name in program.updaters}
        else:
            paths[one.name] = (one.name,)
    return {
        key: Column(key, "", key.replace("_", " "), "events of one GPU", ("events", *path))
        for key, path in paths.items()
    }


def _energies() -> dict[str, Column]:
    found = {
        one.name: Column(
            f"energy_{one.name}_j",
            "J",
            one.name.replace("_", " "),
            "one GPU",
            ("energy_j", one.name),
        )
        for one in fields(Energy)
    }
    return {**found, "total": Column("energy_total_j", "J", "energy", "sum of the parts")}


SUBLAYER = catalogue(default_program())
"""Columns of the usual program."""
