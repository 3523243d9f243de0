"""The page of a run."""

import pandas as pd

from sysmodel.runs.bounds import bounds
from sysmodel.runs.result import RunResult

from .page import Section, page
from .ring import ring_figure
from .times import times_figure
from .traffic import traffic_figure

__all__ = ["run_page"]

_TIMES = {
    "gemm_ns": "GEMM",
    "rs_ns": "RS",
    "ag_ns": "AG",
    "overlapped_communication_ns": "hidden",
    "exposed_communication_ns": "exposed",
    "total_ns": "total",
}
_LINK_TIME = {
    "link": "link sends",
    "receiver": "waits: receiver",
    "memory": "waits: memory",
    "ports": "waits: ports",
    "latency": "waits: latency",
    "idle": "idle",
}
_MOST_GPUS = 16  # that a picture of the ring has room for


def run_page(result: RunResult) -> str:
    """HTML of a finished run: times, what bounds them, traffic over time, and the ring."""
    system, options = result.system, result.options
    sections = [
        Section(
            name="times",
            title="Times",
            text="In µs. Hidden is communication that runs while the GEMM does, exposed what comes "
            "on top of it.",
            figure=times_figure(result),
            table=_times(result),
        )
    ]
    if found := bounds(result):
        rows = [
            {"configuration": one.configuration, "phase": one.phase}
            | {f"{name} busy": f"{share:.0%}" for name, share in one.busy.items()}
            | {_LINK_TIME[what]: f"{share:.0%}" for what, share in one.link_time.items()}
            | {"bound by": one.by}
            for one in found
        ]
        sections.append(
            Section(
                name="bounds",
                title="What bounds it",
                text="How busy pipes, memory and link are while a phase lasts, and what the link "
                "does meanwhile: its rate is used; or not, since the channels wait for room in the "
                "receiver's buffer, for the memory, for the compute units' ports, or for packets "
                "that are on their way (latency), or nothing is under way (idle).",
                table=pd.DataFrame(rows).fillna("").set_index(["configuration", "phase"]),
            )
        )
        sections.append(
            Section(
                name="slots",
                title="Where the time of the GEMM's workgroup slots goes",
                text="On the pipes a workgroup computes, or waits for another one that does; "
                "l2 and memory are what its data came from last.",
                table=_slots(result),
            )
        )
    if result.timelines:
        sections.append(_traffic(result))
        sections += _ring(result)
    about = (
        f"{system.description}. {options.engine} engine, {result.channels} of "
        f"{system.dram.channels} memory channels simulated."
    )
    return page(f"{result.workload.title} on {system.name}", about, sections)


def _times(result: RunResult) -> pd.DataFrame:
    rows = {}
    for name, one in result.configurations.items():
        rows[name] = {shown: f"{getattr(one, key) / 1e3:,.1f}" for key, shown in _TIMES.items()}
        rows[name]["speedup"] = "-" if one.speedup is None else f"{one.speedup:.3f}x"
    return pd.DataFrame.from_dict(rows, orient="index")


def _slots(result: RunResult) -> pd.DataFrame:
    rows = {
        name: {what: f"{share:.0%}" for what, share in one.gemm_slots.shares.items()}
        for name, one in result.configurations.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _traffic(result: RunResult) -> Section:
    return Section(
        name="traffic",
        title="Traffic over time",
        text="Of one GPU. Pick a configuration; drag to zoom, double-click to go back.",
        figure=traffic_figure(
            result.timelines,
            memory_gb_per_s=result.system.dram_bytes_per_ns,
            link_gb_per_s=result.system.link.bandwidth_gb_per_s,
        ),
    )


def _ring(result: RunResult) -> list[Section]:
    """Of the configuration with the most to see."""
    asked = [name for name in ("t3-critical", "t3-mca", "t3") if name in result.timelines]
    name = asked[0] if asked else next(iter(result.timelines))
    gpus, timeline = result.workload.tp, result.timelines[name]
    collective = any(one.name == "reduce-scatter" for one in timeline.spans)
    if gpus > _MOST_GPUS or not collective:
        return []
    return [
        Section(
            name="ring",
            title="The ring",
            text="Each mark is the chunk that a GPU sends to the one below it. It moves as the "
            "link was seen to move bytes.",
            figure=ring_figure(timeline, gpus, name),
        )
    ]
