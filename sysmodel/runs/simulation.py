"""Simulation of one configuration: a fresh machine that runs phase by phase."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from sysmodel.config.library import Protocol
from sysmodel.config.system import System
from sysmodel.config.topology_shapes import Topology
from sysmodel.engine.native.engine import Trace
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import EMPTY
from sysmodel.gpu.workgroups import MODE_GEMM
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.progress import Report
from sysmodel.lib.ring import upstream
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes
from sysmodel.machine.progress import share_done
from sysmodel.machine.variation import moved, varied

from .conservation import Reduction, check_conservation, conserved
from .counters import AG, COUNTED, GEMM, RS, new_counters
from .phases import PhaseResult
from .samples import timeline_of
from .tile_trace import TileTrace, begin_tracing, on_the_timeline
from .timeline import Span

if TYPE_CHECKING:
    from .options import RunOptions

__all__ = ["RunContext", "Simulation"]

_PHASES = {"GEMM": (GEMM,), "GEMM and RS": (GEMM, RS), "RS": (RS,), "AG": (AG,)}


class RunContext:
    """Settings that all configurations of a repetition share when they simulate a kernel.

    Parameters
    ----------
    report : callable
        Receives the progress.
    channels : int
        Simulated memory channels.
    mirror : bool
        One GPU represents all.
    repetition : int
        Number of the repetition; number 0 has no variation.
    is_first : bool
        The kernel is the plan's first; only for this kernel a waveform may be written.
    counts_clocks : bool
        Count the clock edges at flip-flops.

    Attributes
    ----------
    step : str
        Number of the simulation among those of the plan, for the progress.
    """

    def __init__(
        self,
        system: System,
        kernel: Kernel,
        options: "RunOptions",
        report: Report,
        *,
        channels: int,
        mirror: bool,
        repetition: int = 0,
        is_first: bool = True,
        counts_clocks: bool = True,
    ):
        self.system, self.options, self.report = system, options, report
        self.repetition, self.channels, self._is_first = repetition, channels, is_first
        self.mirror = mirror
        self.counts_clocks = counts_clocks
        self.step = ""
        self.variation = varied(system, kernel, options.seed, repetition)
        self.kernel = moved(
            system,
            kernel,
            options.seed,
            repetition,
            channels=channels,
            mirror=mirror,
        )

    @property
    def protocol(self) -> Protocol:
        """Protocol of the library's kernels for the ring's chunks."""
        return self.system.protocol(self._chunk_bytes, self.kernel.gpus)

    @property
    def stores_payload_share(self) -> float:
        """Share of the line rate that is payload in the packets of the library's kernels."""
        return self.system.stores_payload_share(self._chunk_bytes, self.kernel.gpus)

    @property
    def _chunk_bytes(self) -> float:
        return self.kernel.output_bytes / self.kernel.gpus

    def trace(self, name: str) -> Trace | None:
        """Requested waveform, for ``t3-mca`` or, if it is not simulated, ``t3`` or ``sequential``;
        None for all other configurations.
        """
        if self.options.waves is None or self.options.waves_file is None:
            return None
        if self.repetition or not self._is_first:
            return None
        shown = [n for n in ("t3-mca", "t3", "sequential") if n in self.options.configurations]
        if name != (shown[0] if shown else "sequential"):
            return None
        return Trace(self.options.waves_file, *self.options.waves)


class Simulation:
    """Machine that runs one configuration; a context manager.

    Attributes
    ----------
    zero : int
        First cycle of the timeline.
    wall_s : float
        Time that the simulation has taken.
    """

    def __init__(
        self,
        context: RunContext,
        name: str,
        *,
        mode: int = MODE_GEMM,
        cached_stores: bool = False,
        collective_cus: int = 0,
        payload_share: float | None = None,
        topology: Topology | str = "ring",
        windows: bool = False,
    ):
        self._context, self._name = context, name
        self._exit = ExitStack()
        self.wall_s = 0.0
        self._spans: list[Span] = []
        self._traces: list[TileTrace] = []
        self._activates = np.zeros(MOST_ACTIVITIES, np.int64)
        self.zero = 0
        self.machine = Machine(
            context.system,
            context.kernel,
            engine=context.options.engine,
            channels=context.channels,
            mirror=context.mirror,
            collective_cus=collective_cus,
            payload_share=payload_share,
            topology=topology,
            windows=windows,
            mode=mode,
            cached_stores=cached_stores,
            variation=context.variation,
            trace=context.trace(name),
            seed=context.options.seed,
            progress=context.report,
        )

    def __enter__(self) -> "Simulation":
        self._exit.enter_context(self.machine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit.close()

    def run(self, phase: str, until: int) -> None:
        """Run until a condition of the loop holds; ``phase`` names what runs until then."""
        task = ", ".join(filter(None, (f"{self._name}: {phase}", self._context.step)))

        def show(now: int) -> None:
            self._context.report(task, share_done(self.machine, _PHASES[phase]))

        begin = time.perf_counter()
        show(self.machine.now)
        self.machine.run(until, show)
        self.wall_s += time.perf_counter() - begin

    def launch_kernel(self, phase: int) -> None:
        """Wait for the launch latency of a kernel, or of a command that software starts in the same
        way.
        """
        self.machine.idle(self.machine.kernel_launch_cycles(phase))

    def idle(self, ns: float) -> None:
        """Wait for a time in which nothing new begins."""
        self.machine.idle(self._context.system.cycles(ns))

    def program(self, writes: list[Writes], until: int) -> None:
        """Write registers of every GPU."""
        self.machine.write(writes)
        self.machine.run(until)

    def begin_step(self, sent: Callable[[int, int, int], int], step: int) -> list[int]:
        """Let every GPU expect the chunk of its upstream neighbour in a step; return the chunk that
        each GPU itself sends, ``sent(gpu, step, gpus)``.
        """
        machine, n = self.machine, self._context.kernel.gpus
        sending = [sent(g, step, n) for g in range(machine.gpus)]
        arriving = [sent(upstream(g, n), step, n) for g in range(machine.gpus)]
        machine.state.fixed["copy_from"], machine.state.fixed["copy_to"] = sending[0], arriving[0]
        machine.state.gpu["copied"] = 0
        machine.expect(arriving)
        return sending

    def span(self, name: str, track: str, begin: int, end: int) -> None:
        """Add a span to the timeline, between two cycles."""
        ns = self._context.system.cycle_ns
        begin, end = max(0, begin - self.zero), max(0, end - self.zero)
        self._spans.append(Span(name, track, begin * ns, end * ns))

    def trace_tiles(self) -> None:
        """Begin to trace a few tiles on their way around the ring."""
        self._traces = begin_tracing(self.machine)

    def count_activates(self, phase: int) -> None:
        """Count the rows that were opened since the last call for a phase."""
        opened = int(self.machine.state.dram.channel["activate_count"].sum())
        self._activates[phase] += opened - self._activates.sum()

    def finish(self, how: Reduction, **cycles: int) -> PhaseResult:
        """Collect the counters of the machine; ``cycles`` are the times of :class:`PhaseResult`.

        Raises
        ------
        SimulationError
            If bytes are missing or too many.
        """
        machine, state = self.machine, self.machine.state
        counts = self.conserved(how)
        for i, (begin, end) in enumerate(
            zip(state.stage_begin[0], state.stage_end[0], strict=True)
        ):
            if begin >= 0:
                self.span(f"stage {i}", "GEMM", int(begin), int(end))
        spans, flows = on_the_timeline(machine, self._traces, self.zero)
        return PhaseResult(
            **cycles,
            counts=self._of_whole_gpu(counts, how),
            slot_cycles=self._slot_cycles(),
            throttled_cycles=int(state.gpu["throttled"].mean() / state.fixed["slots"][0]),
            withheld=state.withheld,
            stores_held=state.stores_held,
            stall_cycles=float(state.gpu["stalls"].mean()) / self._context.channels,
            simulated_cycles=machine.now,
            wall_s=self.wall_s,
            timeline=timeline_of(machine, [*self._spans, *spans], self.zero, flows),
        )

    def conserved(self, how: Reduction) -> np.ndarray:
        """Check the bytes that were moved; return the counters of all simulated GPUs.

        Raises
        ------
        SimulationError
            If bytes are missing or too many.
        """
        counts = self._counts(how)
        check_conservation(self.machine.state, self._context.kernel.gpus, how, counts)
        return counts

    def _slot_cycles(self) -> np.ndarray:
        """Cycles of an average slot of an average GPU, by state."""
        state = self.machine.state
        cycles: np.ndarray = state.gpu["slot_cycles"].mean(axis=0) / state.fixed["slots"][0]
        cycles[EMPTY] = 0.0  # also before and after the kernel
        return cycles

    def _counts(self, how: Reduction) -> np.ndarray:
        """Counters of all simulated GPUs in the simulated channels."""
        gpu, counts = self.machine.state.gpu, new_counters()
        for name in COUNTED:
            counts[name] = gpu[name].sum(axis=0)
        kept = gpu["kept"].sum(axis=0)
        counts["writes"][GEMM] -= kept.sum()
        counts["writes"] += kept
        counts["cu_loads"] = counts["reads"] - counts["dma_reads"]
        counts["cu_loads"] += gpu["l2_reads"].sum(axis=0)
        counts["cu_loads"][GEMM] = 0  # the GEMM's own loads are equal in all configurations
        if how.tracked and not how.gemm:
            # The kernel is then a part of the collective: it remotely stores the atoms that it
            # loads.
            sent = counts["link_bytes"][RS] // ATOM_BYTES
            counts["cu_stores"][RS] += sent - counts["dma_reads"][RS]
        # Overlapping phases open rows together, so only the sum over the phases has a meaning.
        self.count_activates(AG if how.gather else RS)
        counts["activates"] = self._activates
        return counts

    def _of_whole_gpu(self, counts: np.ndarray, how: Reduction) -> np.ndarray:
        """Counters of one GPU with all its channels: exact if they depend on the ring alone,
        otherwise scaled.
        """
        machine, whole = self.machine, new_counters()
        share = machine.whole / machine.gpus
        for name in counts.dtype.names or ():
            whole[name] = counts[name] * share.numerator // share.denominator
        sizes = self._context.kernel.chunk_atoms
        for (name, phase), count in conserved(sizes, machine.state, how, machine.whole).items():
            whole[name][phase] = count // machine.gpus
        on_line = whole["link_bytes"] / machine.payload_share
        whole["link_overhead_bytes"] = np.rint(on_line) - whole["link_bytes"]
        # A tile completes once, however many channels hold its atoms.
        whole["tiles"][RS] = machine.tiles // machine.gpus
        if self._context.counts_clocks:
            whole["flip_flop_clocks"][RS] = machine.flip_flop_clocks // machine.gpus
        return whole
