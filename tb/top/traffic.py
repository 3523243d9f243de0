"""Seeded traffic for the top: stores of a kernel, packets of its neighbours, and a DRAM."""

import numpy as np

from rtl.interface.configuration import GPU_BITS
from rtl.interface.encodings import Access, Origin, PacketKind, StoreKind
from rtl.interface.timebase import TICK_CYCLES
from rtl.parameters import T3Parameters
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    G,
    I,
    J,
    K,
    O,
)
from tb.top.host import Host, Kernel

__all__ = ["Gated", "Storm", "Traffic", "of_peers"]

_PEER_MOVES = 0.2
"""Probability that a peer's admission changes in a cycle; the model skips unchanged cycles."""

_ACKNOWLEDGED = ("access", "atom", "owner", "dispatch_index", "wavefront")


def of_peers(p: T3Parameters, name: str) -> slice:
    """Return the columns of a context's input for each peer."""
    first = getattr(J, f"{name}_0")
    return slice(first, first + p.peers)


class _Work:
    """Tiles of a context that still need updates, and the progress of its kernel."""

    def __init__(self, rng: np.random.Generator, kernel: Kernel, tile_atoms: int):
        self.kernel = kernel
        self.starts = kernel.base, kernel.last_start + 1
        self.local, self.remote = [], []
        for dispatch_index in range(kernel.slots_end):
            outer_edge, inner_edge = (int(edge) for edge in rng.integers(0, 2, 2))
            for wavefront in range(max(1, kernel.wavefronts - inner_edge)):
                count, arriving = (int(rng.integers(least, tile_atoms + 1)) for least in (1, 0))
                tile = {
                    "dispatch_index": dispatch_index,
                    "wavefront": wavefront,
                    "outer_edge": outer_edge,
                }
                tile |= {"inner_edge": inner_edge, "tile_atoms": count}
                if dispatch_index < kernel.tracked_end:
                    self.local += [tile] * count + [tile | {"end": True}]
                if dispatch_index >= kernel.remote:
                    marker = tile | {"tile_atoms": arriving, "end": True}
                    self.remote += [tile] * arriving + [marker]
        self.limit = self.dispatched = self.finished = self.generation = 0
        self.begun = self.running = False


class Traffic:
    """Model of the top's environment, cycle by cycle.

    Every tile gets its contributions, one of the kernel and one of the neighbours' packets, each
    with an end-of-tile marker of one share, in any order that the admission allows. Tiles behind
    the kernel's get tracked stores of a neighbour alone.

    Parameters
    ----------
    kernels : Kernel
        One kernel for each context.
    noise : float
        Probability of a store or packet that belongs to no tile.
    tile_atoms : int
        Largest number of atoms of a tile. With many atoms, all channels update the same one or two
        tiles.

    Attributes
    ----------
    answers : bool
        The memory acknowledges updates and returns data; while false, it only takes requests.
    """

    answers = True

    def __init__(
        self,
        rng: np.random.Generator,
        p: T3Parameters,
        kernel: Kernel,
        host: Host,
        *kernels: Kernel,
        pace: float = 0.5,
        noise: float = 0.0,
        tile_atoms: int = 3,
    ):
        self._rng = rng
        self._p = p
        self._pace = pace
        self._noise = noise
        self._kernels, self._tile_atoms = (kernel, *kernels), tile_atoms
        # Slots that each peer of a context is ahead.
        self._ahead = {one.number: rng.integers(0, 4, p.peers) for one in self._kernels}
        # A random generator of its own, so that the other traffic is the same with and without it.
        self._dispatcher, self._links, self._timebase = rng.spawn(3)
        self._issued = [[] for _ in range(p.channels)]
        self._reads = [[] for _ in range(p.channels)]
        self._cycle = 0
        self.begin(host)

    def begin(self, host: Host) -> None:
        """Continue with this host, and with all tiles of the kernels once more."""
        self._host = host
        self._works = [_Work(self._rng, one, self._tile_atoms) for one in self._kernels]

    def withdraw(self, number: int, host: Host) -> None:
        """Drop the remaining tiles of this kernel, and continue with another host."""
        self._host = host
        self._works[number].local.clear()
        self._works[number].remote.clear()

    def _work(self) -> _Work:
        """Choose one of the contexts at random."""
        works = self._works
        return works[0] if len(works) == 1 else works[int(self._rng.integers(0, len(works)))]

    def _pick(self, tiles: list[dict], limit: int) -> int | None:
        near = [index for index, tile in enumerate(tiles[:24]) if tile["dispatch_index"] < limit]
        return int(self._rng.choice(near)) if near else None

    def _data(self, block: np.ndarray, column: int) -> None:
        block[column : column + 4] = self._rng.integers(0, 1 << 64, 4, np.uint64)

    def _store(self, block: np.ndarray, ready: bool) -> None:
        rng, work = self._rng, self._work()
        kernel, limit = work.kernel, work.limit
        block[I.stores_valid] = 0
        if rng.random() >= self._pace or not work.begun:
            return
        block[I.stores_atom] = rng.integers(*work.starts)
        block[I.stores_context] = kernel.context
        block[I.stores_generation] = work.generation
        block[I.stores_kind] = StoreKind.STORE.value
        self._data(block, I.stores_data_0)
        block[I.stores_tile_atoms] = rng.integers(0, 8)
        block[I.stores_shares] = 1
        if rng.random() < self._noise:
            block[I.stores_valid] = 1
            block[I.stores_kind] = rng.integers(0, 2)
            block[I.stores_dispatch_index] = rng.integers(0, kernel.workgroups + 3)
            block[I.stores_wavefront] = rng.integers(0, self._p.wavefronts)
            block[I.stores_context] = rng.integers(2, 5)
            block[I.stores_generation] = (work.generation + rng.integers(0, 2)) % 16
            block[I.stores_atom] = rng.integers(0, kernel.limit * 2)
            return
        index = self._pick(work.local, limit)
        if index is None:
            return
        tile = work.local[index]
        block[I.stores_valid] = 1
        block[I.stores_dispatch_index] = tile["dispatch_index"]
        block[I.stores_wavefront] = tile["wavefront"]
        if "end" in tile:
            block[I.stores_kind] = StoreKind.END_OF_TILE.value
            for name in ("tile_atoms", "outer_edge", "inner_edge"):
                block[getattr(I, f"stores_{name}")] = tile[name]
        if ready:
            work.local.pop(index)

    def _packet(self, block: np.ndarray, ready: bool) -> None:
        rng, work = self._rng, self._work()
        kernel, limit = work.kernel, work.limit
        block[I.link_in_valid] = 0
        if rng.random() >= self._pace or not work.begun:
            return
        block[I.link_in_atom] = rng.integers(*work.starts)
        block[I.link_in_context] = kernel.context
        block[I.link_in_source] = self._sender(kernel, PacketKind.UPDATE)
        # Copies of the previous launch may still arrive.
        former = rng.random() < self._noise / 2
        block[I.link_in_generation] = (work.generation - int(former)) % 16
        block[I.link_in_kind] = PacketKind.UPDATE.value
        # In the host's commands, the number of the command is also its operation and its data type.
        block[[I.link_in_op, I.link_in_dtype]] = rng.integers(0, 3)
        self._data(block, I.link_in_data_0)
        if rng.random() < 0.1 + self._noise:
            block[I.link_in_valid] = 1
            block[I.link_in_slot] = rng.integers(0, kernel.workgroups + 3)
            block[I.link_in_wavefront] = rng.integers(0, self._p.wavefronts)
            if rng.random() < self._noise:
                block[I.link_in_kind] = rng.integers(0, 4)
                block[I.link_in_context] = rng.integers(2, 5)
                block[I.link_in_atom] = rng.integers(0, kernel.limit * 2)
            else:
                block[I.link_in_kind] = PacketKind.STORE.value
                block[I.link_in_source] = self._sender(kernel, PacketKind.STORE)
            return
        index = self._pick(work.remote, limit)
        if index is None:
            return
        tile = work.remote[index]
        block[I.link_in_valid] = 1
        if tile["dispatch_index"] >= kernel.tracked_end:
            block[I.link_in_kind] = PacketKind.PLACE.value
            block[I.link_in_source] = self._sender(kernel, PacketKind.PLACE)
        if rng.random() >= self._noise:
            command = 2 if tile["dispatch_index"] >= kernel.own else 1
            block[[I.link_in_op, I.link_in_dtype]] = command
        block[I.link_in_slot] = tile["dispatch_index"]
        block[I.link_in_wavefront] = tile["wavefront"]
        if "end" in tile:
            block[I.link_in_kind] = PacketKind.END.value
            edges = tile["outer_edge"] | tile["inner_edge"] << 1
            block[I.link_in_atom] = tile["tile_atoms"] | (edges | 1 << 2) << self._p.tile_atom_bits
        if ready:
            work.remote.pop(index)

    def _sender(self, kernel: Kernel, kind: PacketKind) -> int:
        """Return the rank of a peer that may send this kind of packet; as noise, any rank."""
        rng, senders = self._rng, kernel.senders(kind)
        return int(rng.integers(0, 8) if rng.random() < self._noise else rng.choice(senders))

    def _dram(self, number: int, block: np.ndarray, out: np.ndarray) -> None:
        """Accept requests, and issue them out of order; reads return immediately or much later."""
        rng = self._rng
        issued, reads = self._issued[number], self._reads[number]
        block[I.memory_owes] = bool(issued or reads)
        block[I.dram_ready] = rng.random() < 0.3 + self._pace / 2
        block[I.occupancy] = rng.integers(0, 8) if rng.random() < 0.5 else rng.integers(0, 100)
        block[I.issue_acks_valid] = block[I.returns_valid] = 0
        if issued and self.answers and rng.random() < 0.7:
            index = int(rng.integers(0, min(3, len(issued))))
            block[I.issue_acks_valid] = 1
            for name, value in zip(_ACKNOWLEDGED, issued[index], strict=True):
                block[getattr(I, f"issue_acks_{name}")] = value
            if out[O.issue_acks_ready]:
                issued.pop(index)
        if reads and self.answers and rng.random() < 0.6:
            block[I.returns_valid] = 1
            block[I.returns_slot] = reads.pop(int(rng.integers(0, len(reads))))
            self._data(block, I.returns_data_0)
        if block[I.dram_ready] and out[O.dram_valid]:
            access = out[O.dram_access]
            if out[O.dram_origin] == Origin.COMMUNICATION.value and access == Access.READ.value:
                reads.append(out[O.dram_tag])
            elif access == Access.UPDATE.value or (
                out[O.dram_origin] == Origin.COMMUNICATION.value
            ):
                issued.append([out[getattr(O, f"dram_{name}")] for name in _ACKNOWLEDGED])

    def _progress(self, work: _Work, dispatch_limit: int) -> tuple[int, int]:
        """Return the numbers of dispatched and finished workgroups: as admitted, or random."""
        rng, workgroups = self._dispatcher, work.kernel.workgroups
        if rng.random() < self._noise:
            dispatched, finished = rng.integers(0, 1 << self._p.credit_limit_bits, 2).tolist()
            return dispatched, finished
        if work.finished == workgroups and rng.random() < 0.01:
            work.dispatched = work.finished = 0
        if rng.random() < self._pace / 8:
            work.dispatched += work.dispatched < min(dispatch_limit, workgroups)
        if rng.random() < self._pace / 10:
            work.finished += work.finished < work.dispatched
        return work.dispatched, work.finished

    def _flow(self, work: _Work, outputs: np.ndarray, inputs: np.ndarray) -> None:
        """Drive the peers' admission, which equals this GPU's at an earlier or later time."""
        p, number = self._p, work.kernel.number
        given = inputs[p.channels * CHANNEL_INPUTS + number * CONTEXT_INPUTS :]
        seen = outputs[p.channels * CHANNEL_OUTPUTS + number * CONTEXT_OUTPUTS :]
        programmed = self._host.programmed
        # Admissions of the last launch do not apply to the next launch.
        work.begun = programmed and seen[K.generation] == work.kernel.generation
        work.running |= bool(work.begun and not seen[K.done])
        work.limit = int(seen[K.credit_limit_out]) if work.running else 0
        work.generation = int(seen[K.generation])
        ahead = self._ahead[number]
        if self._rng.random() < _PEER_MOVES:
            ahead[self._rng.integers(0, p.peers)] = self._rng.integers(0, 4)
        behind = self._cycle // 64 % 8
        limits = np.maximum(work.limit + ahead + work.kernel.shift - behind, 0)
        given[of_peers(p, "credit_limit_in")] = limits
        progress = self._progress(work, int(seen[K.dispatch_limit]) if programmed else 0)
        given[[J.dispatched, J.finished]] = progress
        # Sometimes peers, or the dispatcher, are behind or ahead.
        other = self._cycle % 256 < 8
        behind = self._rng.integers(-1, 2, p.peers) * other
        given[of_peers(p, "generation_in")] = (work.generation + behind) % 16
        aborted = self._links.random(p.peers) < self._noise / 10 / p.peers
        given[of_peers(p, "aborted_in")] = aborted.astype(np.uint64) << self._cycle % 8
        given[J.kernel_generation] = (work.generation + other * (self._cycle & 1)) % 16
        if self._noise:
            # A port is down for some cycles, and loses packets in some of them.
            given[J.lost] = self._cycle % 512 < 32 and self._links.random() < 0.5
            given[J.lost_gpu] = self._links.integers(0, 1 << GPU_BITS)
            given[J.lost_port] = self._links.integers(0, p.channels)

    def _reduce(self, block: np.ndarray) -> None:
        rng = self._rng
        block[I.nmc_in_valid] = rng.random() < 0.5
        self._data(block, I.nmc_in_stored_0)
        self._data(block, I.nmc_in_operand_0)
        block[I.nmc_in_stored_epoch] = rng.integers(0, 3)
        block[I.nmc_in_owner] = rng.integers(0, self._p.contexts)
        block[I.nmc_in_op], block[I.nmc_in_dtype] = rng.integers(0, 3, 2)

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        rng = self._rng
        self._host(outputs, inputs)
        for work in self._works:
            self._flow(work, outputs, inputs)
        # Sometimes a tick comes irregularly.
        ticks = self._cycle % TICK_CYCLES == 0 or self._timebase.random() < 0.01
        inputs[self._p.channels * CHANNEL_INPUTS + G.tick] = ticks
        self._cycle += 1
        fails = self._links.random() < 0.01
        for number in range(self._p.channels):
            block = inputs[number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
            out = outputs[number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
            block[I.reads_valid] = rng.random() < self._pace
            block[I.reads_atom] = rng.integers(0, 1 << self._p.atom_address_bits)
            block[I.reads_tag] = rng.integers(0, 1 << self._p.tag_bits)
            # Sometimes the link stalls until every queue behind it is full.
            stalled = self._cycle % 512 < 96
            block[I.link_out_ready] = not stalled and rng.random() < 0.4 + self._pace / 2
            # Sometimes the link has no space for one context, or for any context.
            block[I.link_space] = (1 << self._p.contexts) - 1
            if self._cycle % 384 < 64:
                block[I.link_space] = rng.integers(0, 1 << self._p.contexts)
            # Several links fail in the same cycle, with both errors.
            block[[I.link_down, I.link_reset]] = fails & (self._links.random(2) < 0.7)
            block[I.stores_valid] = block[I.link_in_valid] = 0
            if self._host.programmed:
                self._store(block, bool(out[O.stores_ready]))
                self._packet(block, bool(out[O.link_in_ready]))
            self._dram(number, block, out)
            if self._p.with_data:
                self._reduce(block)


class Storm(Traffic):
    """Traffic of random acknowledgements and end-of-tile markers of few tiles, which causes the
    tracker's errors.
    """

    def _dram(self, number: int, block: np.ndarray, out: np.ndarray) -> None:
        rng = self._rng
        super()._dram(number, block, out)
        if not self._host.programmed:
            return
        block[I.memory_owes] = 1
        block[I.issue_acks_valid] = rng.random() < self._pace
        block[I.issue_acks_access] = Access.UPDATE.value
        block[I.issue_acks_atom] = rng.integers(0, 1 << self._p.atom_address_bits)
        # A tile that never ends, until its count overflows, and several tiles in one set.
        busy = rng.random() < 0.2
        block[I.issue_acks_dispatch_index] = 9 if busy else rng.integers(0, 3) * self._p.sets + 8
        block[I.issue_acks_wavefront] = 0 if busy else rng.integers(0, 2)
        block[I.issue_acks_owner] = self._work().kernel.number

    def _store(self, block: np.ndarray, ready: bool) -> None:
        rng, work = self._rng, self._work()
        block[I.stores_valid] = rng.random() < 0.3
        block[I.stores_kind] = StoreKind.END_OF_TILE.value
        block[I.stores_atom] = work.kernel.base
        block[I.stores_context] = work.kernel.context
        block[I.stores_generation] = work.generation
        block[I.stores_dispatch_index] = rng.choice([8, 8, 10])
        block[I.stores_wavefront] = rng.integers(0, 2)
        block[I.stores_tile_atoms] = rng.integers(0, 3)
        block[I.stores_shares] = rng.choice([0, 1, 1, 2, 3])


class Gated(Traffic):
    """Traffic in which the peers admit nothing, or the link accepts nothing, until
    ``closed`` is changed.
    """

    closed = ""

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        super().__call__(outputs, inputs)
        if self.closed == "limit":
            first_in, first_out = (self._p.channels * n for n in (CHANNEL_INPUTS, CHANNEL_OUTPUTS))
            given, p = inputs[first_in:], self._p
            given[of_peers(p, "credit_limit_in")] = 0
            given[of_peers(p, "generation_in")] = outputs[first_out + K.generation]
        if self.closed == "link":
            end = self._p.channels * CHANNEL_INPUTS
            inputs[I.link_out_ready : end : CHANNEL_INPUTS] = 0
