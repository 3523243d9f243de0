"""What bounds each phase of a run: what the GEMM's workgroup slots spend their time on, what the
link waits for, and how busy memory and link are."""

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

_WAITS = 0.05  # of the GEMM's time, from which on flow control is said to bound it
_CONTENDS = 0.1  # likewise the accesses beside it
_TOGETHER = 0.1  # of the RS's time: it ends with the GEMM that feeds it


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One phase of one configuration.

    Attributes
    ----------
    configuration, phase : str
        The phase is ``GEMM``, ``RS`` or ``AG``.
    start_ns, end_ns : float
        The time in which the shares are measured: all of the phase, but of an RS that outlasts its
        GEMM, what comes after it.
    busy : dict
        Mean share of the peak at which ``pipes`` (the GEMM's only; of what they can issue),
        ``memory`` and ``link`` go.
    link_time : dict
        Shares of the link's rate: used, or every channel sends (``link``); what is not used goes in
        equal parts to what the channels that do not send wait for, the first that holds: room at
        the ``receiver``; the ``memory``, for reads, or for writes while none of what follows holds;
        the compute units' ``ports``, for a collective's loads and stores; packets that are on their
        way (``latency``). Or nothing is under way, as while kernels and commands start (``idle``).
    by : str
        Of the GEMM what its workgroup slots spend most of their time on: ``pipes``, ``memory``,
        ``l2``, ``lds``, ``stores``, ``launch``, or ``empty`` where most have no workgroup; or
        ``flow control``, if that keeps workgroups waiting, or ``contention``, if accesses beside
        the GEMM slow it. Of RS and AG what most of ``link_time`` is, or ``GEMM``: the RS ends with
        the GEMM that feeds it.
    """

    configuration: str
    phase: str
    start_ns: float
    end_ns: float
    busy: dict[str, float]
    link_time: dict[str, float]
    by: str


def bounds(result: "RunResult") -> list[Bound]:
    """Those of every configuration that was simulated as a whole, whose timeline there is."""
    found: list[Bound] = []
    for name, timeline in result.timelines.items():
        if name in result.configurations:
            found += _of_configuration(result, name, timeline)
    return found


def _of_configuration(result: "RunResult", name: str, timeline: Timeline) -> Iterator[Bound]:
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
        found = bound("GEMM", times["GEMM"][0], _of_gemm(one) or _most(one.gemm_slots.shares))
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
    """From the first begin to the last end of what belongs to a phase."""
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
    """Of a rate between two times, each sample weighed by how much of it lies between them."""
    begins = np.arange(len(samples)) * bucket_ns
    inside = np.clip(np.minimum(begins + bucket_ns, end_ns) - np.maximum(begins, start_ns), 0, None)
    return float(inside @ samples / (end_ns - start_ns)) if end_ns > start_ns else 0.0


def _of_gemm(one: "ConfigurationResult") -> str | None:
    """What beside the GEMM itself makes it take longer, if that is much."""
    waits, contends = one.gemm_waiting - 1, one.gemm_contention - 1
    if waits >= _WAITS and waits >= contends:
        return "flow control"
    return "contention" if contends >= _CONTENDS else None


def _link_time(timeline: Timeline, start_ns: float, end_ns: float) -> dict[str, float]:
    return {
        what: _mean(timeline.series[WIRE_SERIES.format(what)], timeline.bucket_ns, start_ns, end_ns)
        for what in WIRE_STATES
    }


def _most(shares: Mapping[str, float]) -> str:
    return max(shares, key=lambda what: shares[what])
