"""Host that programs the top, and then reads and writes its registers at random."""

from dataclasses import dataclass

import numpy as np

from driver.python import T3, Context, Recorder, Transfer
from rtl.interface.encodings import Datatype, Granularity, InjectTarget, Operation, Policy
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H

__all__ = ["Host", "Injections", "Kernel", "Reprogramming"]

_MAP = register_map.load()


@dataclass(kw_only=True)
class Kernel:
    """Small launch: three ranges of dispatch indices, tiles of a few atoms.

    ``number`` is the number of the context, ``context`` its address space.
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
    base: int = 1 << 12
    limit: int = 1 << 16
    outer_extent: int = 4
    inner_extent: int = 9
    stride: int = 37

    @property
    def last_start(self) -> int:
        """Last atom at which a tile within the region may begin."""
        return self.limit - (self.outer_extent - 1) * self.stride - self.inner_extent

    granularity: Granularity = Granularity.WORKGROUP
    group_log2: int = 0
    policy: Policy = Policy.ROUND_ROBIN
    timeout: int = 0
    generation: int = 5

    def slot(self, dispatch_index: int) -> int:
        """Return a tile's dispatch index at the downstream GPU; all of them fit into a packet."""
        return dispatch_index + self.shift

    def program(self, p: T3Parameters) -> list[tuple[int, int]]:
        """Return the register writes that set the kernel up and launch it, made by the driver."""
        recorder = Recorder()
        gpu = T3(recorder)
        gpu.set_number(9)
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
        context.remote_map(0, self.remote, region=1, command=0)
        # Contributions of the kernel and of the neighbour.
        context.dma_map(self.remote, self.own - self.remote, region=1, command=1, shares=2)
        context.own_map(self.own, self.tracked_end - self.own, region=1, command=2, shares=2)
        each = self.wavefronts if self.granularity is Granularity.WAVEFRONT else 1
        context.window(
            workgroups=self.workgroups,
            tracked=(self.remote, self.tracked_end),
            shift=self.shift,
            credit_window=self.credit_window,
            command_window=self.command_window // each,
            generation=self.generation,
        )
        context.timeout(self.timeout)
        context.measure()
        context.reset_epochs()
        context.launch()
        return recorder.writes

    def _transfer(self, index: int, atom_bytes: int) -> Transfer:
        """Return the command of this number, with its own operation, type and offset."""
        waves = [max(1, self.wavefronts - (edge > 1)) for edge in range(4)]
        return Transfer(
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


class Reprogramming:
    """Random register writes to valid fields: most are refused, some change a running launch."""

    def __init__(self, rng: np.random.Generator, p: T3Parameters, kernel: Kernel):
        self._rng = rng
        self._p = p
        self._kernel = kernel
        self._launches = 0
        self._pending = []

    def __call__(self) -> tuple[int, int] | None:
        if not self._pending and self._rng.random() < 0.1:
            kinds = (
                self._region,
                self._range,
                self._command,
                self._copy,
                self._other,
                self._launch,
            )
            self._pending = kinds[self._rng.integers(0, len(kinds))]()
        return self._pending.pop(0) if self._pending else None

    def _put(self, name: str, **values) -> tuple[int, int]:
        values = {field: int(value) for field, value in values.items()}
        register = _MAP[name]
        return register.address_in(self._kernel.number), register.pack(**values)

    def _interrupts(self, name: str) -> tuple[int, int]:
        fields = (field.name for field in _MAP[name].fields)
        return self._put(name, **{field: self._rng.integers(0, 2) for field in fields})

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

    def _region(self) -> list[tuple[int, int]]:
        rng = self._rng
        return [
            *self._wide("REGION_BASE", self._bytes()),
            *self._wide("REGION_LIMIT", self._bytes()),
            self._put(
                "REGION_COMMIT",
                index=rng.integers(0, self._p.regions + 1),
                enable=rng.random() < 0.8,
            ),
        ]

    def _range(self) -> list[tuple[int, int]]:
        rng, p = self._rng, self._p
        first, last = rng.integers(0, self._kernel.workgroups, 2)
        return [
            self._put("RANGE_DISPATCH_INDICES", first=first, last=last),
            self._put(
                "RANGE_ACTION",
                region=rng.integers(0, p.regions + (rng.random() < 0.1)),
                action=rng.integers(0, 4),
                command=rng.integers(0, p.commands + (rng.random() < 0.1)),
                shares=rng.choice([0, 1, 2, 2]),
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
                marks=rng.integers(0, 2),
                op=rng.integers(0, 3),
                dtype=rng.integers(0, 3),
                granularity=rng.integers(0, 2),
                group_log2=rng.integers(0, 3),
                wave_inner_log2=rng.integers(0, 16),
                waves_inner_log2=rng.integers(0, 4),
            ),
            self._put(
                "COMMAND_OUTER",
                outer_extent=rng.integers(0, 6),
                outer_extent_edge=rng.integers(0, 6),
            ),
            self._put(
                "COMMAND_INNER",
                inner_extent=rng.integers(0, 12),
                inner_extent_edge=rng.integers(0, 12),
            ),
            self._put(
                "COMMAND_STRIDE",
                stride=rng.integers(0, 1 << rng.choice([6, 24])),
                region=rng.integers(0, self._p.regions + (rng.random() < 0.1)),
            ),
            self._put("COMMAND_WAVES", wave_outer_extent=rng.integers(0, 4), **waves),
            *self._wide("COMMAND_OFFSET", offset),
            self._put("COMMAND_COMMIT", index=rng.integers(0, self._p.commands + 1)),
        ]

    def _copy(self) -> list[tuple[int, int]]:
        rng = self._rng
        copies = [
            self._put("COPY", command=rng.integers(0, self._p.commands + (rng.random() < 0.2)))
        ]
        return self._wide("COPY_START", self._bytes()) + copies * int(rng.integers(1, 6))

    def _launch(self) -> list[tuple[int, int]]:
        """Return the write of a launch or, half as often, of an abort, which may be necessary
        before a launch.
        """
        aborts, writes = self._rng.random() < 1 / 3, []
        if not aborts and self._rng.random() < 0.8:
            self._launches += 1
            generation = (self._kernel.generation + self._launches) % 16
            writes = [self._put("TRACKING", generation=generation)]
        return [*writes, self._put("CONTROL", launch=not aborts, abort=aborts)]

    def _other(self) -> list[tuple[int, int]]:
        rng, kernel = self._rng, self._kernel
        choices = [
            lambda: self._put("CONTROL", launch=1, abort=1),
            lambda: self._put("CONTROL", measure=1),
            lambda: self._put("CONTROL", clear_error=1),
            lambda: self._put("CONTROL", drop_error=1),
            lambda: self._put(
                "GPU_CONTROL", clear_error=rng.integers(0, 2), drop_error=rng.integers(0, 2)
            ),
            lambda: self._interrupts("INTERRUPTS"),
            lambda: self._interrupts("INTERRUPT_ENABLE"),
            lambda: self._put("TRACKING", generation=(kernel.generation + rng.integers(0, 3)) % 16),
            lambda: self._put("EPOCH_RESET", restart=1),
            lambda: self._put("TIMEOUT", ticks=rng.integers(0, 5)),
            lambda: self._put(
                "ARBITER",
                policy=rng.integers(0, 8),
                automatic=rng.integers(0, 2),
                threshold=rng.integers(0, 128),
            ),
            lambda: self._put("STARVATION", cycles=rng.integers(0, 40)),
            lambda: self._put("MEASURE", log2=rng.integers(0, 8)),
            lambda: self._put(
                "CREDIT_WINDOW", workgroups=rng.integers(4, self._p.credit_window + 1)
            ),
            lambda: self._put("COMMAND_WINDOW", workgroups=rng.integers(8, 40)),
            lambda: self._put("TRACKED_FIRST", dispatch_index=rng.integers(0, kernel.workgroups)),
            lambda: self._put("TRACKED_END", dispatch_index=rng.integers(0, kernel.workgroups + 1)),
            lambda: self._put("SHIFT", dispatch_indices=rng.integers(0, kernel.workgroups)),
            lambda: self._put(
                "ADDRESS_SPACE",
                local=self._kernel.context,
                remote=rng.integers(0, 16),
                enable=rng.random() < 0.9,
            ),
            lambda: self._put(
                ("INBOUND_STORES", "INBOUND_UPDATES")[rng.integers(0, 2)],
                sources=rng.choice([15, rng.integers(0, 16)]),
            ),
            lambda: self._put(
                "INBOUND_KINDS",
                ops=rng.choice([15, rng.integers(0, 16)]),
                dtypes=rng.choice([15, rng.integers(0, 16)]),
            ),
            lambda: self._put("WAYS", mask=rng.integers(0, 1 << 32)),
            lambda: self._put("STATUS"),
        ]
        return [choices[rng.integers(0, len(choices))]()]
