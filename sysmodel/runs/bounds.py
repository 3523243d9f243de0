"""Bounds of each activity of a run: the states of a GEMM's workgroup slots and of the link, and the
shares of their peaks at which memory and link run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.machine.wire import WIRE_STATES

from .configuration_result import GemmTimes
from .program.activities import Activity, Collective, Gemm, title_of
from .samples import WIRE_SERIES
from .timeline import Timeline

if TYPE_CHECKING:
    from .result import RunResult

__all__ = ["Bound", "bounds"]

# Least shares of the GEMM's time with which an external influence bounds the GEMM.
_LEAST = {"flow control": 0.05, "link": 0.05, "contention": 0.1}
_TOGETHER = 0.1  # a collective that outlasts its GEMM by less of its own time ends with the GEMM


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Bound of one activity of one configuration.

    Attributes
    ----------
    configuration, phase : str
        The phase is the activity's title: ``GEMM``, ``RS`` or ``AG`` of the usual program.
    start_ns, end_ns : float
        Time in which the shares are measured: the whole activity; or, for a collective that runs
        beside the GEMM that feeds it and outlasts it, the time after the GEMM.
    busy : dict
        Mean shares of their peaks at which ``pipes`` (for the GEMM; of the rate at which they can
        issue), ``memory`` and ``link`` run.
    link_time : dict
        Shares of the link's rate by state. ``link``: used, or every channel sends. The unused rate
        goes in equal parts to the channels that do not send, each in the first state that holds:
        ``receiver``, it waits for space there; ``memory``, for reads, or for writes while no later
        state holds; ``ports``, for loads and stores of a collective at the compute units;
        ``latency``, for packets in flight; ``idle``, no access is outstanding, as while kernels and
        commands start.
    by : str
        Bound. For the GEMM the most frequent state of its workgroup slots: ``pipes``, ``memory``,
        ``l2``, ``lds``, ``stores``, ``launch``, or ``empty`` if most slots have no workgroup; or
        ``flow control``, if that keeps workgroups waiting, ``link``, if that keeps their stores
        waiting, or ``contention``, if concurrent accesses slow the GEMM. For a collective the most
        frequent state in ``link_time``, or the GEMM's title if it ends with the GEMM that feeds it.
    """

    configuration: str
    phase: str
    start_ns: float
    end_ns: float
    busy: dict[str, float]
    link_time: dict[str, float]
    by: str


def bounds(result: "RunResult") -> list[Bound]:
    """Bounds of every configuration with a timeline."""
    found: list[Bound] = []
    for name, timeline in result.timelines.items():
        if name in result.configurations:
            found += _bounds_of(result, name, timeline)
    return found


def _bounds_of(result: "RunResult", name: str, timeline: Timeline) -> Iterator[Bound]:
    one = result.configurations[name]
    times = _times(timeline)

    def bound(activity: Activity, begin_ns: float, by: str | None) -> Bound:
        end_ns = times[activity.name][1]
        link_time = _link_time(timeline, begin_ns, end_ns)
        return Bound(
            configuration=name,
            phase=title_of(activity.name),
            start_ns=begin_ns,
            end_ns=end_ns,
            busy=_rates(result, timeline, begin_ns, end_ns),
            link_time=link_time,
            by=by or _most(link_time),
        )

    for activity in result.program.activities:
        if activity.name not in times:
            continue
        start, end = times[activity.name]
        if isinstance(activity, Gemm):
            gemm = one.gemms[activity.name]
            found = bound(activity, start, _disturbance(gemm) or _most(gemm.slots.shares))
            issue_rate = result.system.gpu.matrix_issue_rate
            pipes = result.efficiencies[activity.name] / gemm.slowdown / issue_rate
            yield replace(found, busy={"pipes": pipes, **found.busy})
            continue
        source, gemm_end = _source(result, activity, times)
        if start < gemm_end and end - gemm_end <= _TOGETHER * (end - start):
            yield bound(activity, start, source)
        else:
            yield bound(activity, max(start, gemm_end), None)


def _source(
    result: "RunResult", activity: Collective, times: Mapping[str, tuple[float, float]]
) -> tuple[str, float]:
    """Title and end of the GEMM that feeds a collective, if a GEMM does and if the end is known."""
    is_gemm = activity.of in (one.name for one in result.program.gemms)
    end = times[activity.of][1] if is_gemm and activity.of in times else 0.0
    return title_of(activity.of), end


def _times(timeline: Timeline) -> dict[str, tuple[float, float]]:
    """First start and last end of the spans of each activity."""
    times: dict[str, tuple[float, float]] = {}
    for span in timeline.spans:
        if span.activity:
            start, end = times.get(span.activity, (span.start_ns, span.end_ns))
            times[span.activity] = min(start, span.start_ns), max(end, span.end_ns)
    return times


def _rates(
    result: "RunResult", timeline: Timeline, start_ns: float, end_ns: float
) -> dict[str, float]:
    """Shares of the peaks of memory and link between two times."""
    moved = {"memory": 0.0, "link": 0.0}
    for name, samples in timeline.series.items():
        if name.endswith("(bytes/ns)"):
            moved["link" if name.startswith("link") else "memory"] += _mean(
                samples, timeline.bucket_ns, start_ns, end_ns
            )
    system = result.system
    link_gb_per_s = timeline.link_gb_per_s or system.link.bandwidth_gb_per_s
    peaks = {"memory": system.dram_bytes_per_ns, "link": link_gb_per_s}
    return {name: rate / peaks[name] for name, rate in moved.items()}


def _mean(samples: np.ndarray, bucket_ns: float, start_ns: float, end_ns: float) -> float:
    """Mean rate between two times; each sample is weighted with its part between them."""
    begins = np.arange(len(samples)) * bucket_ns
    inside = np.clip(np.minimum(begins + bucket_ns, end_ns) - np.maximum(begins, start_ns), 0, None)
    return float(inside @ samples / (end_ns - start_ns)) if end_ns > start_ns else 0.0


def _disturbance(one: GemmTimes) -> str | None:
    """Influence from outside that makes the GEMM take much longer, if there is one."""
    factors = one.waiting, one.link, one.contention
    added = {name: factor - 1 for name, factor in zip(_LEAST, factors, strict=True)}
    most = _most(added)
    return most if added[most] >= _LEAST[most] else None


def _link_time(timeline: Timeline, start_ns: float, end_ns: float) -> dict[str, float]:
    return {
        state: _mean(
            timeline.series[WIRE_SERIES.format(state)], timeline.bucket_ns, start_ns, end_ns
        )
        for state in WIRE_STATES
    }


def _most(shares: Mapping[str, float]) -> str:
    return max(shares, key=lambda state: shares[state])
