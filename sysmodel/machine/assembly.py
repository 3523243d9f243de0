"""Assembly of a machine's state at cycle 0, from its queue and the parameters of its parts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.config import system as config
from sysmodel.config.link import Link
from sysmodel.config.topology import load_topology
from sysmodel.config.topology_shapes import Topology
from sysmodel.engine.ports import CHANNEL_INPUTS, DATA_WORDS, I, input_words, output_words
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.collective import new_tables
from sysmodel.gpu.geometry.output_atoms import OutputAtoms
from sysmodel.gpu.kernel import Kernel
from sysmodel.gpu.l2 import L2Parameters, new_l2
from sysmodel.gpu.tables import joined_tables, kernel_tables
from sysmodel.gpu.workgroups import ComputeUnits
from sysmodel.lib.neighbours import downstream
from sysmodel.memory.accesses import set_up_memory
from sysmodel.memory.dram import new_dram
from sysmodel.network.capacity import Capacity, PacketSizes
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import Fabric
from sysmodel.network.mirror import EVEN
from sysmodel.network.routes import Routes
from sysmodel.network.set_up import set_up_network

from .compute_units import set_up_collective_units, set_up_queue, slices_per_channel, units_of
from .queue import Queued, first_of_contexts
from .sampling import output_atoms, require_invariance, require_output_atoms, symmetry
from .slot_rows import sender_rows, slot_rows
from .state import State, new_state
from .variation import Variation

__all__ = ["Assembly"]

_LINK_BUFFER = 64  # packets of a channel and a link in the receiver's buffer
_ADMISSIONS_BESIDE = 256  # changes of an admission by launches


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """Inputs of a machine's state; see :class:`~.machine.Machine`.

    Raises
    ------
    ValueError
        From the methods, if one GPU or the simulated channels cannot represent all, or the GPU
        exceeds the limits of the model.
    """

    system: config.System
    queue: tuple[Queued, ...]
    parameters: T3Parameters
    gpus: int
    channels: int
    mirror: bool
    alone: bool
    mode: int
    collective_cus: int
    cached_stores: bool
    partial: np.ndarray | None
    contents_atoms: int
    stored_atoms: np.ndarray | None
    variation: Variation | None
    sender_share: float | None
    link_stall: float
    topology: Topology
    windows: bool
    tracked: TrackedSchedule
    seed: int

    def state(self) -> State:
        """Make the state at cycle 0."""
        state = self._empty()
        if self.stored_atoms is not None:
            self._leave_out_stores(state, self.stored_atoms)
        self._set_up_fixed(state)
        set_up_queue(
            state,
            self.system,
            self.queue,
            self._atoms_of,
            units=self._units,
            mode=self.mode,
            tracked=self.tracked,
        )
        if self.variation is not None:
            # The parts of a kernel that are launches of their own have its workgroups in turn.
            late = self.variation.workgroup[: self.gpus]
            state.launch_late[:, : late.shape[1]] = late
        cus = self.collective_cus or self.system.collective_cus
        set_up_collective_units(state, self.system, cus)
        return set_up_memory(
            self._set_up_network(state),
            read_latency_cycles=self.system.read_latency_cycles,
            queue_depth=self.system.dram.queue_depth,
            clock_divider=self.system.t3.clock_divider,
        )

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels in the order of the queue."""
        return tuple(one.kernel for one in self.queue)

    @cached_property
    def _atoms_of(self) -> list[OutputAtoms]:
        """Output atoms of each kernel in the simulated channels."""
        found = []
        for kernel in self.kernels:
            atoms = output_atoms(self.system, kernel, self.channels)
            if not self.alone:
                require_output_atoms(kernel, atoms, self.channels, self.system.dram.channels)
            found.append(atoms)
        return found

    def _symmetry(self) -> int:
        """Symmetry by which one GPU represents all; see :func:`.sampling.symmetry`."""
        if not self.mirror:
            return 0
        if self.alone:
            return EVEN
        return max(symmetry(*one, self.channels) for one in self._tracked)

    @property
    def _tracked(self) -> list[tuple[Kernel, OutputAtoms]]:
        """First kernel of each context, with its output atoms."""
        return [(self.kernels[n], self._atoms_of[n]) for n in first_of_contexts(self.queue)]

    @cached_property
    def chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Atoms of each chunk, of the first kernels of all contexts together, channel by channel:
        start indices, and rows of atoms."""
        tracked = self._tracked
        chunk = np.concatenate(
            [
                one.chunks.of_workgroup[np.repeat(np.arange(one.workgroups), np.diff(atoms.start))]
                for one, atoms in tracked
            ]
        )
        channel, atom = (
            np.concatenate([getattr(atoms, name) for _, atoms in tracked])
            for name in ("channel", "atom")
        )
        gpus, rows = self.kernels[0].gpus, []
        starts = np.zeros((self.channels, gpus + 1), np.int64)
        for c in range(self.channels):
            here = channel == c
            order = np.lexsort((atom[here], chunk[here]))
            rows.append(atom[here][order])
            starts[c, 1:] = np.cumsum(np.bincount(chunk[here], minlength=gpus))
        atoms = np.zeros((self.channels, max(map(len, rows))), np.int64)
        for c, row in enumerate(rows):
            atoms[c, : len(row)] = row
        return starts, atoms

    @property
    def _write_back_queue(self) -> int:
        """Capacity of a channel's queue of write-backs, in sectors."""
        return self.system.l2.write_back_atoms * slices_per_channel(self.system)

    def _empty(self) -> State:
        """Make a state with the kernels' tables and with memories from before the reduction."""
        system, gpus, channels = self.system, self.gpus, self.channels
        chunk_start, chunk_atom = self.chunks
        partial = self.partial
        values = 0 if partial is None else max(partial.shape[1], self.contents_atoms)
        l2 = L2Parameters(
            slices=slices_per_channel(self.system),
            sets=system.l2_sets_per_slice,
            ways=system.l2.ways,
            mshrs=system.l2.mshrs_per_slice,
        )
        # The previous contents are random and have another epoch.
        rows = slot_rows(self.kernels, gpus, self.tracked)
        before = np.random.default_rng(self.seed).integers(0, 1 << 63, (gpus, values, DATA_WORDS))
        return new_state(
            gpus,
            channels,
            sum(self._units.stages(one.workgroups) for one in self.kernels),
            kernels=len(self.kernels),
            contexts=len(first_of_contexts(self.queue)),
            **joined_tables(
                [
                    kernel_tables(one, atoms, channels, system.offset_bits, system.dram.channels)
                    for one, atoms in zip(self.kernels, self._atoms_of, strict=True)
                ]
            ),
            chunk_start=chunk_start,
            chunk_atom=chunk_atom,
            chunk_size=sum(one.chunk_atoms for one, _ in self._tracked),
            **new_tables(gpus, channels, tasks=1, operands=2, targets=1),
            slot_row=rows,
            sender_row=self._sender_rows(rows[0]),
            stored=before.astype(np.uint64),
            epoch=np.zeros((gpus, values), np.uint64),
            partial=np.zeros((gpus, 0, DATA_WORDS), np.uint64) if partial is None else partial,
            dram=new_dram(system.dram.timing_cycles, gpus * channels),
            l2=new_l2(l2, gpus * channels, self._write_back_queue),
            inputs=np.zeros((gpus, input_words(self.parameters)), np.uint64),
            outputs=np.zeros((gpus, output_words(self.parameters)), np.uint64),
        )

    def _sender_rows(self, rows: np.ndarray) -> np.ndarray:
        """Row of the tile that arrives for each slot, at the GPU that sends it, if one GPU stands
        for all: (kernels, slots)."""
        if not self.mirror or self.kernels[0].gpus == 1:
            return np.zeros((0, 0), np.int64)
        found = np.full_like(rows, -1)
        for n in first_of_contexts(self.queue):
            launch = self.tracked.map(self.kernels[n].chunks.sizes, 0)
            found[n] = sender_rows(launch, rows[n])
        return found

    def _leave_out_stores(self, state: State, stored: np.ndarray) -> None:
        """Let the workgroups of the first kernel store only their first ``stored`` atoms."""
        atoms, rows = self._atoms_of[0], self.kernels[0].workgroups
        state.stored_atoms[:, :rows] = stored
        place = np.arange(len(atoms.atom)) - np.repeat(atoms.start[:-1], np.diff(atoms.start))
        workgroup = np.repeat(np.arange(rows), np.diff(atoms.start))
        for g, of_gpu in enumerate(stored):
            here = place < of_gpu[workgroup]
            state.stored_per_wave[g, :rows] = 0
            np.add.at(state.stored_per_wave[g], (workgroup[here], atoms.wave[here]), 1)

    def _set_up_fixed(self, state: State) -> None:
        system, kernel, fixed = self.system, self.kernels[0], state.fixed
        fixed["offset_bits"] = self.system.offset_bits
        fixed["system_channels"] = self.system.dram.channels
        fixed["queue_depth"] = system.dram.queue_depth
        fixed["hit_latency"] = system.cycles(system.l2.latency_ns)
        fixed["l2_requests"] = slices_per_channel(self.system)
        fixed["cached_stores"] = self.cached_stores
        fixed["flushes"] = self.system.l2.flush_at_kernel_end
        fixed["write_back_queue"] = self._write_back_queue
        fixed["work"] = 1
        fixed["with_data"] = self.partial is not None
        fixed["contents_base"] = kernel.output_atom

    @cached_property
    def _units(self) -> ComputeUnits:
        return units_of(self.system, self.system.gpu.compute_units - self.collective_cus)

    @cached_property
    def fabric(self) -> Fabric:
        """Links between the GPUs, also between those that GPU 0 represents.

        A single GPU has the links of two GPUs, which it does not use.
        """
        gpus = self.kernels[0].gpus
        topology = self.topology if gpus > 1 else load_topology("ring")
        return expand(topology, max(2, gpus), self.system.link)

    @cached_property
    def _receivers(self) -> list[tuple[int, ...]]:
        """GPUs to which the hardware of each GPU sends."""
        sizes = self.kernels[0].chunks.sizes
        return [self.tracked.map(sizes, g).receivers for g in range(self.gpus)]

    @property
    def _by_neighbours(self) -> bool:
        """True if every GPU sends to its neighbour downstream."""
        gpus = self.kernels[0].gpus
        neighbours = [(int(downstream(g, gpus)),) for g in range(self.gpus)]
        return gpus == 1 or self._receivers == neighbours

    @cached_property
    def _routes(self) -> Routes:
        fabric = self.fabric
        if self.mirror:
            require_invariance(fabric)
        windows = (self.windows or not self._by_neighbours) and not self.mirror
        return Routes(fabric, self.channels, windows=windows, mirror=self.gpus < fabric.gpus)

    def _capacity(self) -> Capacity:
        """Rates and places of the network."""
        system, fabric = self.system, self.fabric
        return Capacity(
            routes=self._routes,
            rate_bytes=[
                link.values.bandwidth_gb_per_s * self._payload_share(link.values) * system.cycle_ns
                for link in fabric.links
            ],
            latency_cycles=[max(1, system.cycles(link.latency_ns)) for link in fabric.links],
            system_channels=system.dram.channels,
            buffer_packets=_LINK_BUFFER,
            packets=self._packets(),
        )

    def _packets(self) -> PacketSizes | None:
        """Make the sizes of T3's packets, which fit all links; packets of stores are all alike."""
        if self.sender_share is not None:
            return None
        values = [link.values for link in self.fabric.links]
        return PacketSizes(
            atom_bytes=[ATOM_BYTES * one.t3_payload_share for one in values],
            header_bytes=[one.t3_overhead_bytes * one.t3_payload_share for one in values],
            atoms=min(one.t3_payload_bytes for one in values) // ATOM_BYTES,
        )

    @property
    def payload_share(self) -> float:
        """Share of the line rate that is payload on the links of GPU 0, in the longest packets."""
        return self._payload_share(self.fabric.links[self._routes.links_of(0)[0]].values)

    def _payload_share(self, link: Link) -> float:
        """Share of a link's rate that is payload, of the senders of ``sender_share``."""
        if self.sender_share is None:
            return link.t3_payload_share
        return self.sender_share * (
            link.stores_payload_share / self.system.link.stores_payload_share
        )

    def _set_up_network(self, state: State) -> State:
        # The link always has space in this model: packets wait at the port instead.
        spaces = CHANNEL_INPUTS * np.arange(self.channels) + I.link_space
        state.inputs[:, spaces] = (1 << self.parameters.contexts) - 1
        return set_up_network(
            state,
            self._capacity(),
            mirror=self._symmetry(),
            stall_share=self.link_stall,
            receivers=None if self._by_neighbours else self._receivers,
            seed=self.seed,
            # Each atom of an output is on the wire once at a time, and so is each marker. A limit
            # changes as a workgroup completes, as its last command leaves, and with a launch.
            most_packets=sum(
                int(np.bincount(one.channel).max()) + one.per_wave.size for one in self._atoms_of
            ),
            tile_atom_bits=self.parameters.tile_atom_bits,
            most_admissions=_ADMISSIONS_BESIDE + 2 * max(one.workgroups for one in self.kernels),
        )
