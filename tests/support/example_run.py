"""Finished run with plausible numbers, for tests of reports."""

import numpy as np

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload
from sysmodel.energy.counts import DramBytes, Energy, Events, LinkBytes
from sysmodel.machine.wire import WIRE_STATES
from sysmodel.runs.configuration_result import ConfigurationResult, GemmTimes
from sysmodel.runs.options import RunOptions
from sysmodel.runs.result import RunResult, SimulatedGemm
from sysmodel.runs.samples import WIRE_SERIES
from sysmodel.runs.slots import SlotTimes
from sysmodel.runs.timeline import Span, Timeline

__all__ = ["example_result", "example_timeline"]

_GEMM, _SLOWED, _RS, _AG = 1_530_000.0, 1_594_000.0, 415_000.0, 410_000.0


def example_timeline() -> Timeline:
    time = np.arange(500)
    return Timeline(
        bucket_ns=4096.0,
        series={
            "DRAM queue (entries)": 20 + 10 * np.sin(time / 9),
            "link (bytes/ns)": np.where(time % 40 < 30, 150.0, 0.0),
            **{WIRE_SERIES.format(what): np.full(500, 1 / 6) for what in WIRE_STATES},
        },
        spans=[
            Span("stage 1", "GEMM stages", 0.0, 90e3, "gemm"),
            Span("stage 2", "GEMM stages", 85e3, 170e3, "gemm"),
            Span("reduce-scatter", "communication", 20e3, 1.6e6, "rs"),
        ],
    )


_EVENTS = Events(
    activates=1000,
    updates={"gemm": 2000, "rs": 3000},
    dma_reads=4000,
    cu_loads=5000,
    cu_stores=6000,
    cu_additions=7000,
    tiles=8000,
    flip_flop_clocks=9000,
)


def _energy(factor: float) -> Energy:
    return Energy(**{name: factor * 1e-3 for name in Energy.__dataclass_fields__})


def example_result(
    workload: Workload | None = None, options: RunOptions | None = None
) -> RunResult:
    """Return a result with the bytes of the paper's table and invented times."""
    workload = workload or workload_of("t-nlg", "fc2", 8)
    options = options or RunOptions()
    gpus, chunk = workload.tp, workload.output_bytes // workload.tp
    sequential = _GEMM + _RS + _AG
    totals = {
        "sequential": (_GEMM, sequential),
        **{name: (_SLOWED, sequential) for name in ("cu-split-8", "cu-split-16", "two-batch")},
        "t3": (_SLOWED * 1.06, _SLOWED * 1.06 + 60e3 + _AG),
        "t3-mca": (_SLOWED, _SLOWED + 9e3 + _AG),
        "t3-critical": (_SLOWED, _SLOWED + 6e3 + _AG),
        "ideal-overlap": (_GEMM, _GEMM + _AG),
        "ideal-rs-nmc": (_GEMM, _GEMM + _AG),
    }
    results = {}
    for name in options.configurations:
        gemm_ns, total_ns = totals[name]
        fused = name.startswith("t3")
        results[name] = ConfigurationResult.from_times(
            program=options.program,
            ns={"gemm": gemm_ns, "rs": _RS, "ag": _AG},
            gemms={
                "gemm": GemmTimes.from_times(
                    ns=gemm_ns,
                    alone_ns=_GEMM,
                    slots=SlotTimes(pipes_ns=0.8 * gemm_ns, memory_ns=0.2 * gemm_ns),
                )
            },
            total_ns=total_ns,
            sequential_ns=sequential if "sequential" in options.configurations else None,
            rival_ns=sequential if "sequential" in options.configurations else None,
            dram_bytes=DramBytes(
                read={
                    "gemm": 610_000_000 if fused else 890_000_000,
                    "rs": chunk * (gpus - 2 if fused else 2 * gpus - 1),
                    "ag": chunk * (gpus - 1),
                },
                write={
                    "gemm": chunk * (gpus - 1 if fused else gpus),
                    "rs": chunk * (gpus - 1 if fused else gpus),
                    "ag": chunk * (gpus - 1),
                },
            ),
            link_bytes=LinkBytes(
                payload=dict.fromkeys(("rs", "ag"), chunk * (gpus - 1)),
                overhead=dict.fromkeys(("rs", "ag"), 0),
            ),
            events=_EVENTS,
            energy_j=_energy(1.0 if fused else 1.25),
            sequential_j=_energy(1.25).total if "sequential" in options.configurations else None,
        )
    simulated = (SimulatedGemm(m=workload.m, n=workload.n, k=workload.k),)
    return RunResult(
        workload=workload,
        system=load_system(),
        options=options,
        channels=1,
        gpus="mirror",
        sampling_band=0.03,
        launches=1,
        simulated={"whole": simulated, "launches": simulated},
        extrapolated=False,
        configurations=results,
        fastest_rival="sequential",
        efficiencies={"gemm": 0.851},
        cycles=11_000_000,
        wall_s=14.2,
        timelines={
            name: example_timeline() for name in options.configurations if "ideal" not in name
        },
    )
