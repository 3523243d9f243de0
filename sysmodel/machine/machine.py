"""Simulated machine: state of the cycle loop, hardware instances, and operations on them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import product
from types import TracebackType
from typing import Any

import numpy as np

from sysmodel.collectives.launch_map import LaunchMap, TrackedSchedule, tracked_schedule
from sysmodel.config import system as config
from sysmodel.config.topology import load_topology
from sysmodel.config.topology_shapes import Topology
from sysmodel.engine.gated_blocks import flip_flops_of_kinds
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.engine.native.engine import Engine, Trace
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, I, J, K
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.workgroups import MODE_GEMM
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress
from sysmodel.network.windows import window_address_bits

from .assembly import Assembly
from .bus import load_writes
from .loop import advance
from .program import (
    GENERATIONS,
    Writes,
    abort_writes,
    epoch_writes,
    fields_of,
    launch_writes,
    map_writes,
    measure_writes,
    register_address,
    register_at,
)
from .queue import Queued, first_of_contexts, require_places
from .until import NEVER, UNTIL_PROGRAMMED
from .variation import Variation
from .watchdog import STILL_CYCLES, Watchdog

__all__ = ["Machine"]

_SLICE_CYCLES = 50_000  # between checks of progress and of Ctrl-C
_ADMISSION_CYCLES = 8  # an admission takes them in addition to the network's latency


class Machine:
    """Machine of GPUs with their T3 hardware, at cycle 0; a context manager.

    Parameters
    ----------
    kernel : Kernel
        First kernel of each GPU's queue, in context 0.
    engine : str
        ``"rtl"`` or ``"golden"``.
    channels : int
        Simulated channels of each GPU, from channel 0.
    behind : sequence of Queued
        Further kernels of each GPU's queue, on the same compute units and L2. A free workgroup slot
        goes to the first kernel in the queue that may use it. The hardware tracks the first kernel
        of each context.
    mirror : bool
        One GPU represents all.
    alone : bool
        No collective moves the outputs. The GPUs are then alike whatever their chunks are, and the
        simulated channels need their share of the output only.
    collective_cus : int
        CUs reserved for collectives; 0 if kernel and collectives use all CUs, one after the other.
    mode : int
        Work of the workgroups: ``MODE_GEMM`` or ``MODE_SCATTER``.
    cached_stores : bool
        If True, the kernel's stores stay in the L2 until they are evicted or the kernel ends.
        Otherwise they bypass the L2, as tracked stores must.
    partial : array or None
        Words of the GEMMs' results in data mode, (gpus, atoms, 4), from the first output atom of
        the first kernel on.
    contents_atoms : int
        Atoms of each GPU's memory in data mode, from the same atom on, if there are more.
    stored_atoms : array or None
        Atoms of each GPU's workgroups that the first kernel stores, (gpus, workgroups): of the
        tile in memory the first ones; None for all. All channels must be simulated.
    variation : Variation or None
        Variation of this repetition of a run.
    trace : Trace or None
        Waveform of GPU 0.
    payload_share : float or None
        Share of the system's line rate that is payload; None for T3's packets.
    link_stall : float
        Share of cycles in which a link is stalled, at random.
    topology : Topology, str or None
        Links and switches that join the GPUs; None for the system's.
    windows : bool
        Addresses have windows, by which a GPU sends to all others; see
        :mod:`sysmodel.network.windows`. A GPU that stands for all sends only downstream.
    tracked : TrackedSchedule or None
        Collective that the hardware runs; None for the ring's reduce-scatter.
    activities : tuple of int
        Numbers of the activities as which the kernel's accesses count, and the hardware's own
        accesses and packets; see :mod:`sysmodel.lib.activities`.
    progress : callable
        Called with the stage of the engine's build, or of the count of its flip-flops.

    Raises
    ------
    ValueError
        If one GPU or the simulated channels cannot represent all, or the outputs are too large
        or overlap.
    """

    def __init__(
        self,
        system: config.System,
        kernel: Kernel,
        *,
        engine: str,
        channels: int,
        mirror: bool,
        alone: bool = False,
        behind: Sequence[Queued] = (),
        collective_cus: int = 0,
        mode: int = MODE_GEMM,
        cached_stores: bool = False,
        partial: np.ndarray | None = None,
        contents_atoms: int = 0,
        stored_atoms: np.ndarray | None = None,
        variation: Variation | None = None,
        trace: Trace | None = None,
        payload_share: float | None = None,
        link_stall: float = 0.0,
        topology: Topology | str | None = None,
        windows: bool = False,
        tracked: TrackedSchedule | None = None,
        activities: tuple[int, int] = (0, 1),
        seed: int = 0,
        progress: Report = no_progress,
    ):
        self.queue = Queued(kernel), *behind
        require_places(self.queue)
        self.kernels = tuple(one.kernel for one in self.queue)
        self._first_of_contexts = first_of_contexts(self.queue)
        self.system, self.kernel, self.channels, self.mirror = system, kernel, channels, mirror
        self.gpus = 1 if mirror else kernel.gpus
        self.activity, self.communication = activities
        self._variation, self._progress = variation, progress
        self._aborted, self.next_generation = set[int](), 0
        self.tracked = tracked or tracked_schedule("ring", max(2, kernel.gpus))
        self.parameters = parameters = self._hardware(partial is not None, windows)
        assembly = Assembly(
            system=system,
            queue=self.queue,
            parameters=parameters,
            gpus=self.gpus,
            channels=channels,
            mirror=mirror,
            alone=alone,
            mode=mode,
            collective_cus=collective_cus,
            cached_stores=cached_stores,
            partial=partial,
            contents_atoms=contents_atoms,
            stored_atoms=stored_atoms,
            variation=variation,
            sender_share=payload_share,
            link_stall=link_stall,
            topology=system.topology if topology is None else load_topology(topology),
            windows=windows,
            tracked=self.tracked,
            seed=seed,
        )
        self.state = assembly.state()
        gpu = self.state.gpu
        gpu["kernel_activity"], gpu["communication_activity"] = activities
        self.fabric = assembly.fabric
        self.payload_share = assembly.payload_share
        self.chunk_start, _ = assembly.chunks
        self._exit, self._engines = ExitStack(), list[Any]()
        hardware: list[int] = []
        for g in range(self.gpus):
            one = self._exit.enter_context(
                self._engine(engine, parameters, trace if g == 0 else None, progress)
            )
            one.reset(self.state.outputs[g])
            self._engines.append(one)
            hardware = hardware or [one.step_address]
            row = self.state.inputs[g].ctypes.data, self.state.outputs[g].ctypes.data
            hardware += [one.handle, *row]
        self.hardware = np.array(hardware, np.uint64)
        progress("Compiling the cycle loop, once", 0.0)
        advance(self.state, self.hardware, NEVER, 0)

    def _hardware(self, with_data: bool, windows: bool) -> Any:
        """Compute the parameters of the T3 hardware."""
        launches = self._launch_maps()
        bits = window_address_bits(self.kernel.gpus, ATOM_BYTES)
        return hardware_parameters(
            self.system,
            channels=self.channels,
            contexts=len(self._first_of_contexts),
            with_data=with_data,
            peers=max((len(one.peers) for one in launches), default=0),
            ranges=max((len(one.ranges) for one in launches), default=0),
            **({"address_bits": bits} if windows else {}),
        )

    def _launch_maps(self) -> list[LaunchMap]:
        """Launches of all kernels that the hardware tracks, on all simulated GPUs."""
        tracked = [self.kernels[first] for first in self._first_of_contexts]
        return [
            self.tracked.map(one.chunks.sizes, g)
            for one in tracked
            if one.gpus > 1
            for g in range(self.gpus)
        ]

    def map_writes(self, gpu: int, **options: Any) -> Writes:
        """Program context 0 of a GPU for the machine's collective; see :func:`.map_writes`."""
        return map_writes(self.kernel, self.system, gpu, self.tracked, **options)

    def _engine(self, engine, parameters, trace, progress):
        if engine == "rtl":
            return Engine(parameters, trace, progress=progress)
        progress("Compiling the golden model, once", 0.0)
        from sysmodel.engine.golden.engine import (
            GoldenEngine,  # imported on demand, because the import compiles
        )

        return GoldenEngine(parameters)

    def __enter__(self) -> "Machine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exit.close()

    @property
    def now(self) -> int:
        return int(self.state.fixed["now"][0])

    def kernel_launch_cycles(self, place: int) -> int:
        """Time from the start of a kernel to its first workgroup, given its place among the
        machine's kernels."""
        late = 0 if self._variation is None else int(self._variation.kernel[place])
        return self.system.cycles(self.system.gpu.kernel_launch_ns) + late

    @property
    def whole(self) -> Fraction:
        """Factor from the counts of the simulated channels to the counts of all channels."""
        return Fraction(self.system.dram.channels, self.channels)

    @property
    def tiles(self) -> int:
        """Number of complete tiles over all GPUs and contexts."""
        return int(self._context_outputs(K.tiles).sum())

    @property
    def flip_flop_clocks(self) -> int:
        """Number of clock edges at flip-flops of the T3 hardware of all GPUs, with all channels.

        Blocks of a channel, and the parts of the tracker that serve it, are scaled to the channels
        that are not simulated. Work per tile is not scaled, because it does not depend on the
        number of channels.
        """
        flip_flops = flip_flops_of_kinds(self.parameters, self._progress)
        count = Fraction(0)
        for engine in self._engines:
            for kind, cycles in engine.clocked.items():
                if cycles:
                    times = self.whole if kind.startswith(("channel.", "tracker.")) else 1
                    count += times * cycles * flip_flops[kind]
        return int(count)

    def _context_outputs(self, word: int) -> np.ndarray:
        """Select an output word of the hardware, (gpus, contexts)."""
        first = self.channels * CHANNEL_OUTPUTS + word
        contexts = len(self._first_of_contexts)
        return self.state.outputs[:, first::CONTEXT_OUTPUTS][:, :contexts]

    def write(self, writes: list[Writes]) -> None:
        """Hand each GPU's register port a list of writes."""
        for g, one in enumerate(writes):
            load_writes(self.state.gpu[g], one)

    def run(self, until: int, progress: Callable[[int], None] | None = None) -> int:
        """Advance until a condition of the loop holds; return the number of cycles.

        Raises
        ------
        SimulationError
            If the hardware refuses a write, reports an error, or makes no progress.
        """
        begin = self.now
        watchdog = Watchdog(self.system, self.state)
        while not advance(self.state, self.hardware, until, _SLICE_CYCLES):
            self._check()
            if progress:
                progress(self.now)
            if still := watchdog.still_cycles(self.now):
                raise SimulationError(
                    f"nothing has moved for {still} cycles, in cycle {self.now}: "
                    f"{int(self.state.kernel['finished'].sum(axis=1).min())} of "
                    f"{sum(one.workgroups for one in self.kernels)} workgroups are done on the "
                    "slowest GPU"
                )
        self._check()
        return self.now - begin

    def launch(self, maps: list[Writes], *, skew_cycles: int = 0) -> int:
        """Map the outputs on every GPU, propagate the admissions, and start all kernels.

        The hardware admits the workgroups of the first kernel of each context. Every GPU starts
        ``skew_cycles`` after the previous one. Returns the cycle of the first GPU's start; its
        first workgroups follow one kernel launch later.
        """
        fixed = self.state.fixed
        fixed["work"] = 0
        self.state.kernel["flow"][:, self._first_of_contexts] = 1
        self.await_cleared()
        self.write(maps)
        self.run(UNTIL_PROGRAMMED)
        contexts, begin = range(len(self._first_of_contexts)), self.now
        self.write([[w for context in contexts for w in epoch_writes(context)]] * self.gpus)
        self.run(UNTIL_PROGRAMMED)
        passed = self.now - begin
        self.write([[w for context in contexts for w in launch_writes(context)]] * self.gpus)
        self.run(UNTIL_PROGRAMMED)
        self.begin_generation()
        latency = int(self.state.context["admission_latency"].max())
        self.idle(max(latency + _ADMISSION_CYCLES - passed, latency))
        self.write([measure_writes()] * self.gpus)
        fixed["work"] = 1
        self.start_kernel(skew_cycles)
        return self.now

    def await_cleared(self) -> None:
        """Wait until the hardware has cleared its memories; until then it refuses peers and
        launches."""
        begin = self.now
        for g, context in product(range(self.gpus), range(len(self._first_of_contexts))):
            while self.read(g, "STATUS", context)["aborting"]:
                if self.now - begin > STILL_CYCLES:
                    raise SimulationError(f"GPU {g}: the hardware's clearing does not end")

    def start_kernel(self, skew_cycles: int = 0, *, number: int | None = None) -> None:
        """Start all kernels, or the one with a number in the queue; the first workgroups follow one
        kernel launch later."""
        begin = self.now + self.kernel_launch_cycles(0)
        skew = skew_cycles * np.arange(self.gpus)
        if self._variation is not None:
            drawn = self._variation.skew[: self.gpus]
            skew += drawn - drawn.min()  # a single GPU, the mirror's, has no skew
        started = slice(None) if number is None else slice(number, number + 1)
        self.state.kernel["start"][:, started] = (begin + skew)[:, None]

    def await_begun(self) -> None:
        """Wait until the launch of context 0 has begun on every GPU. A launch that changes regions
        waits until the accesses of the launch before have ended."""
        begin = self.now
        while (self._context_outputs(K.generation)[:, 0] != self.next_generation).any():
            if self.now - begin > STILL_CYCLES:
                raise SimulationError("the launch of a collective does not begin")
            self.idle(1)

    def begin_generation(self) -> None:
        """Give stores and status of context 0 the generation of the launch that has begun."""
        inputs, of_gpu = self.state.inputs, self.channels * CHANNEL_INPUTS
        stores = CHANNEL_INPUTS * np.arange(self.channels) + I.stores_generation
        of_peers = of_gpu + J.generation_in_0 + np.arange(self.parameters.peers)
        for words in (stores, of_gpu + J.kernel_generation, of_peers):
            inputs[:, words] = self.next_generation
        self.next_generation = (self.next_generation + 1) % GENERATIONS

    def begin_collective(self, activity: int) -> None:
        """Count accesses and packets as those of a collective whose launch follows the kernels."""
        self.state.gpu["communication_activity"] = activity
        self.state.gpu["collective_launched"] = 1

    def abort(self, context: int) -> None:
        """Stop the dispatch of a context's kernels, and abort its launch on every GPU. Workgroups
        that have a slot run to their end."""
        self._aborted.add(context)
        for number, queued in enumerate(self.queue):
            if queued.context == context:
                kernel = self.state.kernel[:, number]
                kernel["end"] = kernel["next_dispatch_index"]
        done = self.state.context["done_cycle"][:, context]
        done[done < 0] = self.now
        self.write([abort_writes(context)] * self.gpus)
        self.run(UNTIL_PROGRAMMED)

    def idle(self, cycles: int) -> None:
        """Simulate a number of cycles without a condition."""
        end = self.now + cycles
        while self.now < end:
            advance(self.state, self.hardware, NEVER, end - self.now)

    def expect(self, chunks: list[int]) -> None:
        """Add a chunk on each GPU to the arrivals to wait for."""
        for g, chunk in enumerate(chunks):
            arriving = self.chunk_start[:, chunk + 1] - self.chunk_start[:, chunk]
            self.state.gpu["expected"][g] += int(arriving.sum())

    def _check(self) -> None:
        for g in range(self.gpus):
            refused = int(self.state.gpu["refused"][g])
            if refused >= 0:
                name = register_at(refused)
                raise SimulationError(f"GPU {g}: the hardware refused the write of {name}")
            for context in np.flatnonzero(self._context_outputs(K.irq)[g]):
                if context in self._aborted:  # packets of the aborted launch may raise errors
                    continue
                error = self.read(g, "ERROR", int(context))
                raise SimulationError(
                    f"GPU {g}: the hardware reports error {error['code']} for dispatch index "
                    f"{error['dispatch_index']}, wavefront {error['wavefront']}, "
                    f"context {context}, in cycle {self.now}"
                )

    def read(self, gpu: int, name: str, context: int = 0) -> dict[str, int]:
        """Read the fields of a register over the bus."""
        self.state.gpu["read_address"][gpu] = register_address(name, context)
        for _ in range(100):
            advance(self.state, self.hardware, NEVER, 1)
            if self.state.gpu["read_address"][gpu] < 0:
                return fields_of(name, int(self.state.gpu["read_value"][gpu]))
        raise SimulationError(f"GPU {gpu}: the register port does not answer")
