"""Simulation of one configuration: a fresh machine that runs the activities of a chain."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

import numpy as np

from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.config.topology_shapes import Topology
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.slots import EMPTY
from sysmodel.gpu.workgroups import MODE_GEMM
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.neighbours import upstream
from sysmodel.machine.machine import Machine
from sysmodel.machine.program import Writes
from sysmodel.machine.progress import share_done
from sysmodel.machine.queue import Queued
from sysmodel.machine.until import UNTIL_PROGRAMMED
from sysmodel.network.rates import scale_rates

from .conservation import Moves, check_conservation, conserved
from .counters import COUNTED, new_counters
from .cycle_result import CycleResult, GemmCycles
from .program.activities import title_of
from .run_context import RunContext
from .samples import timeline_of
from .tile_trace import TileTrace, begin_tracing, on_the_timeline
from .timeline import Span

__all__ = ["Simulation"]

_LAST_STORES_CYCLES = 1000


class Simulation:
    """Machine that runs one configuration; a context manager.

    Parameters
    ----------
    kernel : Kernel or None
        First kernel of each GPU's queue; None for the context's.
    behind : sequence of Queued
        Further kernels of each GPU's queue; see :class:`~sysmodel.machine.machine.Machine`.

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
        kernel: Kernel | None = None,
        behind: Sequence[Queued] = (),
        mode: int = MODE_GEMM,
        cached_stores: bool = False,
        collective_cus: int = 0,
        payload_share: float | None = None,
        topology: Topology | None = None,
        windows: bool = False,
        tracked: TrackedSchedule | None = None,
    ):
        self._context, self._name = context, name
        self._sends_stores = payload_share is not None
        self._sender_share = payload_share
        self._exit = ExitStack()
        self.wall_s = 0.0
        self._spans: list[Span] = []
        self._traces: list[TileTrace] = []
        self._activates = np.zeros(MOST_ACTIVITIES, np.int64)
        chain = context.chain
        self._gemm = context.number(chain.gemm)
        self._reduction = context.number(chain.reduction or chain.gemm)
        self.zero = 0
        self.machine = Machine(
            context.system,
            kernel or context.kernel,
            engine=context.options.engine,
            channels=context.channels,
            mirror=context.mirror,
            alone=context.alone,
            behind=behind,
            collective_cus=collective_cus,
            payload_share=payload_share,
            topology=topology,
            windows=windows,
            tracked=tracked,
            mode=mode,
            activities=(self._gemm, self._reduction),
            cached_stores=cached_stores,
            variation=context.variation,
            trace=context.trace(name),
            seed=context.options.seed,
            progress=context.report,
        )
        self._shares = np.full(MOST_ACTIVITIES, self.machine.payload_share)

    def __enter__(self) -> "Simulation":
        self._exit.enter_context(self.machine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit.close()

    def run(self, activities: Sequence[int], until: int, *, title: str = "") -> None:
        """Run activities, given by number, until a condition of the loop holds.

        ``title`` names the activities for the progress, instead of their own titles.
        """
        names = self._context.options.program.names
        title = title or " and ".join(title_of(names[number]) for number in activities)
        task = ", ".join(filter(None, (f"{self._name}: {title}", self._context.step)))

        def show(now: int) -> None:
            self._context.report(task, share_done(self.machine, activities))

        begin = time.perf_counter()
        show(self.machine.now)
        self.machine.run(until, show)
        self.wall_s += time.perf_counter() - begin

    def launch_kernel(self, place: int) -> None:
        """Wait for the launch latency of a kernel, or of a command that software starts in the same
        way, given its place among the machine's kernels.
        """
        self.machine.idle(self.machine.kernel_launch_cycles(place))

    def send_at(self, share: float, activity: int) -> None:
        """Let an activity's stores begin, whose packets have another share of payload than those
        before."""
        assert self._sender_share is not None  # T3's packets are all alike
        factor = share / self._sender_share
        scale_rates(self.machine.state, factor)
        self._sender_share = share
        self._shares[activity] = self.machine.payload_share = self.machine.payload_share * factor

    def idle(self, ns: float) -> None:
        """Wait for a time in which nothing new begins."""
        self.machine.idle(self._context.system.cycles(ns))

    def program(self, writes: list[Writes], until: int) -> None:
        """Write registers of every GPU."""
        self.machine.write(writes)
        self.machine.run(until)

    def launch_stores(self, writes: Callable[[int], Writes]) -> None:
        """Launch kernels that store to other GPUs, by register writes that depend on the launch's
        generation."""
        machine = self.machine
        machine.await_cleared()
        self.program([writes(machine.next_generation)] * machine.gpus, UNTIL_PROGRAMMED)
        machine.await_begun()
        machine.begin_generation()

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

    def span(self, name: str, track: str, begin: int, end: int, *, activity: str = "") -> None:
        """Add a span to the timeline, between two cycles."""
        ns = self._context.system.cycle_ns
        begin, end = max(0, begin - self.zero), max(0, end - self.zero)
        self._spans.append(Span(name, track, begin * ns, end * ns, activity))

    def trace_tiles(self) -> None:
        """Begin to trace a few tiles on their way from GPU to GPU."""
        self._traces = begin_tracing(self.machine)

    def count_activates(self, activity: int) -> None:
        """Count the rows that were opened since the last call for an activity."""
        opened = int(self.machine.state.dram.channel["activate_count"].sum())
        self._activates[activity] += opened - self._activates.sum()

    def finish(self, how: Moves, cycles: Mapping[str, int], total_cycles: int) -> CycleResult:
        """Collect the counters of the machine, beside the times of the activities.

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
                name = self._context.chain.gemm.name
                self.span(f"stage {i}", title_of(name), int(begin), int(end), activity=name)
        spans, flows = on_the_timeline(machine, self._traces, self.zero)
        spans, names = [*self._spans, *spans], self._context.options.program.names
        return CycleResult(
            cycles=dict(cycles),
            total_cycles=total_cycles,
            counts=self._of_whole_gpu(counts, how),
            gemms={} if how.gemm is None else {self._context.chain.gemm.name: self._gemm_cycles()},
            stall_cycles=float(state.gpu["stalls"].mean()) / self._context.channels,
            simulated_cycles=machine.now,
            wall_s=self.wall_s,
            timeline=timeline_of(
                machine, spans, self.zero, flows, names=names, link_gb_per_s=self._link_gb_per_s
            ),
        )

    @property
    def _link_gb_per_s(self) -> float:
        """Line rate at which a GPU can send: by stores of CUs, or in T3's packets."""
        network = self._context.network
        return network.library_gb_per_s if self._sends_stores else network.t3_gb_per_s

    def conserved(self, how: Moves) -> np.ndarray:
        """Check the bytes that were moved; return the counters of all simulated GPUs.

        Raises
        ------
        SimulationError
            If bytes are missing or too many.
        """
        with suppress(SimulationError):
            return self._conserved(how)
        self.await_last_stores()
        return self._conserved(how)

    def _conserved(self, how: Moves) -> np.ndarray:
        counts = self._counts(how)
        titles = [title_of(name) for name in self._context.options.program.names]
        check_conservation(self.machine.state, self._context.kernel.gpus, how, counts, titles)
        return counts

    def await_last_stores(self) -> None:
        """Let the last kernel's stores reach the memory: some may still be in the hardware, and
        nothing follows that would push them out."""
        self.machine.idle(_LAST_STORES_CYCLES)

    def _gemm_cycles(self) -> GemmCycles:
        """Course of the GEMM: an average slot of an average GPU, and the workgroups' waits."""
        state = self.machine.state
        slots: np.ndarray = state.gpu["slot_cycles"].mean(axis=0) / state.fixed["slots"][0]
        slots[EMPTY] = 0.0  # also before and after the kernel
        return GemmCycles(
            throttled=int(state.gpu["throttled"].mean() / state.fixed["slots"][0]),
            slots=slots,
            withheld=state.withheld,
            stores_held=state.stores_held,
        )

    def _counts(self, how: Moves) -> np.ndarray:
        """Counters of all simulated GPUs in the simulated channels."""
        gpu, counts = self.machine.state.gpu, new_counters()
        for name in COUNTED:
            counts[name] = gpu[name].sum(axis=0)
        kept = gpu["kept"].sum(axis=0)
        counts["writes"][self._gemm] -= kept.sum()
        counts["writes"] += kept
        counts["cu_loads"] = counts["reads"] - counts["dma_reads"]
        counts["cu_loads"] += gpu["l2_reads"].sum(axis=0)
        counts["cu_loads"][self._gemm] = 0  # a GEMM's own loads are equal in all configurations
        if how.tracked and how.gemm is None:
            # The kernel is then a part of the collective: it remotely stores the atoms that it
            # loads.
            number = self._reduction
            sent = counts["link_bytes"][number] // ATOM_BYTES
            counts["cu_stores"][number] += sent - counts["dma_reads"][number]
        # Overlapping activities open rows together, so only the sum over all has a meaning.
        self.count_activates((self._gemm, *how.collectives)[-1])
        counts["activates"] = self._activates
        return counts

    def _overhead_bytes(self, counts: np.ndarray, whole: np.ndarray, how: Moves) -> np.ndarray:
        """Headers and check bits of the packets of a GPU with all its channels, by activity."""
        sent = whole["link_bytes"]
        if self._sends_stores:
            on_line = np.rint(sent / self._shares)
            more: np.ndarray = on_line - sent
            return more
        # The packets of the simulated channels have as many atoms as those of all channels.
        each = counts["packets"] / np.maximum(counts["link_bytes"], 1)
        if how.together:
            each[how.gather] = each[how.scatter]
        headers = np.rint(sent * each) + whole["end_packets"]
        overhead: np.ndarray = headers * self._context.system.link.t3_overhead_bytes
        return overhead

    def _of_whole_gpu(self, counts: np.ndarray, how: Moves) -> np.ndarray:
        """Counters of one GPU with all its channels: exact if they depend on the chunks alone,
        otherwise scaled.
        """
        machine, whole = self.machine, new_counters()
        share = machine.whole / machine.gpus
        for name in counts.dtype.names or ():
            whole[name] = counts[name] * share.numerator // share.denominator
        sizes = machine.state.chunk_size
        for (name, number), count in conserved(sizes, machine.state, how).items():
            whole[name][number] = count // machine.gpus
        whole["link_overhead_bytes"] = self._overhead_bytes(counts, whole, how)
        # A tile completes once, however many channels hold its atoms.
        whole["tiles"][self._reduction] = machine.tiles // machine.gpus
        if self._context.counts_clocks:
            whole["flip_flop_clocks"][self._reduction] = machine.flip_flop_clocks // machine.gpus
        return whole
