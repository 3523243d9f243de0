"""Seeded traffic for the top: a kernel's stores, its neighbour's packets, a DRAM and a host."""

from dataclasses import dataclass, field

import numpy as np

from rtl import register_map
from rtl.layouts import Access, Action, Granularity, Origin, PacketKind, Policy, StoreKind
from rtl.parameters import T3Parameters
from sysmodel.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    GPU_INPUTS,
    GPU_OUTPUTS,
    G,
    H,
    I,
    O,
)

__all__ = ["Host", "Kernel", "Reprogramming", "Storm", "Traffic"]

_MAP = register_map.load()


@dataclass(kw_only=True)
class Kernel:
    """A small production: three ranges of places, tiles of a few sectors."""

    workgroups: int = 24
    first_workgroup: int = 5
    shift: int = 6
    remote: int = 6
    tracked_end: int = 24
    own: int = 18
    wavefronts: int = 2
    window: int = 8
    command_window: int = 14
    context: int = 3
    base: int = 1 << 12
    limit: int = 1 << 16
    granularity: Granularity = Granularity.WORKGROUP
    group_log2: int = 0
    policy: Policy = Policy.ROUND_ROBIN
    timeout: int = 0
    fields: dict = field(default_factory=dict)

    def program(self, p: T3Parameters) -> list[tuple[int, int]]:
        """Register writes that set it up and launch it."""
        words = []

        def put(name: str, **values: int) -> None:
            words.append((_MAP[name].address, _MAP[name].pack(**values)))

        put("FIRST_WORKGROUP", workgroup=self.first_workgroup)
        put("WORKGROUPS", count=self.workgroups)
        put("TRACKED_FIRST", place=self.remote)
        put("TRACKED_END", place=self.tracked_end)
        put("SHIFT", places=self.shift)
        put("WINDOW", workgroups=self.window)
        put("COMMAND_WINDOW", workgroups=self.command_window)
        put("TIMEOUT", cycles=self.timeout)
        put("ARBITER", policy=self.policy.value, threshold=3)
        put("STARVATION", cycles=9)
        put("MEASURE", log2=5)
        put("CUTS", cut0=10, cut1=30, cut2=60)
        put("LEVELS", level0=80, level1=40, level2=20)
        put("WINDOW_BASE_LO", bytes=self.base * p.atom_bytes)
        put("WINDOW_LIMIT_LO", bytes=self.limit * p.atom_bytes)
        put("WINDOW_CONTEXT", context=self.context)
        put("WINDOW_COMMIT", index=1, enable=1)
        for index, kind in enumerate(("REMOTE", "DMA", "OWN")):
            put(
                "COMMAND_TRANSFER",
                kind=1,
                op=index,
                dtype=index,
                context=self.context,
                granularity=self.granularity.value,
                group_log2=self.group_log2,
                wave_run_log2=2,
                waves_minor_log2=0,
            )
            put("COMMAND_ROWS", rows=4, rows_edge=3)
            put("COMMAND_RUN", run=9, run_edge=5)
            put("COMMAND_PITCH", pitch=37)
            waves = {f"waves{edge}": max(1, self.wavefronts - (edge > 1)) for edge in range(4)}
            put("COMMAND_WAVES", wave_rows=2, **waves)
            put("COMMAND_OFFSET_LO", bytes=(-(index + 1) * 64 * p.atom_bytes) & 0xFFFFFFFF)
            put("COMMAND_OFFSET_HI", bytes=0xFFFFFFFF)
            put("COMMAND_COMMIT", index=index)
            bounds = {"REMOTE": (0, self.remote), "DMA": (self.remote, self.own)}
            first, end = bounds.get(kind, (self.own, self.tracked_end))
            put("RANGE_PLACES", first=first, last=end - 1)
            put("RANGE_ACTION", window=1, action=Action[kind].value, command=index)
            put("RANGE_COMMIT", index=index, enable=1)
        put("CONTROL", launch=1, measure=1)
        return words


class Host:
    """The bus's other end: writes first, then reads of random registers and random writes.

    Parameters
    ----------
    extra : callable, optional
        Gives the next write (address, word) or None, once the first ones are through.
    """

    def __init__(self, rng: np.random.Generator, writes: list[tuple[int, int]], extra=None):
        self._rng = rng
        self._writes = list(writes)
        self._extra = extra
        self._address = self._data = None
        self.programmed = False

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        rng = self._rng
        bus_in, bus_out = inputs[-GPU_INPUTS:], outputs[-GPU_OUTPUTS:]
        if self._address is None and self._data is None:
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
        if offers_address and bus_out[H.bus_awready]:
            self._address = None
        offers_data = self._data is not None and rng.random() < 0.8
        bus_in[G.bus_wvalid] = offers_data
        bus_in[G.bus_wdata] = self._data or 0
        bus_in[G.bus_wstrb] = 15 if not self.programmed or rng.random() < 0.95 else 7
        if offers_data and bus_out[H.bus_wready]:
            self._data = None
        bus_in[G.bus_bready] = rng.random() < 0.7
        bus_in[G.bus_rready] = rng.random() < 0.7
        bus_in[G.bus_arvalid] = rng.random() < 0.5
        bus_in[G.bus_araddr] = rng.choice(_ADDRESSES)


# STATUS and the counters often, then every register, holes and misaligned addresses.
_ADDRESSES = np.array(
    [_MAP[name].address for name in ("STATUS", "ERROR", "ERRORS", "TILES", "BASE", "LIMIT")] * 5
    + [register.address for register in _MAP.values()]
    + [0x05C, 0x0BC, 0xFFC, 0x001, 0x006],
    np.uint64,
)


class Traffic:
    """What surrounds the top, cycle by cycle.

    Every tile gets its updates, half of them local and half as packets, and its end, in any order
    that the admission allows.

    Parameters
    ----------
    noise : float
        Chance of a store or packet of no tile.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        p: T3Parameters,
        kernel: Kernel,
        host: Host,
        *,
        pace: float = 0.5,
        noise: float = 0.0,
    ):
        self._rng = rng
        self._p = p
        self._kernel = kernel
        self._host = host
        self._pace = pace
        self._noise = noise
        self._local, self._remote = [], []
        for place in range(kernel.tracked_end):
            row_edge, run_edge = (int(edge) for edge in rng.integers(0, 2, 2))
            for wavefront in range(max(1, kernel.wavefronts - run_edge)):
                sectors = int(rng.integers(1, 4))
                tile = {"place": place, "wavefront": wavefront, "row_edge": row_edge}
                tile |= {"run_edge": run_edge, "sectors": sectors}
                self._local += [tile] * sectors + [tile | {"end": True}]
                if place >= kernel.remote:
                    self._remote += [tile] * sectors
        self._issued = [[] for _ in range(p.channels)]
        self._reads = [[] for _ in range(p.channels)]
        self._cycle = 0

    def _workgroup(self, place: int) -> int:
        return (place + self._kernel.first_workgroup) % self._kernel.workgroups

    def _pick(self, tiles: list[dict], limit: int) -> int | None:
        near = [index for index, tile in enumerate(tiles[:24]) if tile["place"] < limit]
        return int(self._rng.choice(near)) if near else None

    def _data(self, block: np.ndarray, column: int) -> None:
        block[column : column + 4] = self._rng.integers(0, 1 << 64, 4, np.uint64)

    def _store(self, block: np.ndarray, ready: bool, limit: int) -> None:
        rng, kernel = self._rng, self._kernel
        block[I.stores_valid] = 0
        if rng.random() >= self._pace:
            return
        block[I.stores_atom] = rng.integers(kernel.base, kernel.limit)
        block[I.stores_context] = kernel.context
        block[I.stores_kind] = StoreKind.STORE.value
        self._data(block, I.stores_data_0)
        block[I.stores_sectors] = rng.integers(0, 8)
        if rng.random() < self._noise:
            block[I.stores_valid] = 1
            block[I.stores_kind] = rng.integers(0, 2)
            block[I.stores_workgroup] = rng.integers(0, kernel.workgroups + 3)
            block[I.stores_wavefront] = rng.integers(0, self._p.wavefronts)
            block[I.stores_context] = rng.integers(2, 5)
            block[I.stores_atom] = rng.integers(0, kernel.limit * 2)
            return
        index = self._pick(self._local, limit)
        if index is None:
            return
        tile = self._local[index]
        block[I.stores_valid] = 1
        block[I.stores_workgroup] = self._workgroup(tile["place"])
        block[I.stores_wavefront] = tile["wavefront"]
        if "end" in tile:
            block[I.stores_kind] = StoreKind.TILE_END.value
            for name in ("sectors", "row_edge", "run_edge"):
                block[getattr(I, f"stores_{name}")] = tile[name]
        if ready:
            self._local.pop(index)

    def _packet(self, block: np.ndarray, ready: bool, limit: int) -> None:
        rng, kernel = self._rng, self._kernel
        block[I.link_in_valid] = 0
        if rng.random() >= self._pace:
            return
        block[I.link_in_atom] = rng.integers(kernel.base, kernel.limit)
        block[I.link_in_context] = kernel.context
        block[I.link_in_kind] = PacketKind.UPDATE.value
        block[I.link_in_op] = rng.integers(0, 3)
        block[I.link_in_dtype] = rng.integers(0, 3)
        self._data(block, I.link_in_data_0)
        if rng.random() < 0.1 + self._noise:
            block[I.link_in_valid] = 1
            block[I.link_in_workgroup] = rng.integers(0, kernel.workgroups + 3)
            block[I.link_in_wavefront] = rng.integers(0, self._p.wavefronts)
            if rng.random() < self._noise:
                block[I.link_in_kind] = rng.integers(0, 2)
                block[I.link_in_context] = rng.integers(2, 5)
                block[I.link_in_atom] = rng.integers(0, kernel.limit * 2)
            else:
                block[I.link_in_kind] = PacketKind.STORE.value
            return
        index = self._pick(self._remote, limit)
        if index is None:
            return
        tile = self._remote[index]
        block[I.link_in_valid] = 1
        block[I.link_in_workgroup] = self._workgroup(tile["place"])
        block[I.link_in_wavefront] = tile["wavefront"]
        if ready:
            self._remote.pop(index)

    def _dram(self, number: int, block: np.ndarray, out: np.ndarray) -> None:
        """Accepts requests, and issues them out of order; reads return at once or much later."""
        rng = self._rng
        issued, reads = self._issued[number], self._reads[number]
        block[I.dram_ready] = rng.random() < 0.3 + self._pace / 2
        block[I.occupancy] = rng.integers(0, 8) if rng.random() < 0.5 else rng.integers(0, 100)
        block[I.notices_valid] = block[I.returns_valid] = 0
        if issued and rng.random() < 0.7:
            index = int(rng.integers(0, min(3, len(issued))))
            access, atom, place, wavefront = issued[index]
            block[I.notices_valid] = 1
            block[I.notices_access], block[I.notices_atom] = access, atom
            block[I.notices_place], block[I.notices_wavefront] = place, wavefront
            if out[O.notices_ready]:
                issued.pop(index)
        if reads and rng.random() < 0.6:
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
                issued.append((access, out[O.dram_atom], out[O.dram_place], out[O.dram_wavefront]))

    def _reduce(self, block: np.ndarray) -> None:
        rng = self._rng
        block[I.nmc_in_valid] = rng.random() < 0.5
        self._data(block, I.nmc_in_stored_0)
        self._data(block, I.nmc_in_operand_0)
        block[I.nmc_in_stored_epoch] = rng.integers(0, 3)
        block[I.nmc_in_op], block[I.nmc_in_dtype] = rng.integers(0, 3, 2)

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        rng = self._rng
        self._host(outputs, inputs)
        gpu = outputs[-GPU_OUTPUTS:]
        limit = int(gpu[H.limit_out]) if self._host.programmed else 0
        # The downstream GPU admits as this one does, some time earlier or later.
        ahead = int(rng.integers(0, 4)) + self._kernel.shift
        inputs[-GPU_INPUTS:][G.limit_in] = max(limit + ahead - self._cycle // 64 % 8, 0)
        self._cycle += 1
        for number in range(self._p.channels):
            block = inputs[number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
            out = outputs[number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
            block[I.reads_valid] = rng.random() < self._pace
            block[I.reads_atom] = rng.integers(0, 1 << self._p.atom_address_bits)
            block[I.reads_tag] = rng.integers(0, 1 << self._p.tag_bits)
            # The link stands still now and then, until every queue behind it is full.
            stalled = self._cycle % 512 < 96
            block[I.link_out_ready] = not stalled and rng.random() < 0.4 + self._pace / 2
            if self._host.programmed:
                self._store(block, bool(out[O.stores_ready]), limit)
                self._packet(block, bool(out[O.link_in_ready]), limit)
            self._dram(number, block, out)
            if self._p.payload:
                self._reduce(block)


class Storm(Traffic):
    """Notices and tile ends of few tiles without rhyme or reason, for the tracker's errors."""

    def _dram(self, number: int, block: np.ndarray, out: np.ndarray) -> None:
        rng = self._rng
        super()._dram(number, block, out)
        block[I.notices_valid] = rng.random() < self._pace
        block[I.notices_access] = Access.UPDATE.value
        block[I.notices_atom] = rng.integers(0, 1 << self._p.atom_address_bits)
        # A tile that never ends, to the overflow of its count, and some in one set.
        busy = rng.random() < 0.2
        block[I.notices_place] = 9 if busy else rng.integers(0, 3) * self._p.sets + 8
        block[I.notices_wavefront] = 0 if busy else rng.integers(0, 2)

    def _store(self, block: np.ndarray, ready: bool, limit: int) -> None:
        rng = self._rng
        block[I.stores_valid] = rng.random() < 0.3
        block[I.stores_kind] = StoreKind.TILE_END.value
        block[I.stores_atom] = self._kernel.base
        block[I.stores_context] = self._kernel.context
        block[I.stores_workgroup] = self._workgroup(int(rng.choice([8, 8, 10])))
        block[I.stores_wavefront] = rng.integers(0, 2)
        block[I.stores_sectors] = rng.integers(0, 3)


class Reprogramming:
    """Random register writes in legal fields: most are refused, some change what runs."""

    def __init__(self, rng: np.random.Generator, p: T3Parameters, kernel: Kernel):
        self._rng = rng
        self._p = p
        self._kernel = kernel
        self._pending = []

    def __call__(self) -> tuple[int, int] | None:
        if not self._pending and self._rng.random() < 0.1:
            kinds = (self._window, self._range, self._command, self._copy, self._other)
            self._pending = kinds[self._rng.integers(0, len(kinds))]()
        return self._pending.pop(0) if self._pending else None

    def _put(self, name: str, **values) -> tuple[int, int]:
        values = {field: int(value) for field, value in values.items()}
        return _MAP[name].address, _MAP[name].pack(**values)

    def _bytes(self) -> int:
        rng, kernel = self._rng, self._kernel
        value = int(rng.integers(0, 2 * kernel.limit)) * self._p.atom_bytes
        if rng.random() < 0.1:
            value += int(rng.integers(1, self._p.atom_bytes))
        if rng.random() < 0.1:
            value = (1 << self._p.address_bits) - int(rng.integers(0, 3)) * self._p.atom_bytes
        if rng.random() < 0.05:
            value = int(rng.integers(0, 1 << 64, dtype=np.uint64))
        return value

    def _wide(self, name: str, value: int) -> list[tuple[int, int]]:
        low, high = value & 0xFFFFFFFF, value >> 32
        return [self._put(f"{name}_LO", bytes=low), self._put(f"{name}_HI", bytes=high)]

    def _window(self) -> list[tuple[int, int]]:
        rng = self._rng
        return [
            *self._wide("WINDOW_BASE", self._bytes()),
            *self._wide("WINDOW_LIMIT", self._bytes()),
            self._put("WINDOW_CONTEXT", context=rng.integers(0, 256)),
            self._put(
                "WINDOW_COMMIT",
                index=rng.integers(0, self._p.windows + 1),
                enable=rng.random() < 0.8,
            ),
        ]

    def _range(self) -> list[tuple[int, int]]:
        rng, p = self._rng, self._p
        first, last = rng.integers(0, self._kernel.workgroups, 2)
        return [
            self._put("RANGE_PLACES", first=first, last=last),
            self._put(
                "RANGE_ACTION",
                window=rng.integers(0, p.windows + (rng.random() < 0.1)),
                action=rng.integers(0, 4),
                command=rng.integers(0, p.commands + (rng.random() < 0.1)),
            ),
            self._put(
                "RANGE_COMMIT", index=rng.integers(0, p.ranges + 1), enable=rng.random() < 0.8
            ),
        ]

    def _command(self) -> list[tuple[int, int]]:
        rng = self._rng
        offset = self._bytes()
        waves = {f"waves{edge}": rng.integers(1, 4) for edge in range(4)}
        return [
            self._put(
                "COMMAND_TRANSFER",
                kind=rng.integers(0, 2),
                op=rng.integers(0, 3),
                dtype=rng.integers(0, 3),
                context=rng.integers(0, 16),
                granularity=rng.integers(0, 2),
                group_log2=rng.integers(0, 3),
                wave_run_log2=rng.integers(0, 16),
                waves_minor_log2=rng.integers(0, 4),
            ),
            self._put("COMMAND_ROWS", rows=rng.integers(0, 6), rows_edge=rng.integers(0, 6)),
            self._put("COMMAND_RUN", run=rng.integers(0, 12), run_edge=rng.integers(0, 12)),
            self._put("COMMAND_PITCH", pitch=rng.integers(0, 1 << 24)),
            self._put("COMMAND_WAVES", wave_rows=rng.integers(0, 4), **waves),
            *self._wide("COMMAND_OFFSET", offset),
            self._put("COMMAND_COMMIT", index=rng.integers(0, self._p.commands + 1)),
        ]

    def _copy(self) -> list[tuple[int, int]]:
        rng = self._rng
        copies = [
            self._put("COPY", command=rng.integers(0, self._p.commands + (rng.random() < 0.2)))
        ]
        return self._wide("COPY_START", self._bytes()) + copies * int(rng.integers(1, 6))

    def _other(self) -> list[tuple[int, int]]:
        rng, kernel = self._rng, self._kernel
        choices = [
            lambda: self._put("CONTROL", launch=1, clear=rng.integers(0, 2)),
            lambda: self._put("CONTROL", clear=1),
            lambda: self._put("CONTROL", measure=1),
            lambda: self._put("CONTROL", clear_error=1),
            lambda: self._put("TRACKING", updates_per_sector=rng.integers(0, 4), epoch=2),
            lambda: self._put("TIMEOUT", cycles=rng.integers(0, 80)),
            lambda: self._put(
                "ARBITER",
                policy=rng.integers(0, 3),
                automatic=rng.integers(0, 2),
                threshold=rng.integers(0, 128),
            ),
            lambda: self._put("STARVATION", cycles=rng.integers(0, 40)),
            lambda: self._put("MEASURE", log2=rng.integers(0, 8)),
            lambda: self._put("WINDOW", workgroups=rng.integers(4, self._p.window_workgroups + 1)),
            lambda: self._put("COMMAND_WINDOW", workgroups=rng.integers(8, 40)),
            lambda: self._put("TRACKED_FIRST", place=rng.integers(0, kernel.workgroups)),
            lambda: self._put("TRACKED_END", place=rng.integers(0, kernel.workgroups + 1)),
            lambda: self._put("SHIFT", places=rng.integers(0, kernel.workgroups)),
            lambda: self._put("FIRST_WORKGROUP", workgroup=rng.integers(0, kernel.workgroups)),
            lambda: self._put("STATUS"),
        ]
        return [choices[rng.integers(0, len(choices))]()]
