"""The configurations that are compared, each a sequence of phases on a fresh machine."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rtl.layouts import Policy

from .collective import begin_step
from .config import System
from .errors import InputError
from .loop import (
    CONTEXT_COLLECTIVE,
    CONTEXT_GEMM,
    CONTEXT_NONE,
    UNTIL_COLLECTIVE,
    UNTIL_COPIED,
    UNTIL_GEMM,
    UNTIL_PROGRAMMED,
    UNTIL_QUIET,
    UNTIL_REDUCED,
)
from .machine import Machine, kernel_of
from .memory import AG, RS
from .native.engine import Trace
from .producer import MODE_GEMM, MODE_SCATTER
from .program import (
    collective_writes,
    copy_writes,
    map_writes,
    staging_offset,
)
from .result import ConfigurationResult, DramBytes, RunOptions, RunResult
from .samples import timeline_of
from .timeline import Span, Timeline
from .workload import Workload

__all__ = ["run"]

Report = Callable[[str, float], None]


@dataclass
class Phases:
    """What one simulated configuration took; ideal ones are put together from several."""

    gemm_cycles: int = 0
    rs_cycles: int = 0
    ag_cycles: int = 0
    total_cycles: int = 0
    simulated_cycles: int = 0
    traffic: np.ndarray = field(default_factory=lambda: np.zeros(6, np.int64))
    link_bytes: int = 0
    timeline: Timeline | None = None


class _Runner:
    """Runs configurations of one workload, and keeps those that others build on."""

    def __init__(self, workload: Workload, system: System, options: RunOptions, report: Report):
        self.workload, self.system, self.options, self.report = workload, system, options, report
        self.kernel = kernel_of(system, workload.m, workload.n, workload.k, workload.tp)
        self.channels = options.simulated_channels(system)
        self.done: dict[str, Phases] = {}
        self.wall_s = 0.0

    def phases(self, name: str) -> Phases:
        if name not in self.done:
            self.done[name] = {
                "sequential": self._sequential,
                "t3": lambda: self._t3(name, Policy.ROUND_ROBIN),
                "t3-mca": lambda: self._t3(name, Policy.MCA),
                "rs-nmc": self._scatter,
                "ideal-overlap": lambda: self._ideal("sequential"),
                "ideal-rs-nmc": lambda: self._ideal("rs-nmc"),
            }[name]()
        return self.done[name]

    def _machine(self, name: str, mode: int = MODE_GEMM) -> Machine:
        trace = None
        if self.options.waves and name == self._traced():
            trace = Trace(self.options.waves_file, *self.options.waves)
        return Machine(
            self.system,
            self.kernel,
            engine=self.options.engine,
            channels=self.channels,
            mirror=self.options.gpus == "mirror",
            mode=mode,
            trace=trace,
            seed=self.options.seed,
            progress=self.report,
        )

    def _traced(self) -> str:
        """The configuration of which a waveform is written: the one with the most to see."""
        names = [n for n in ("t3-mca", "t3", "sequential") if n in self.options.configurations]
        return names[0] if names else "sequential"

    def _run(self, name: str, machine: Machine, phase: str, until: int) -> int:
        workgroups = self.kernel.workgroups * machine.gpus

        def show(now: int) -> None:
            share = machine.state.gpu["finished"].sum() / workgroups if phase == "GEMM" else 0.5
            self.report(f"{name}: {phase}", float(share))

        begin = time.perf_counter()
        cycles = machine.run(until, show)
        self.wall_s += time.perf_counter() - begin
        self.report(f"{name}: {phase}", 1.0)
        return cycles

    def _finish(
        self, machine: Machine, phases: Phases, name: str, spans: list[Span], zero: int
    ) -> Phases:
        state = machine.state
        phases.simulated_cycles = machine.now
        phases.traffic = state.gpu["traffic"].sum(axis=0) * machine.whole // machine.gpus
        phases.link_bytes = int(state.gpu["sent_bytes"].sum()) * machine.whole // machine.gpus
        phases.timeline = timeline_of(machine, spans, zero)
        return phases

    def _span(self, name: str, track: str, begin: int, end: int, zero: int) -> Span:
        ns = 1e3 / self.system.dram.clock_mhz
        return Span(name, track, max(0, begin - zero) * ns, max(0, end - zero) * ns)

    def _sequential(self) -> Phases:
        kernel, n = self.kernel, self.kernel.gpus
        phases = Phases()
        with self._machine("sequential") as machine:
            state = machine.state
            gpus = range(machine.gpus)
            self._run("sequential", machine, "GEMM", UNTIL_GEMM)
            phases.gemm_cycles = machine.now
            state.fixed["work"] = 0

            offset = staging_offset(machine.channel_bits)
            self._program(
                machine, [collective_writes(kernel, CONTEXT_COLLECTIVE, offset=offset)] * len(gpus)
            )
            begin_rs = machine.now
            state.gpu["phase"] = RS
            state.fixed["copy_offset"] = offset
            state.gpu["store_context"] = CONTEXT_COLLECTIVE
            for step in range(n - 1):
                self._set_chunks(machine, 1 + step)
                for g in gpus:
                    begin_step(state, g, (g + 1 + step) % n,
                        1 if step == 0 else 2, offset,
                    )  # fmt: skip
                machine.expect([(g + 2 + step) % n for g in gpus])
                self._run("sequential", machine, "RS", UNTIL_COLLECTIVE)
            state.gpu["store_context"] = CONTEXT_NONE
            for g in gpus:
                begin_step(state, g, g, 2, offset)
            self._run("sequential", machine, "RS", UNTIL_COLLECTIVE)
            self._run("sequential", machine, "RS", UNTIL_QUIET)
            phases.rs_cycles = machine.now - begin_rs

            self._program(
                machine, [collective_writes(kernel, CONTEXT_COLLECTIVE, offset=0)] * len(gpus)
            )
            begin_ag = machine.now
            state.gpu["phase"] = AG
            state.fixed["copy_offset"] = 0
            state.gpu["store_context"] = CONTEXT_COLLECTIVE
            for step in range(n - 1):
                self._set_chunks(machine, step)
                for g in gpus:
                    begin_step(state, g, (g + step) % n, 1, 0)
                machine.expect([(g + 1 + step) % n for g in gpus])
                self._run("sequential", machine, "AG", UNTIL_COLLECTIVE)
            self._run("sequential", machine, "AG", UNTIL_QUIET)
            phases.ag_cycles = machine.now - begin_ag
            phases.total_cycles = phases.gemm_cycles + phases.rs_cycles + phases.ag_cycles
            spans = [
                *self._stages(machine, 0),
                self._span(
                    "reduce-scatter", "Communication", begin_rs, begin_rs + phases.rs_cycles, 0
                ),
                self._span("all-gather", "Communication", begin_ag, begin_ag + phases.ag_cycles, 0),
            ]
            return self._finish(machine, phases, "sequential", spans, 0)

    def _t3(self, name: str, policy: Policy) -> Phases:
        phases = Phases()
        with self._machine(name) as machine:
            zero = self._launch(machine, policy, updates_per_sector=2)
            self._run(name, machine, "GEMM", UNTIL_REDUCED)
            state = machine.state
            reduced = machine.now
            phases.gemm_cycles = int(state.gpu["finish_cycle"].max()) - zero
            phases.rs_cycles = reduced - int(state.gpu["first_send"].min())
            state.fixed["work"] = 0
            state.gpu["phase"] = AG
            self._all_gather(name, machine)
            phases.ag_cycles = machine.now - reduced
            phases.total_cycles = machine.now - zero
            spans = [
                *self._stages(machine, zero),
                self._span(
                    "reduce-scatter", "Communication", reduced - phases.rs_cycles, reduced, zero
                ),
                self._span("all-gather", "Communication", reduced, machine.now, zero),
            ]
            return self._finish(machine, phases, name, spans, zero)

    def _scatter(self) -> Phases:
        """Reduce-scatter by the T3 hardware alone, the partial products already in memory."""
        phases = Phases()
        with self._machine("rs-nmc", MODE_SCATTER) as machine:
            machine.state.gpu["phase"] = RS
            zero = self._launch(machine, Policy.ROUND_ROBIN, updates_per_sector=1)
            self._run("rs-nmc", machine, "RS", UNTIL_REDUCED)
            phases.rs_cycles = phases.total_cycles = machine.now - zero
            return self._finish(machine, phases, "rs-nmc", [], zero)

    def _ideal(self, scatter: str) -> Phases:
        """GEMM and reduce-scatter as fast side by side as each alone, then the all-gather."""
        sequential, rs = self.phases("sequential"), self.phases(scatter)
        traffic = sequential.traffic.copy()
        traffic[2:4] = rs.traffic[2:4]
        phases = Phases(
            gemm_cycles=sequential.gemm_cycles,
            rs_cycles=rs.rs_cycles,
            ag_cycles=sequential.ag_cycles,
            traffic=traffic,
            link_bytes=sequential.link_bytes,
        )
        phases.total_cycles = max(phases.gemm_cycles, phases.rs_cycles) + phases.ag_cycles
        return phases

    def _program(self, machine: Machine, writes: list) -> None:
        machine.write(writes)
        machine.run(UNTIL_PROGRAMMED)

    def _launch(self, machine: Machine, policy: Policy, updates_per_sector: int) -> int:
        return machine.launch(
            [
                map_writes(
                    self.kernel,
                    self.system,
                    g,
                    context=CONTEXT_GEMM,
                    policy=policy,
                    updates_per_sector=updates_per_sector,
                )
                for g in range(machine.gpus)
            ]
        )

    def _all_gather(self, name: str, machine: Machine) -> None:
        n = self.kernel.gpus
        for step in range(n - 1):
            self._set_chunks(machine, step)
            machine.write(
                [
                    copy_writes(self.kernel, (g + step) % n, CONTEXT_GEMM)
                    for g in range(machine.gpus)
                ]
            )
            machine.expect([(g + 1 + step) % n for g in range(machine.gpus)])
            self._run(name, machine, "AG", UNTIL_COPIED)
        self._run(name, machine, "AG", UNTIL_QUIET)

    def _set_chunks(self, machine: Machine, first: int) -> None:
        """What GPU 0 sends and its upstream neighbour sends meanwhile, for the mirror."""
        n = self.kernel.gpus
        machine.state.fixed["copy_from"] = first % n
        machine.state.fixed["copy_to"] = (first + 1) % n

    def _stages(self, machine: Machine, zero: int) -> list[Span]:
        state = machine.state
        return [
            self._span(f"stage {i}", "GEMM", int(begin), int(end), zero)
            for i, (begin, end) in enumerate(
                zip(state.stage_begin[0], state.stage_end[0], strict=True)
            )
            if begin >= 0
        ]


def run(workload: Workload, system: System, options: RunOptions, progress: Report) -> RunResult:
    """Simulate a workload in the configurations that the options name.

    Raises
    ------
    InputError
        If the workload does not fit the system or the options.
    SimulationError
        If the hardware reports an error.
    """
    try:
        runner = _Runner(workload, system, options, progress)
        sequential = runner.phases("sequential")
        phases = {name: runner.phases(name) for name in options.configurations}
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("system", str(error)) from error
    ns = 1e3 / system.dram.clock_mhz
    atom = system.dram.atom_bytes
    configurations = {
        name: ConfigurationResult.from_times(
            gemm_ns=one.gemm_cycles * ns,
            rs_ns=one.rs_cycles * ns,
            ag_ns=one.ag_cycles * ns,
            total_ns=one.total_cycles * ns,
            isolated_gemm_ns=sequential.gemm_cycles * ns,
            sequential_ns=sequential.total_cycles * ns,
            dram_bytes=DramBytes(
                **{
                    key: int(count) * atom
                    for key, count in zip(DramBytes.__dataclass_fields__, one.traffic, strict=True)
                }
            ),
            link_bytes=one.link_bytes,
        )
        for name, one in phases.items()
    }
    return RunResult(
        workload=workload,
        system=system,
        options=options,
        configurations=configurations,
        gemm_efficiency=workload.flops / (sequential.gemm_cycles * ns * system.peak_flops_per_ns),
        cycles=sum(one.simulated_cycles for one in runner.done.values()),
        wall_s=runner.wall_s,
        timelines={name: one.timeline for name, one in phases.items() if one.timeline is not None},
    )
