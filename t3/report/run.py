"""Page of a run."""

import pandas as pd

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import Expanded, Operation, expanded
from sysmodel.runs.bounds import bounds
from sysmodel.runs.columns import Column, catalogue
from sysmodel.runs.program.activities import title_of
from sysmodel.runs.result import RunResult

from .bars import bars_chart
from .document import MISSING, Section, Table, table_of
from .energy import energy_chart, energy_table
from .html import interactive_page
from .roofline import roofline_chart
from .schedule import schedule_chart
from .traffic import traffic_chart
from .units import unit_of

__all__ = ["run_page"]

_TOTALS = ("overlapped_communication_ns", "exposed_communication_ns", "total_ns")
_LINK_TIME = {
    "link": "link sends",
    "receiver": "waits: receiver",
    "memory": "waits: memory",
    "ports": "waits: ports",
    "latency": "waits: latency",
    "idle": "idle",
}
_HALVES: tuple[Operation, ...] = ("reduce-scatter", "all-gather")  # names of their spans
_MOST_GPUS = 16  # most that fit into a picture


def run_page(result: RunResult) -> str:
    """HTML of a finished run: times, their bounds, energy, traffic over time, and the chunks on
    their way."""
    system, options = result.system, result.options
    sections = [
        Section(
            title="Times",
            text="Hidden communication runs while the GEMM does; exposed communication comes on "
            f"top of it. {result.fastest_rival} is the fastest rival, of sequential and the "
            "configurations that GPUs of today can run.",
            table=_times(result),
            chart=bars_chart(result),
        )
    ]
    sections += _bounds(result)
    sections.append(
        Section(
            title="Energy",
            text="Dynamic energy of one GPU, without the energy of the GEMM on the CUs. The board "
            f"of the GPU takes up to {system.gpu.board_power_w:,g} W.",
            table=energy_table(result),
            chart=energy_chart(result),
        )
    )
    if result.timelines:
        sections += [_traffic(result), *_schedule(result)]
    introduction = (
        f"{system.description}. {options.engine} engine, {result.channels} of "
        f"{system.dram.channels} memory channels simulated."
    )
    return interactive_page(f"{result.title} on {system.name}", introduction, sections)


def _bounds(result: RunResult) -> list[Section]:
    """Roofline, bounds and workgroup slots, of the configurations with a timeline."""
    found = bounds(result)
    if not found:
        return []
    rows = [
        {"configuration": one.configuration, "phase": one.phase}
        | {f"{name} busy": f"{share:.0%}" for name, share in one.busy.items()}
        | {_LINK_TIME[state]: f"{share:.0%}" for state, share in one.link_time.items()}
        | {"bound by:": one.by}
        for one in found
    ]
    gemms = [title_of(one.name) for one in result.program.gemms]
    roofline = Section(
        title="Roofline",
        text="The rate of each GEMM, over the flop that it does for each byte that the memory "
        "moves meanwhile, for GEMM and communication together. Dashed: the rate at which the "
        "pipes can issue.",
        chart=roofline_chart(result),
    )
    return [
        *([roofline] if any(one.phase in gemms for one in found) else []),
        Section(
            title="Bounds",
            text="How busy pipes, memory and link are during a phase, and the state of the link "
            "meanwhile: it sends; or the channels wait for a place in the receiver's buffer, for "
            "the memory, for the compute units' ports, or for packets in flight (latency); or no "
            "access is outstanding (idle).",
            table=table_of(pd.DataFrame(rows).fillna("").set_index(["configuration", "phase"])),
        ),
        Section(
            title="Workgroup slots of the GEMM",
            text="Shares of their time. On the pipes a workgroup computes, or waits for another "
            "one that computes; l2 and memory name the source from which the last data of a step "
            "came.",
            table=table_of(_slots(result)),
        ),
    ]


def _times(result: RunResult) -> Table:
    unit = unit_of("ns", max(one.total_ns for one in result.configurations.values()))
    columns = _time_columns(result)
    rows = [
        [
            name,
            *(unit.text(column.value(name, result) or 0.0) for column in columns),
            *(
                MISSING if ratio is None else f"{ratio:.3f}x"
                for ratio in (one.speedup, one.speedup_over_rival)
            ),
        ]
        for name, one in result.configurations.items()
    ]
    titles = [f"{column.title} ({unit.name})" for column in columns]
    rival = f"speedup over {result.fastest_rival}"
    return Table(["configuration:", *titles, "speedup", rival], rows)


def _time_columns(result: RunResult) -> list[Column]:
    """Times of the activities, and the totals."""
    columns = catalogue(result.program).by_key
    return [columns[key] for key in (*(f"{name}_ns" for name in result.program.names), *_TOTALS)]


def _slots(result: RunResult) -> pd.DataFrame:
    several = len(result.program.gemms) > 1
    return _by_configuration(
        {
            f"{name}, {title_of(gemm)}" if several else name: {
                state: f"{share:.0%}" for state, share in times.slots.shares.items()
            }
            for name, one in result.configurations.items()
            for gemm, times in one.gemms.items()
        }
    )


def _by_configuration(rows: dict[str, dict[str, str]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("configuration")


def _traffic(result: RunResult) -> Section:
    all_channels = result.system.dram.channels
    scaled = f", scaled from {result.channels} of {all_channels} channels" if result.scaled else ""
    return Section(
        title="Traffic over time",
        text=f"One GPU{scaled}. Pick a configuration; drag to zoom, double-click to go back.",
        chart=traffic_chart(
            result.timelines,
            memory_gb_per_s=result.system.dram_bytes_per_ns,
            link_gb_per_s=max(
                one.link_gb_per_s or result.system.link.bandwidth_gb_per_s
                for one in result.timelines.values()
            ),
        ),
    )


def _schedule(result: RunResult) -> list[Section]:
    """Section on the chunks' ways, for the first of ``t3-critical``, ``t3-mca`` and ``t3`` that was
    simulated.
    """
    preferred = [name for name in ("t3-critical", "t3-mca", "t3") if name in result.timelines]
    name = preferred[0] if preferred else next(iter(result.timelines))
    gpus, timeline = result.workload.tp, result.timelines[name]
    schedules = _schedules(result, None if name not in preferred else "ring")
    moves = any(one.name in schedules for one in timeline.spans)
    if gpus > _MOST_GPUS or not moves:
        return []
    return [
        Section(
            title="Chunks on their way",
            text="Each mark is a chunk that a GPU sends to another one, as the schedule of the "
            "collective says. It moves as fast as the simulated link moves bytes.",
            chart=schedule_chart(timeline, schedules, gpus, name),
        )
    ]


def _schedules(result: RunResult, default: str | None) -> dict[str, Expanded]:
    """Schedules by the names of their spans; none if spans of several have one name, or if chunks
    go several ways. ``default`` is the algorithm of a collective that names none; None for the
    library's."""
    found: dict[str, Expanded] = {}
    for one in result.program.collectives:
        known = algorithm(one.algorithm or default or result.network.algorithm.name)
        for half in _HALVES if one.operation == "all-reduce" else (one.operation,):
            if half in found or half not in known.operations:
                return {}
            found[half] = expanded(known.schedule(half, result.workload.tp))
            if found[half].parts > 1:
                return {}
    return found
