"""Assembly of a machine's state at cycle 0, from its kernels and the parameters of its parts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.config import system as config
from sysmodel.config.limits import MOST_COLLECTIVE_WAVES
from sysmodel.config.topology_shapes import Topology
from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.engine.ports import CHANNEL_INPUTS, DATA_WORDS, I, input_words, output_words
from sysmodel.gpu.collective import new_tables
from sysmodel.gpu.collective_step import set_up_collective
from sysmodel.gpu.geometry.output_atoms import OutputAtoms
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.l2 import L2Parameters, new_l2
from sysmodel.gpu.pipe import MAIN_LOOPS, STEPS, TILES
from sysmodel.gpu.tables import joined_tables, kernel_tables
from sysmodel.gpu.workgroups import ComputeUnits, KernelTimes, PlacedKernel, set_up
from sysmodel.lib.ring import scattered
from sysmodel.memory.accesses import set_up_memory
from sysmodel.memory.dram import new_dram
from sysmodel.network.capacity import Capacity
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import Fabric
from sysmodel.network.routes import Routes
from sysmodel.network.set_up import set_up_network

from .sampling import output_atoms, require_invariance, require_output_atoms, symmetry
from .state import State, new_state
from .variation import Variation

__all__ = ["Assembly"]

_PIPE_TURNS = {"steps": STEPS, "main-loops": MAIN_LOOPS, "tiles": TILES}
_LINK_BUFFER = 64  # packets of a channel and a link in the receiver's buffer
_ADMISSIONS_BESIDE = 256  # changes of an admission by launches


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """Inputs of a machine's state; see :class:`~.machine.Machine`.

    Raises
    ------
    ValueError
        From the methods, if one GPU cannot represent all, a wavefront has no atom in the simulated
        channels, or the GPU exceeds the limits of the model.
    """

    system: config.System
    kernels: tuple[Kernel, ...]
    parameters: T3Parameters
    gpus: int
    channels: int
    mirror: bool
    mode: int
    collective_cus: int
    cached_stores: bool
    partial: np.ndarray | None
    variation: Variation | None
    payload_share: float | None
    link_stall: float
    topology: Topology
    windows: bool
    seed: int

    def state(self) -> State:
        """Make the state at cycle 0."""
        state = self._empty()
        self._set_up_ring(state)
        self._set_up_kernels(state)
        if self.variation is not None:
            state.launch_late[:] = self.variation.workgroup[: self.gpus]
        self._set_up_collective(state)
        return set_up_memory(
            self._set_up_network(state),
            read_latency_cycles=self.system.read_latency_cycles,
            queue_depth=self.system.dram.queue_depth,
            clock_divider=self.system.t3.clock_divider,
        )

    @cached_property
    def _atoms_of(self) -> list[OutputAtoms]:
        """Output atoms of each kernel in the simulated channels."""
        found = []
        for kernel in self.kernels:
            atoms = output_atoms(self.system, kernel, self.channels)
            require_output_atoms(kernel, atoms, self.channels, self.system.dram.channels)
            found.append(atoms)
        return found

    def _symmetry(self) -> int:
        return symmetry(self.kernels[0], self._atoms_of[0], self.channels) if self.mirror else 0

    @cached_property
    def chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Atoms of each chunk, channel by channel: start indices, and rows of atoms."""
        kernel, output_atoms = self.kernels[0], self._atoms_of[0]
        owner = np.repeat(np.arange(kernel.workgroups), np.diff(output_atoms.start))
        chunk = kernel.chunks.of_workgroup[owner]
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

    @property
    def _kernel_cus(self) -> int:
        return self.system.gpu.compute_units - self.collective_cus

    @property
    def _slices_per_channel(self) -> int:
        return max(1, self.system.l2.slices // self.system.dram.channels)

    @property
    def _write_back_queue(self) -> int:
        """Capacity of a channel's queue of write-backs, in sectors."""
        return self.system.l2.write_back_atoms * self._slices_per_channel

    def _empty(self) -> State:
        """Make a state with the kernels' tables and with memories from before the reduction."""
        system, gpus, channels = self.system, self.gpus, self.channels
        slots = self._kernel_cus * system.gpu.workgroups_per_cu
        rows = gpus * len(self.kernels)
        chunk_start, chunk_atom = self.chunks
        partial = self.partial
        values = 0 if partial is None else partial.shape[1]
        l2 = L2Parameters(
            slices=self._slices_per_channel,
            sets=system.l2_sets_per_slice,
            ways=system.l2.ways,
            mshrs=system.l2.mshrs_per_slice,
        )
        # The previous contents are random and have another epoch.
        before = np.random.default_rng(self.seed).integers(0, 1 << 63, (gpus, values, DATA_WORDS))
        return new_state(
            gpus,
            channels,
            max(-(-one.workgroups // slots) for one in self.kernels),
            contexts=len(self.kernels),
            **joined_tables(
                [
                    kernel_tables(one, atoms, channels, system.offset_bits, system.dram.channels)
                    for one, atoms in zip(self.kernels, self._atoms_of, strict=True)
                ]
            ),
            chunk_start=chunk_start,
            chunk_atom=chunk_atom,
            chunk_size=self.kernels[0].chunk_atoms,
            **new_tables(gpus, channels, tasks=1, operands=2, targets=1),
            stored=before.astype(np.uint64),
            epoch=np.zeros((gpus, values), np.uint64),
            partial=np.zeros((gpus, 0, DATA_WORDS), np.uint64) if partial is None else partial,
            dram=new_dram(system.dram.timing_cycles, gpus * channels),
            l2=new_l2(l2, rows * channels, self._write_back_queue),
            inputs=np.zeros((gpus, input_words(self.parameters)), np.uint64),
            outputs=np.zeros((gpus, output_words(self.parameters)), np.uint64),
        )

    def _set_up_ring(self, state: State) -> None:
        system, kernel, fixed = self.system, self.kernels[0], state.fixed
        fixed["offset_bits"] = self.system.offset_bits
        fixed["system_channels"] = self.system.dram.channels
        fixed["queue_depth"] = system.dram.queue_depth
        fixed["hit_latency"] = system.cycles(system.l2.latency_ns)
        fixed["l2_requests"] = self._slices_per_channel
        fixed["cached_stores"] = self.cached_stores
        fixed["flushes"] = self.system.l2.flush_at_kernel_end
        fixed["write_back_queue"] = self._write_back_queue
        fixed["work"] = 1
        fixed["with_data"] = self.partial is not None
        fixed["contents_base"] = kernel.output_atom
        for row in range(len(state.gpu)):
            chunks = self.kernels[row // self.gpus].chunks
            first = scattered(row % self.gpus, 0, kernel.gpus)
            state.gpu["first_workgroup"][row] = chunks.start[first]
            state.gpu["tracked_first"][row] = chunks.sizes[first]

    def _set_up_kernels(self, state: State) -> None:
        first_row = 0
        for context, kernel in enumerate(self.kernels):
            self._set_up_kernel(state, context, first_row)
            first_row += kernel.workgroups

    def _set_up_kernel(self, state: State, context: int, first_row: int) -> None:
        system, tiling, gpu = self.system, self.kernels[context].tiling, self.system.gpu

        def cu_cycles(cycles: float) -> int:
            return system.cycles(cycles / gpu.clock_mhz * 1e3)

        tile_bytes = (tiling.tile_m + tiling.tile_n) * tiling.depth_u * ELEMENT_BYTES
        store_bytes = tiling.tile_m * tiling.tile_n * ELEMENT_BYTES
        placed = PlacedKernel(
            tiling=tiling,
            output_atoms=self._atoms_of[context],
            mode=self.mode,
            rows=slice(context * self.gpus, (context + 1) * self.gpus),
            first_row=first_row,
        )
        units = ComputeUnits(
            cus=self._kernel_cus,
            workgroups_per_cu=gpu.workgroups_per_cu,
            prefetch=tiling.prefetch_depth,
            store_buffer=system.l2.store_buffer_atoms * self._slices_per_channel,
            dispatch_interval_cycles=gpu.dispatch_interval_ns / system.cycle_ns,
            by_stage=gpu.dispatch == "stages",
            pipe_turns=_PIPE_TURNS[system.kernel.pipe_turns],
        )
        times = KernelTimes(
            step=system.matrix_cycles(tiling.step_flops),
            launch=system.cycles(gpu.workgroup_launch_ns)
            + cu_cycles(system.kernel.prologue_cycles),
            lds=cu_cycles(tile_bytes / gpu.lds_bandwidth_bytes_per_cycle),
            epilogue=cu_cycles(system.kernel.epilogue_cycles),
            fetch=cu_cycles(tile_bytes / gpu.cu_bandwidth_bytes_per_cycle),
            store=cu_cycles(store_bytes / gpu.cu_bandwidth_bytes_per_cycle),
        )
        set_up(state, placed, units, times)

    def _set_up_collective(self, state: State) -> None:
        dram, gpu, collective = self.system.dram, self.system.gpu, self.system.collective
        # A batch has whole atoms of each channel; the number of wavefronts makes up for the
        # difference in bytes in flight.
        atoms = collective.bytes_in_flight_per_wave / (dram.atom_bytes * dram.channels)
        batch = max(1, round(atoms))
        waves = round(collective.waves_per_cu * atoms / batch)
        cus = self.collective_cus or self.system.collective_cus
        set_up_collective(
            state,
            cus=cus,
            waves_per_cu=min(max(1, waves), MOST_COLLECTIVE_WAVES // cus),
            batch_atoms=batch,
            port_cycles=dram.channels
            * dram.atom_bytes
            / gpu.cu_bandwidth_bytes_per_cycle
            * (self.system.clock_mhz / gpu.clock_mhz),
        )

    @cached_property
    def fabric(self) -> Fabric:
        """Links between the GPUs, also between those that GPU 0 represents.

        A single GPU has the links of two, which it does not use.
        """
        return expand(self.topology, max(2, self.kernels[0].gpus), self.system.link)

    def _capacity(self) -> Capacity:
        """Rates and places of the network."""
        system, fabric = self.system, self.fabric
        if self.mirror:
            require_invariance(fabric)
        return Capacity(
            routes=Routes(
                fabric,
                self.channels,
                windows=self.windows,
                mirror=self.gpus < fabric.gpus,
            ),
            rate_bytes=[
                link.values.bandwidth_gb_per_s * self._payload_share(link.values) * system.cycle_ns
                for link in fabric.links
            ],
            latency_cycles=[max(1, system.cycles(link.latency_ns)) for link in fabric.links],
            system_channels=system.dram.channels,
            buffer_packets=_LINK_BUFFER,
        )

    def _payload_share(self, link: config.Link) -> float:
        """Share of a link's rate that is payload, of the senders of ``payload_share``."""
        if self.payload_share is None:
            return link.t3_payload_share
        return self.payload_share * (
            link.stores_payload_share / self.system.link.stores_payload_share
        )

    def _set_up_network(self, state: State) -> State:
        kernel = self.kernels[0]
        # The link always has space in this model: packets wait at the port instead.
        spaces = CHANNEL_INPUTS * np.arange(self.channels) + I.link_space
        state.inputs[:, spaces] = (1 << self.parameters.contexts) - 1
        return set_up_network(
            state,
            self._capacity(),
            mirror=self._symmetry(),
            mirror_shift=kernel.workgroups // kernel.gpus,
            stall_share=self.link_stall,
            seed=self.seed,
            contexts=len(self.kernels),
            # Each atom of an output is on the wire once at a time. A limit changes as a workgroup
            # completes, as its last command leaves, and with a launch.
            most_packets=sum(int(np.bincount(one.channel).max()) for one in self._atoms_of),
            most_admissions=_ADMISSIONS_BESIDE + 2 * max(one.workgroups for one in self.kernels),
        )
