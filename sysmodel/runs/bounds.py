"""Bounds of each phase of a run: the states of the GEMM's workgroup slots and of the link, and the
shares of their peaks at which memory and link run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.machine.wire import WIRE_STATES

from .samples import WIRE_SERIES
from .timeline import Timeline

if TYPE_CHECKING:
    from .result import ConfigurationResult, RunResult

__all__ = ["Bound", "bounds"]

# Least shares of the GEMM's time with which an external influence bounds the GEMM.
_LEAST = {"flow control": 0.05, "link": 0.05, "contention": 0.1}
_TOGETHER = 0.1  # an RS that outlasts its GEMM by less of its own time ends with the GEMM


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Bound of one phase of one configuration.

    Attributes
    ----------
    configuration, phase : str
        The phase is ``GEMM``, ``RS`` or ``AG``.
    start_ns, end_ns : float
        Time in which the shares are measured: the whole phase; or, for an RS that outlasts its
        GEMM, the time after the GEMM.
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
        waiting, or ``contention``, if concurrent accesses slow the GEMM. For RS and AG the most
        frequent state in ``link_time``, or ``GEMM`` if the RS ends with the GEMM that feeds it.
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

    def bound(phase: str, begin_ns: float, by: str | None) -> Bound:
        end_ns = times[phase][1]
        link_time = _link_time(timeline, begin_ns, end_ns)
        return Bound(
            configuration=name,
            phase=phase,
            start_ns=begin_ns,
            end_ns=end_ns,
            busy=_rates(result, timeline, begin_ns, end_ns),
            link_time=link_time,
            by=by or _most(link_time),
        )

    if "GEMM" in times:
        found = bound("GEMM", times["GEMM"][0], _disturbance(one) or _most(one.gemm_slots.shares))
        issue_rate = result.system.gpu.matrix_issue_rate
        pipes = result.gemm_efficiency / one.gemm_slowdown / issue_rate
        yield replace(found, busy={"pipes": pipes, **found.busy})
    if "RS" in times:
        start, end = times["RS"]
        gemm_end = times.get("GEMM", (0.0, 0.0))[1]
        if start < gemm_end and end - gemm_end <= _TOGETHER * (end - start):
            yield bound("RS", start, "GEMM")
        else:
            yield bound("RS", max(start, gemm_end), None)
    if "AG" in times:
        yield bound("AG", times["AG"][0], None)


def _times(timeline: Timeline) -> dict[str, tuple[float, float]]:
    """First start and last end of the spans of each phase."""
    names = {"reduce-scatter": "RS", "all-gather": "AG"}
    times: dict[str, tuple[float, float]] = {}
    for span in timeline.spans:
        phase = "GEMM" if span.track == "GEMM" else names.get(span.name)
        if phase is not None:
            start, end = times.get(phase, (span.start_ns, span.end_ns))
            times[phase] = min(start, span.start_ns), max(end, span.end_ns)
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
    peaks = {"memory": system.dram_bytes_per_ns, "link": system.link.bandwidth_gb_per_s}
    return {name: rate / peaks[name] for name, rate in moved.items()}


def _mean(samples: np.ndarray, bucket_ns: float, start_ns: float, end_ns: float) -> float:
    """Mean rate between two times; each sample is weighted with its part between them."""
    begins = np.arange(len(samples)) * bucket_ns
    inside = np.clip(np.minimum(begins + bucket_ns, end_ns) - np.maximum(begins, start_ns), 0, None)
    return float(inside @ samples / (end_ns - start_ns)) if end_ns > start_ns else 0.0


def _disturbance(one: "ConfigurationResult") -> str | None:
    """Influence from outside that makes the GEMM take much longer, if there is one."""
    factors = one.gemm_waiting, one.gemm_link, one.gemm_contention
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
