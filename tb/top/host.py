"""Host that programs the top, and then reads and writes its registers at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driver.python import DOWNSTREAM, T3, UPSTREAM, Context, Gate, Peer, Recorder, Transfer
from rtl.interface.encodings import (
    Datatype,
    Granularity,
    InjectTarget,
    Operation,
    PacketKind,
    Policy,
)
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H

__all__ = ["THIRD", "Host", "Injections", "Kernel"]

_MAP = register_map.load()
THIRD = 2
"""Peer of a kernel besides those of a ring: tiles leave to it as well, and its updates come."""


@dataclass(kw_only=True)
class Kernel:
    """Small launch: three ranges of dispatch indices, tiles of a few atoms.

    Stores leave to one peer, complete tiles to two of them. ``number`` is the number of the
    context, ``context`` its address space; ``copied`` allows the upstream GPU to send copies.
    With ``placed`` tiles, stores leave as tracked stores, and so many tiles arrive as tracked
    stores in slots behind the last workgroup, and are sent on. With a ``gate`` the workgroups of
    each range wait for another context.
    """

    workgroups: int = 24
    shift: int = 6
    remote: int = 6
    tracked_end: int = 24
    own: int = 18
    wavefronts: int = 2
    credit_window: int = 8
    command_window: int = 14
    number: int = 0
    context: int = 3
    copied: bool = True
    base: int = 1 << 12
    limit: int = 1 << 16
    outer_extent: int = 4
    inner_extent: int = 9
    stride: int = 37
    placed: int = 0
    gate: Gate | None = None

    @property
    def slots_end(self) -> int:
        """End of the tracked slots."""
        return self.tracked_end + self.placed

    @property
    def last_start(self) -> int:
        """Last atom at which a tile within the region may begin."""
        return self.limit - (self.outer_extent - 1) * self.stride - self.inner_extent

    granularity: Granularity = Granularity.WORKGROUP
    group_log2: int = 0
    policy: Policy = Policy.ROUND_ROBIN
    timeout: int = 0
    generation: int = 5

    @property
    def rank(self) -> int:
        """Rank of this GPU; the ranks of different contexts differ."""
        return 4 * self.number

    @property
    def peers(self) -> dict[int, Peer]:
        """Peers by index: those of a ring, and one whose updates come and to which tiles leave."""
        kinds = {
            DOWNSTREAM: {"sends_stores": True, "sends_updates": True},
            UPSTREAM: {"takes_stores": self.copied, "takes_updates": True},
        }
        kinds[THIRD] = kinds[DOWNSTREAM] | {"takes_updates": True}
        return {
            index: Peer(
                gpu=70 + 10 * self.number + index,
                rank=self.rank + 1 + index,
                space=(self.context + index) % 8,
                **allowed,
            )
            for index, allowed in kinds.items()
        }

    def senders(self, kind: PacketKind) -> list[int]:
        """Return the ranks of the peers whose packets of this kind the context accepts."""
        return [
            peer.rank
            for peer in self.peers.values()
            if (peer.takes_stores and kind is not PacketKind.UPDATE)
            or (peer.takes_updates and kind in (PacketKind.UPDATE, PacketKind.END))
        ]

    def slot(self, dispatch_index: int) -> int:
        """Return a tile's slot at the peers; all of them fit into a packet."""
        return dispatch_index + self.shift

    def program(self, p: T3Parameters) -> list[tuple[int, int]]:
        """Return the register writes that set the kernel up and launch it, made by the driver."""
        return [*self.tables(p), *self.start()]

    def start(self) -> list[tuple[int, int]]:
        """Return the writes that set the peers and launch the kernel, for which the context must be
        idle, also after a reset."""
        recorder = Recorder()
        context = Context(recorder, self.number, ranges=0)
        context.set_rank(self.rank)
        for index, peer in self.peers.items():
            context.peer(index, peer)
        context.reset_epochs()
        context.launch()
        return recorder.writes

    def tables(self, p: T3Parameters) -> list[tuple[int, int]]:
        """Return the writes in front of those of :meth:`start`."""
        recorder = Recorder()
        gpu = T3(recorder)
        gpu.set_arbitration(
            self.policy,
            threshold=3,
            starvation_cycles=9,
            measure_log2=5,
            cuts=(10, 30, 60),
            levels=(80, 40, 20),
        )
        context = Context(recorder, self.number, ranges=0)  # after a reset
        # A kernel whose tiles do not find space in its share of the ways runs alone.
        alone = self.wavefronts > p.way_share(self.number).bit_count()
        context.assign(self.context, ways=(1 << p.ways) - 1 if alone else None)
        context.region(1, self.base * p.atom_bytes, self.limit * p.atom_bytes)
        for index in range(3):
            context.command(index, self._transfer(index, p.atom_bytes), region=1)
        leaves: dict[str, Any] = {"region": 1, "slot_offset": self.shift}
        context.may_await([self.gate.context] if self.gate else [])
        leaves |= {"gate": self.gate}
        context.remote_map(0, self.remote, command=0, **leaves)
        # Contributions of the kernel and of the neighbours.
        leaves |= {"shares": 2, "peers": (DOWNSTREAM, THIRD)}
        context.dma_map(self.remote, self.own - self.remote, command=1, **leaves)
        stays = {"region": 1, "command": 2, "shares": 2, "gate": self.gate}
        context.own_map(self.own, self.tracked_end - self.own, **stays)
        if self.placed:
            leaves |= {"shares": 1, "gate": None}
            context.dma_map(self.tracked_end, self.placed, command=0, **leaves)
        each = self.wavefronts if self.granularity is Granularity.WAVEFRONT else 1
        context.window(
            workgroups=self.workgroups,
            tracked=(self.remote, self.slots_end),
            to_send=self.own + self.placed,
            credit_window=self.credit_window,
            command_window=self.command_window // each,
            generation=self.generation,
        )
        context.timeout(self.timeout)
        context.measure()
        return recorder.writes

    def _transfer(self, index: int, atom_bytes: int) -> Transfer:
        """Return the command of this number, with its own operation, type and offset."""
        waves = [max(1, self.wavefronts - (edge > 1)) for edge in range(4)]
        return Transfer(
            kind=PacketKind.STORE if self.placed and index == 0 else PacketKind.UPDATE,
            rows=self.outer_extent,
            rows_edge=3,
            run_atoms=self.inner_extent,
            run_edge_atoms=5,
            stride_atoms=self.stride,
            op=Operation(index),
            dtype=Datatype(index),
            granularity=self.granularity,
            group=1 << self.group_log2,
            wave_rows=2,
            wave_run_atoms=4,
            waves=(waves[0], waves[1], waves[2], waves[3]),
            offset_bytes=-(index + 1) * 64 * atom_bytes,
            marks=True,
        )


class Host:
    """Host: performs the given writes first, then reads of random registers and random writes.

    Parameters
    ----------
    extra : callable, optional
        Returns the next write (address, word) or None, after the given writes.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        p: T3Parameters,
        writes: list[tuple[int, int]],
        extra=None,
    ):
        self._rng = rng
        self._first_in, self._first_out = p.channels * CHANNEL_INPUTS, p.channels * CHANNEL_OUTPUTS
        pages = [
            register.address_in(context)
            for register in _MAP.values()
            for context in range(p.contexts)
        ]
        self._addresses = np.array([*_OFTEN, *pages, *_HOLES], np.uint64)
        self._writes = list(writes)
        self._extra = extra
        self._address = self._data = None
        self.programmed = False

    @property
    def is_between(self) -> bool:
        """Return whether no write is in progress."""
        return self._address is None and self._data is None

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        rng = self._rng
        bus_in, bus_out = inputs[self._first_in :], outputs[self._first_out :]
        if self.is_between:
            word = None
            if self._writes:
                word = self._writes.pop(0)
            else:
                self.programmed = True
                if self._extra is not None:
                    word = self._extra()
            if word is not None:
                self._address, self._data = word
        offers_address = self._address is not None and rng.random() < 0.8
        bus_in[G.bus_awvalid] = offers_address
        bus_in[G.bus_awaddr] = self._address or 0
        # Locks are tried by unprivileged software.
        bus_in[G.bus_awprot] = self._address not in _LOCKS
        if offers_address and bus_out[H.bus_awready]:
            self._address = None
        offers_data = self._data is not None and rng.random() < 0.8
        bus_in[G.bus_wvalid] = offers_data
        bus_in[G.bus_wdata] = self._data or 0
        whole = not self.programmed or rng.random() < 0.95
        # The last write of a program is outstanding when the host continues.
        bus_in[G.bus_wstrb] = 15 if whole or self._extra is None else 7
        if offers_data and bus_out[H.bus_wready]:
            self._data = None
        bus_in[G.bus_bready] = rng.random() < 0.7
        bus_in[G.bus_rready] = rng.random() < 0.7
        bus_in[G.bus_arvalid] = rng.random() < 0.5
        bus_in[G.bus_araddr] = rng.choice(self._addresses)
        bus_in[G.bus_arprot] ^= 1


_LOCKS = {_MAP["LOCK"].address_in(context) for context in range(register_map.MAX_CONTEXTS)}
# STATUS and the counters often, then every register, holes and misaligned addresses.
_OFTEN = [
    _MAP[name].address
    for name in ("STATUS", "ERROR", "ERROR_LOCATION", "ERROR_ADDRESS_LO", "ERRORS", "INTERRUPTS")
    + ("GPU_ERROR", "GPU_ERROR_LOCATION", "GPU_ERRORS", "TILES", "OLDEST", "CREDIT_LIMIT")
    + ("CORRECTED", "SCRUB_CORRECTED", "INJECT", "COUNT_TRACKER_CORRUPT", "COUNT_TRIGGER_CORRUPT")
] * 5
_HOLES = [0x0F8, 0x10D0, 0x1FFC, 0xFFFC, 0x9004, 0x001, 0x1006]


class Injections:
    """Injector of bit errors, one after the other, also into memories that do not exist.

    Parameters
    ----------
    target : InjectTarget or None
        None for any.
    double : bool or None
        Two bits of a word instead of one; None for either.
    chance : float
        Probability, per cycle, of a further write.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        p: T3Parameters,
        *,
        target: InjectTarget | None = None,
        double: bool | None = None,
        chance: float = 0.02,
    ):
        self._rng, self._p = rng, p
        self._target, self._double, self._chance = target, double, chance

    def __call__(self) -> tuple[int, int] | None:
        return self.write() if self._rng.random() < self._chance else None

    def write(self) -> tuple[int, int]:
        """Return the next write."""
        rng, p = self._rng, self._p
        target = self._target.value if self._target else int(rng.integers(0, 8))
        instances = {InjectTarget.TRACKER.value: p.banks, InjectTarget.ISSUE_ACKS.value: p.channels}
        instance = int(rng.integers(0, instances.get(target, p.contexts)))
        if rng.random() < 0.1:
            instance = int(rng.integers(0, 256))
        double = rng.integers(0, 2) if self._double is None else self._double
        register = _MAP["INJECT"]
        word = register.pack(target=target, instance=instance, double=int(double))
        return register.address, word
