"""The simulated machine: state of the cycle loop, built from a system and a kernel, and its
hardware."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import product
from types import TracebackType

import numpy as np

from sysmodel.config import system as config
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.engine.native.engine import Engine, Trace
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_OUTPUTS,
    DATA_WORDS,
    I,
    K,
    input_words,
    output_words,
)
from sysmodel.gpu.collective import set_up_collective
from sysmodel.gpu.kernel import ATOM_BYTES, ELEMENT_BYTES, MOST_OUTPUT_ATOMS, Kernel
from sysmodel.gpu.l2 import L2Parameters, new_l2
from sysmodel.gpu.l2_write import check_room
from sysmodel.gpu.producer import MODE_GEMM, set_up
from sysmodel.gpu.tables import joined_tables, kernel_tables
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.phases import GEMM
from sysmodel.lib.ring import scattered
from sysmodel.memory.accesses import set_up_memory
from sysmodel.memory.dram import new_dram
from sysmodel.network.link import set_up_link

from .bus import load_writes
from .loop import advance
from .program import (
    Writes,
    abort_writes,
    fields_of,
    launch_writes,
    measure_writes,
    register_address,
    register_at,
)
from .sampling import output_atoms, require_output_atoms, symmetry
from .state import State, new_state
from .until import NEVER, UNTIL_PROGRAMMED
from .variation import Variation

__all__ = ["Machine"]

_SLICE_CYCLES = 50_000  # between looks at progress and at Ctrl-C
_STUCK_CYCLES = 2_000_000
_ADMISSION_CYCLES = 8  # of an admission, beside the link's latency
_LINK_BUFFER = 64  # packets per channel at the receiver, beyond what the wire holds


class Machine:
    """GPUs of a ring with their T3 hardware, at cycle 0; a context manager.

    Parameters
    ----------
    system : System
    kernel : Kernel
        What each GPU computes in context 0.
    engine : str
        ``"rtl"`` or ``"golden"``.
    channels : int
        Simulated channels of each GPU, from channel 0.
    beside : sequence of Kernel
        What each GPU computes in the contexts from 1 on, meanwhile, with compute units and an L2
        for each.
    mirror : bool
        One GPU stands for all.
    collective_cus : int
        CUs that the collectives have for themselves; 0: kernel and collectives, one after the
        other, have all.
    mode : int
        What the workgroups do: ``MODE_GEMM`` or ``MODE_SCATTER``.
    cached_stores : bool
        The kernel's stores stay in the L2 until they are evicted, or the kernel ends. Else they
        bypass it, as tracked ones must.
    partial : array or None
        Words of the GEMMs' results, for data mode: (gpus, atoms, 4), from the first atom of context
        0's output on.
    variation : Variation or None
        What this repetition of a run varies.
    trace : Trace or None
        Waveform of GPU 0.
    link_stall : float
        Share of cycles in which a link takes nothing, at random.
    seed : int
    progress : callable
        Told of the engine's build.

    Raises
    ------
    ValueError
        If a mirrored ring would not be symmetric, a wavefront has no atom in the simulated
        channels, or the output is too large.
    """

    def __init__(
        self,
        system: config.System,
        kernel: Kernel,
        *,
        engine: str,
        channels: int,
        mirror: bool,
        beside: Sequence[Kernel] = (),
        collective_cus: int = 0,
        mode: int = MODE_GEMM,
        cached_stores: bool = False,
        partial: np.ndarray | None = None,
        variation: Variation | None = None,
        trace: Trace | None = None,
        link_stall: float = 0.0,
        seed: int = 0,
        progress: Callable[[str, float], None] | None = None,
    ):
        self.kernels = kernel, *beside
        if not all(one.is_mapped for one in self.kernels):
            raise ValueError(
                f"an output of {sum(one.output_bytes for one in self.kernels)} bytes exceeds the "
                f"{MOST_OUTPUT_ATOMS * ATOM_BYTES} that the model maps"
            )
        self.system, self.kernel, self.channels, self.mirror = system, kernel, channels, mirror
        self.gpus = 1 if mirror else kernel.gpus
        self._collective_cus, self._cached_stores = collective_cus, cached_stores
        self._variation = variation
        self._aborted: set[int] = set()
        self.offset_bits, self.channel_bits = system.offset_bits, system.channel_bits
        self.parameters = parameters = hardware_parameters(
            system,
            channels=channels,
            contexts=len(self.kernels),
            with_data=partial is not None,
        )
        self._atoms_of = [output_atoms(system, one, channels) for one in self.kernels]
        self._output_atoms = self._atoms_of[0]
        for one, atoms in zip(self.kernels, self._atoms_of, strict=True):
            require_output_atoms(one, atoms, channels, system.dram.channels)
        self.chunk_start, chunk_atom = self._chunks()
        self._symmetry = symmetry(kernel, self._output_atoms, channels) if mirror else 0
        self.state = self._new_state(mode, partial, chunk_atom, link_stall, seed)
        self._exit = ExitStack()
        hardware: list[int] = []
        for g in range(self.gpus):
            one = self._exit.enter_context(
                self._engine(engine, parameters, trace if g == 0 else None, progress)
            )
            one.reset(self.state.outputs[g])
            hardware = hardware or [one.step_address]
            row = self.state.inputs[g].ctypes.data, self.state.outputs[g].ctypes.data
            hardware += [one.handle, *row]
        self.hardware = np.array(hardware, np.uint64)
        if progress:
            progress("Compiling the cycle loop, once", 0.0)
        advance(self.state, self.hardware, NEVER, 0)
        if progress:
            progress("Compiling the cycle loop, once", 1.0)

    def _engine(self, engine, parameters, trace, progress):
        if engine == "rtl":
            return Engine(parameters, trace, progress=progress)
        from sysmodel.engine.golden.engine import (
            GoldenEngine,  # compiles on import, which the RTL need not wait for
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

    def kernel_launch_cycles(self, phase: int) -> int:
        """Time from the start of a phase's kernel to its first workgroup."""
        late = 0 if self._variation is None else int(self._variation.kernel[phase])
        return self.system.cycles(self.system.gpu.kernel_launch_ns) + late

    @property
    def whole(self) -> int:
        """What the simulated channels' counts are to be multiplied with."""
        return self.system.dram.channels // self.channels

    @property
    def tiles(self) -> int:
        """Tiles that the trackers of all GPUs saw complete, of all contexts."""
        return int(self._told(K.tiles).sum())

    def _told(self, word: int) -> np.ndarray:
        """What the hardware of each GPU tells of each context: (gpus, contexts)."""
        first = self.channels * CHANNEL_OUTPUTS + word
        return self.state.outputs[:, first::CONTEXT_OUTPUTS][:, : len(self.kernels)]

    def write(self, writes: list[Writes]) -> None:
        """Hand each GPU's register port a list of writes."""
        for g, one in enumerate(writes):
            load_writes(self.state.gpu[g], one)

    def run(self, until: int, progress: Callable[[int], None] | None = None) -> int:
        """Advance until a condition of the loop holds; returns the cycles that it took.

        Raises
        ------
        SimulationError
            If the hardware refuses a write or reports an error, or nothing moves any more.
        """
        begin = self.now
        moved, last = begin, None
        while not advance(self.state, self.hardware, until, _SLICE_CYCLES):
            self._check()
            if progress:
                progress(self.now)
            activity = self._activity()
            if activity != last:
                moved, last = self.now, activity
            elif self.now - moved > _STUCK_CYCLES:
                raise SimulationError(
                    f"nothing has moved for {self.now - moved} cycles, in cycle {self.now}: "
                    f"{int(self.state.gpu['finished'].min())} of {self.kernel.workgroups} "
                    "workgroups are done on the slowest GPU"
                )
        self._check()
        return self.now - begin

    def launch(self, maps: list[Writes], *, skew_cycles: int = 0) -> int:
        """Map the outputs on every GPU, let the admissions reach the neighbours, start the kernels.

        Every GPU starts ``skew_cycles`` after the one before. Returns the first one's cycle, from
        which its workgroups are a kernel launch away.
        """
        fixed = self.state.fixed
        fixed["work"], fixed["flow"] = 0, 1
        self.write(maps)
        self.run(UNTIL_PROGRAMMED)
        self.await_cleared()
        contexts = range(len(self.kernels))
        self.write([[w for context in contexts for w in launch_writes(context)]] * self.gpus)
        self.run(UNTIL_PROGRAMMED)
        self.idle(int(fixed["link_latency"][0]) + _ADMISSION_CYCLES)
        self.write([measure_writes()] * self.gpus)
        fixed["work"] = 1
        self.start_kernel(skew_cycles)
        return self.now

    def await_cleared(self) -> None:
        """A launch is refused while the hardware clears its memories, as it does after reset."""
        begin = self.now
        for g, context in product(range(self.gpus), range(len(self.kernels))):
            while self.read(g, "STATUS", context)["aborting"]:
                if self.now - begin > _STUCK_CYCLES:
                    raise SimulationError(f"GPU {g}: the hardware's clearing does not end")

    def start_kernel(self, skew_cycles: int = 0) -> None:
        """Start the kernels; their first workgroups come a kernel launch later."""
        begin = self.now + self.kernel_launch_cycles(GEMM)
        skew = skew_cycles * np.arange(self.gpus)
        if self._variation is not None:
            skew += self._variation.skew[: self.gpus]
        self.state.gpu["start"] = np.tile(begin + skew, len(self.kernels))

    def abort(self, context: int) -> None:
        """End a context's kernel where it is, and give its launch up on every GPU."""
        self._aborted.add(context)
        rows = slice(context * self.gpus, (context + 1) * self.gpus)
        for cycle in ("finish_cycle", "done_cycle"):
            ended = self.state.gpu[cycle][rows]
            ended[ended < 0] = self.now
        self.write([abort_writes(context)] * self.gpus)
        self.run(UNTIL_PROGRAMMED)

    def idle(self, cycles: int) -> None:
        """Let time pass, with nothing to wait for."""
        end = self.now + cycles
        while self.now < end:
            advance(self.state, self.hardware, NEVER, end - self.now)

    def expect(self, chunks: list[int]) -> None:
        """Wait, from now on, for one more chunk on each GPU."""
        for g, chunk in enumerate(chunks):
            arriving = self.chunk_start[:, chunk + 1] - self.chunk_start[:, chunk]
            self.state.gpu["expected"][g] += int(arriving.sum())

    def _activity(self) -> tuple[int, ...]:
        gpu = self.state.gpu
        return tuple(int(gpu[name].sum()) for name in ("reads", "writes", "link_bytes", "finished"))

    def _check(self) -> None:
        for g in range(self.gpus):
            refused = int(self.state.gpu["refused"][g])
            if refused >= 0:
                name = register_at(refused)
                raise SimulationError(f"GPU {g}: the hardware refused the write of {name}")
            for context in np.flatnonzero(self._told(K.irq)[g]):
                if context in self._aborted:  # what comes of its former launch is reported, too
                    continue
                error = self.read(g, "ERROR", int(context))
                raise SimulationError(
                    f"GPU {g}: the hardware reports error {error['code']} for dispatch index "
                    f"{error['dispatch_index']}, wavefront {error['wavefront']}, "
                    f"context {context}, in cycle {self.now}"
                )

    def read(self, gpu: int, name: str, context: int = 0) -> dict[str, int]:
        """Fields of a register, read over the bus."""
        self.state.gpu["read_address"][gpu] = register_address(name, context)
        for _ in range(100):
            advance(self.state, self.hardware, NEVER, 1)
            if self.state.gpu["read_address"][gpu] < 0:
                return fields_of(name, int(self.state.gpu["read_value"][gpu]))
        raise SimulationError(f"GPU {gpu}: the register port does not answer")

    def _chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Atoms of each chunk, channel by channel: where they start, and a row of them."""
        kernel, output_atoms = self.kernel, self._output_atoms
        owner = np.repeat(np.arange(kernel.workgroups), np.diff(output_atoms.start))
        chunk = np.searchsorted(kernel.chunk_start, owner, side="right") - 1
        starts = np.zeros((self.channels, kernel.gpus + 1), np.int64)
        rows = []
        for c in range(self.channels):
            here = output_atoms.channel == c
            order = np.lexsort((output_atoms.atom[here], chunk[here]))
            rows.append(output_atoms.atom[here][order])
            starts[c, 1:] = np.cumsum(np.bincount(chunk[here], minlength=kernel.gpus))
        atoms = np.zeros((self.channels, max(map(len, rows))), np.int64)
        for c, row in enumerate(rows):
            atoms[c, : len(row)] = row
        return starts, atoms

    def _new_state(
        self,
        mode: int,
        partial: np.ndarray | None,
        chunk_atom: np.ndarray,
        link_stall: float,
        seed: int,
    ) -> State:
        state = self._empty_state(partial, chunk_atom, seed)
        self._set_up_ring(state, with_data=partial is not None)
        self._set_up_kernels(state, mode)
        if self._variation is not None:
            state.launch_late[:] = self._variation.workgroup[: self.gpus]
        self._set_up_collective(state)
        self._set_up_link(state, link_stall, seed)
        dram = self.system.dram
        set_up_memory(
            state,
            read_latency_cycles=self.system.read_latency_cycles,
            queue_depth=dram.queue_depth,
            clock_divider=self.system.t3.clock_divider,
        )
        return state

    @property
    def _kernel_cus(self) -> int:
        return self.system.gpu.compute_units - self._collective_cus

    @property
    def _slices_per_channel(self) -> int:
        return max(1, self.system.l2.slices // self.system.dram.channels)

    def _empty_state(self, partial: np.ndarray | None, chunk_atom: np.ndarray, seed: int) -> State:
        """Tables of the kernel, and memories that hold nothing of this reduction."""
        system, gpus, channels = self.system, self.gpus, self.channels
        slots = self._kernel_cus * system.gpu.workgroups_per_cu
        rows = gpus * len(self.kernels)
        atoms = 0 if partial is None else partial.shape[1]
        l2 = L2Parameters(
            slices=self._slices_per_channel,
            sets=system.l2_sets_per_slice,
            ways=system.l2.ways,
            mshrs=system.l2.mshrs_per_slice,
        )
        # What was there before is random, and of another epoch.
        before = np.random.default_rng(seed).integers(0, 1 << 63, (gpus, atoms, DATA_WORDS))
        return new_state(
            gpus,
            channels,
            max(-(-one.workgroups // slots) for one in self.kernels),
            contexts=len(self.kernels),
            **joined_tables(
                [
                    kernel_tables(one, atoms_of, channels, self.offset_bits, self.channel_bits)
                    for one, atoms_of in zip(self.kernels, self._atoms_of, strict=True)
                ]
            ),
            chunk_start=self.chunk_start,
            chunk_atom=chunk_atom,
            stored=before.astype(np.uint64),
            epoch=np.zeros((gpus, atoms), np.uint64),
            partial=np.zeros((gpus, 0, DATA_WORDS), np.uint64) if partial is None else partial,
            dram=new_dram(system.dram.timing_cycles, gpus * channels),
            l2=new_l2(l2, rows * channels),
            inputs=np.zeros((gpus, input_words(self.parameters)), np.uint64),
            outputs=np.zeros((gpus, output_words(self.parameters)), np.uint64),
        )

    def _set_up_ring(self, state: State, *, with_data: bool) -> None:
        system, kernel, fixed = self.system, self.kernel, state.fixed
        fixed["offset_bits"] = self.offset_bits
        fixed["channel_bits"] = self.channel_bits
        fixed["queue_depth"] = system.dram.queue_depth
        fixed["hit_latency"] = system.cycles(system.l2.latency_ns)
        fixed["l2_requests"] = self._slices_per_channel
        fixed["cached_stores"] = self._cached_stores
        fixed["flushes"] = self.system.l2.flush_at_kernel_end
        write_back_queue = system.l2.write_back_atoms * self._slices_per_channel
        check_room(write_back_queue, self._slices_per_channel, system.l2.mshrs_per_slice)
        fixed["write_back_queue"] = write_back_queue
        fixed["work"] = 1
        fixed["with_data"] = with_data
        fixed["contents_base"] = kernel.output_atom
        for row in range(len(state.gpu)):
            of_context, g = self.kernels[row // self.gpus], row % self.gpus
            state.gpu["first_workgroup"][row] = of_context.first_workgroup(g)
            first = scattered(g, 0, kernel.gpus)
            state.gpu["tracked_first"][row] = of_context.chunk_workgroups(first)

    def _set_up_kernels(self, state: State, mode: int) -> None:
        first_row = 0
        for context, kernel in enumerate(self.kernels):
            self._set_up_kernel(state, mode, context, first_row)
            first_row += kernel.workgroups

    def _set_up_kernel(self, state: State, mode: int, context: int, first_row: int) -> None:
        system, kernel, gpu = self.system, self.kernels[context], self.system.gpu

        def cu_cycles(cycles: float) -> int:
            return system.cycles(cycles / gpu.clock_mhz * 1e3)

        tile_bytes = (kernel.tile_m + kernel.tile_n) * kernel.depth_u * ELEMENT_BYTES
        store_bytes = kernel.tile_m * kernel.tile_n * ELEMENT_BYTES
        set_up(
            state,
            kernel,
            self._atoms_of[context],
            rows=slice(context * self.gpus, (context + 1) * self.gpus),
            first_row=first_row,
            mode=mode,
            compute_units=self._kernel_cus,
            workgroups_per_cu=gpu.workgroups_per_cu,
            prefetch=system.kernel.prefetch_depth,
            step_cycles=system.matrix_cycles(kernel.step_flops),
            launch_cycles=system.cycles(gpu.workgroup_launch_ns)
            + cu_cycles(system.kernel.prologue_cycles),
            lds_cycles=cu_cycles(tile_bytes / gpu.lds_bandwidth_bytes_per_cycle),
            epilogue_cycles=cu_cycles(system.kernel.epilogue_cycles),
            fetch_cycles=cu_cycles(tile_bytes / gpu.cu_bandwidth_bytes_per_cycle),
            store_cycles=cu_cycles(store_bytes / gpu.cu_bandwidth_bytes_per_cycle),
            dispatch_interval_cycles=gpu.dispatch_interval_ns / system.cycle_ns,
            store_buffer=system.l2.store_buffer_atoms * self._slices_per_channel,
            by_stage=gpu.dispatch == "stages",
        )

    def _set_up_collective(self, state: State) -> None:
        dram, gpu, collective = self.system.dram, self.system.gpu, self.system.collective
        # A batch that has no atom for each channel: fewer wavefronts with as many bytes in flight.
        atoms = collective.bytes_in_flight_per_wave / (dram.atom_bytes * dram.channels)
        set_up_collective(
            state,
            cus=self._collective_cus or gpu.compute_units,
            waves_per_cu=max(1, round(collective.waves_per_cu * min(1.0, atoms))),
            batch_atoms=max(1, int(atoms)),
            port_cycles=dram.channels
            * dram.atom_bytes
            / gpu.cu_bandwidth_bytes_per_cycle
            * (self.system.clock_mhz / gpu.clock_mhz),
        )

    def _set_up_link(self, state: State, link_stall: float, seed: int) -> None:
        dram, link, kernel = self.system.dram, self.system.link, self.kernel
        share = self.channels / dram.channels
        set_up_link(
            state,
            rate_bytes_per_cycle=link.bandwidth_gb_per_s * self.system.cycle_ns * share,
            latency_cycles=max(1, self.system.cycles(link.latency_ns)),
            buffer_packets=_LINK_BUFFER,
            mirror=self._symmetry,
            mirror_shift=kernel.workgroups // kernel.gpus,
            stall_share=link_stall,
            seed=seed,
            contexts=len(self.kernels),
        )
        # A packet that the link has no room for waits at the port.
        rooms = CHANNEL_INPUTS * np.arange(self.channels) + I.link_room
        state.inputs[:, rooms] = (1 << self.parameters.contexts) - 1
