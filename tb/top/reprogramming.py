"""Random changes of a context, also while a launch is running."""

import numpy as np

from driver.python import DOWNSTREAM
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from tb.top.host import THIRD, Kernel

__all__ = ["Reprogramming"]

_MAP = register_map.load()


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
                self._peer,
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
                "RANGE_PEERS",
                peers=self._receivers(),
                slot_offset=rng.choice([self._kernel.shift, rng.integers(-20, 20)]) % (1 << 17),
            ),
            self._put(
                "RANGE_GATE",
                enable=rng.random() < 0.3,
                context=rng.integers(0, p.contexts + (rng.random() < 0.1)),
                generation=(self._kernel.generation + rng.integers(-2, 6)) % 16,
                slot=rng.integers(0, self._kernel.workgroups),
            ),
            self._put("RANGE_BAND", workgroups=rng.integers(0, 6), slots=rng.integers(0, 6)),
            self._put(
                "RANGE_COMMIT", index=rng.integers(0, p.ranges + 1), enable=rng.random() < 0.8
            ),
        ]

    def _receivers(self) -> int:
        """Return a mask of peers: mostly those of the kernel's commands, or any, also none."""
        rng = self._rng
        masks = [1 << DOWNSTREAM, 1 << THIRD, 1 << DOWNSTREAM | 1 << THIRD]
        return rng.integers(0, 256) if rng.random() < 0.2 else rng.choice(masks)

    def _peer(self) -> list[tuple[int, int]]:
        """Return the writes of a peer: mostly one of the kernel's, or any, or none."""
        rng, peers = self._rng, self._kernel.peers
        index = int(rng.integers(0, self._p.peers + 1))
        fields = vars(peers[index % len(peers)])
        if rng.random() < 0.3:
            widths = {field.name: field.width for field in _MAP["PEER"].fields}
            fields = {name: rng.integers(0, 1 << width) for name, width in widths.items()}
        return [
            self._put("PEER", **fields),
            self._put("PEER_COMMIT", index=index, enable=rng.random() < 0.8),
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
        command = rng.integers(0, self._p.commands + (rng.random() < 0.2))
        copies = [self._put("COPY", command=command, peers=self._receivers())]
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
            lambda: self._put("PROGRESS", enable=rng.integers(0, 2), log2=rng.integers(0, 4)),
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
            lambda: self._put("TO_SEND", count=rng.integers(0, kernel.workgroups + 1)),
            lambda: self._put(
                "ADDRESS_SPACE",
                local=self._kernel.context,
                enable=rng.random() < 0.9,
            ),
            lambda: self._put("RANK", rank=rng.choice([kernel.rank, rng.integers(0, 128)])),
            lambda: self._put(
                "INBOUND_KINDS",
                ops=rng.choice([15, rng.integers(0, 16)]),
                dtypes=rng.choice([15, rng.integers(0, 16)]),
            ),
            lambda: self._put("MAY_AWAIT", contexts=rng.choice([255, 255, rng.integers(0, 256)])),
            lambda: self._put("WAYS", mask=rng.integers(0, 1 << 32)),
            lambda: self._put("STATUS"),
        ]
        return [choices[rng.integers(0, len(choices))]()]
