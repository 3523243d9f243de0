"""Bus traffic of the register port's bench: valid programs, with invalid accesses among them."""

import random
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.fields import LAUNCH_CONFIGURATION
from tb.registers.bounds import Bounds

__all__ = ["BusTraffic", "Needs"]

_MAP = register_map.load()
_ADDRESS_BITS = 16
# The registers of an entry are written in sequence, so that some commits are accepted.
_GROUPS = {
    "REGION_COMMIT": ("REGION_BASE_LO", "REGION_BASE_HI", "REGION_LIMIT_LO", "REGION_LIMIT_HI"),
    "RANGE_COMMIT": ("RANGE_DISPATCH_INDICES", "RANGE_ACTION", "RANGE_PEERS")
    + ("RANGE_GATE", "RANGE_BAND"),
    "PEER_COMMIT": ("PEER",),
    "COMMAND_COMMIT": ("COMMAND_TRANSFER", "COMMAND_OUTER", "COMMAND_INNER", "COMMAND_STRIDE")
    + ("COMMAND_WAVES", "COMMAND_OFFSET_LO", "COMMAND_OFFSET_HI"),
    "COPY": ("COPY_START_LO", "COPY_START_HI"),
}
_IN_GROUPS = {name for group in _GROUPS.values() for name in group} | set(_GROUPS)
_OTHERS = sorted(set(_MAP) - _IN_GROUPS)
_WRITABLE = [name for name in _OTHERS if _MAP[name].writable]
# Counters and logs are visible only where they are read.
_READ_OFTEN = [name for name in _OTHERS if name not in _WRITABLE] * 2 + ["STATUS"] * 4
# A write to these registers has an effect, once.
_ACTS = {"CONTROL", "EPOCH_RESET", "CLEAR", "INTERRUPTS"}
_ACTS |= {"GPU_CONTROL", "GPU_INTERRUPTS", "INJECT"}
_LOCKABLE = [
    "REGION_COMMIT",
    "PEER",
    "PEER_COMMIT",
    *(name for name in _WRITABLE if name not in ("LOCK", "GPU_LOCK")),
]
_OFTEN = [*["CONTROL"] * 4, *["GPU_CONTROL", "INJECT"] * 2]
_STAGED = sorted(_IN_GROUPS - set(_GROUPS))
_OF_A_LAUNCH = sorted({register for register, _ in LAUNCH_CONFIGURATION.values()})
_SETTINGS = [name for name in _WRITABLE if name not in _ACTS | {"LOCK", "GPU_LOCK"}]

# Registers of a launch of one workgroup.
_SMALL = [
    ("WORKGROUPS", _MAP["WORKGROUPS"].pack(count=1)),
    ("TRACKED_FIRST", _MAP["TRACKED_FIRST"].pack(dispatch_index=0)),
    ("TRACKED_END", _MAP["TRACKED_END"].pack(dispatch_index=1)),
    ("CREDIT_WINDOW", _MAP["CREDIT_WINDOW"].pack(workgroups=1)),
    ("COMMAND_WINDOW", _MAP["COMMAND_WINDOW"].pack(workgroups=1)),
]
_BETWEEN_ENDS = {"REGION_COMMIT": "region", "RANGE_COMMIT": "range"}
_GROUP_SIZES = [1 << log2 for log2 in range(8)]  # workgroups that share a command


class Needs(NamedTuple):
    """Space that a launch of a context needs with its current tables, and its predecessor.

    Attributes
    ----------
    commands, others : int
        Largest number of commands of a workgroup, and of further members of a group.
    held : int
        Workgroups that the context's ways hold.
    before : int
        Generation of the launch before.
    """

    commands: int
    others: int
    held: int
    before: int


def _pairs(ends: list[int]) -> list[tuple[int, int]]:
    return list(zip(ends[::2], ends[1::2], strict=True))


class BusTraffic:
    """Random accesses to the registers.

    Parameters
    ----------
    rng : :class:`random.Random`
    p : :class:`T3Parameters`
    needs : callable
        Returns the needs of a launch of a context.
    """

    def __init__(self, rng: random.Random, p: T3Parameters, needs: Callable[[int], Needs]):
        self._rng, self._p, self._needs = rng, p, needs
        self._bounds = Bounds(rng, p)
        # Ends of regions and ranges that were written.
        self._ends = {
            "region": deque([0], maxlen=2 * p.regions),
            "range": deque([0], maxlen=2 * p.ranges),
        }
        self._context = 0
        self._privileged = 0.85  # probability that a write is privileged
        self._coming: list[tuple[int, int, int]] = []
        self._data: list[tuple[int, int]] = []

    def read(self) -> tuple[int, int]:
        """Draw address and protection of a read."""
        address = self._address(self._rng.choice([*_MAP, *_READ_OFTEN]))
        return address, self._rng.getrandbits(3)

    def write_address(self) -> tuple[int, int]:
        """Draw address and protection of the next write; :meth:`write_data` gives its data."""
        if not self._coming:
            self._context, self._privileged = self._rng.randrange(self._p.contexts), 0.85
            self._coming = self._program()
        address, word, strobe = self._coming.pop(0)
        self._data.append((word, strobe))
        privileged = self._rng.random() < self._privileged
        return address, self._rng.getrandbits(3) & 0b110 | privileged

    def put(self, context: int, name: str, **fields: int) -> None:
        """Put a write of these fields at the front of the queue."""
        register = _MAP[name]
        self._coming.insert(0, (register.address_in(context), register.pack(**fields), 15))

    def write_data(self) -> tuple[int, int] | None:
        """Return data and byte strobes of the oldest write that still lacks them."""
        return self._data.pop(0) if self._data else None

    def _address(self, name: str) -> int:
        rng, address = self._rng, _MAP[name].address_in(self._context)
        if rng.random() < 0.04:
            address ^= 1 << rng.randrange(_ADDRESS_BITS)
        return address

    def _program(self) -> list[tuple[int, int, int]]:
        rng = self._rng
        if rng.random() < 0.1:
            self._privileged = 1
            writes = self._bounds.program(self._needs(self._context).before)
            return [(_MAP[name].address_in(self._context), word, 15) for name, word in writes]
        if rng.random() < 0.03:  # otherwise a context on hold would launch no more
            self._privileged = 1
            return [(self._address("LOCK"), 0, 15)]
        if rng.random() < 0.06:
            self._privileged = 0.4
            writes = self._locked()
            return [(self._address(name), word, 15) for name, word in writes]
        if rng.random() < 0.06:
            self._privileged = 1
            # A waiting launch locks the tables.
            abort = "CONTROL", _MAP["CONTROL"].pack(abort=1)
            writes = [
                abort,
                *self._peers(),
                ("MAY_AWAIT", self._word("MAY_AWAIT")),
                *self._tables(),
                *self._copies(),
                *self._settings(),
                *self._launch(fits=True),
            ]
            return [(self._address(name), word, 15) for name, word in writes]
        if rng.random() < 0.05:
            self._privileged = 1
            return [
                (_MAP[name].address_in(self._context), word, 15) for name, word in self._moves()
            ]
        if rng.random() < 0.03:
            self._privileged = 1
            writes = [("CONTROL", _MAP["CONTROL"].pack(abort=1)), *self._peers(), *self._copies()]
            return [(self._address(name), word, 15) for name, word in writes]
        if rng.random() < 0.06:
            self._privileged = 1
            return [
                (_MAP[name].address_in(self._context), word, 15) for name, word in self._queue()
            ]
        if rng.random() < 0.15:
            # The launch may still wait during the following accesses.
            commits = [(name, self._word(name)) for name in rng.sample([*_GROUPS], 2)]
            writes = self._launch() + self._late() + commits
            if rng.random() < 0.3:
                writes += [("CONTROL", _MAP["CONTROL"].pack(abort=1))]
            return [(self._address(name), word, 15) for name, word in writes]
        if rng.random() < 0.02:
            return self._scrub()
        commit = rng.choice([*_GROUPS, "COPY", None, None, None])
        names = (
            [rng.choice([rng.choice(_OTHERS), *_WRITABLE, *_OFTEN])]
            if commit is None
            else [*_GROUPS[commit], commit]
        )
        if commit in _BETWEEN_ENDS and rng.random() < 0.5:
            writes = [*self._between_ends(_BETWEEN_ENDS[commit]), (commit, self._word(commit))]
            return [(self._address(name), word, 15) for name, word in writes]
        if commit:
            # Mostly the staged entry again, with one or two differences.
            most = len(names) - 1
            staged = rng.sample(names[:-1], min(most, rng.choice([0, 1, 1, 2, most])))
            names = [*staged, *[commit] * rng.randint(1, 3)]
        return [
            (
                self._address(name),
                self._word(name),
                15 if rng.random() < 0.95 else rng.randrange(16),
            )
            for name in names
        ]

    def _locked(self) -> list[tuple[str, int]]:
        """Return writes that set locks, writes that the locks forbid to unprivileged software, and
        writes that clear the locks.
        """
        rng, locks = self._rng, ("LOCK", "GPU_LOCK")
        names = rng.sample([*_GROUPS["REGION_COMMIT"], *_LOCKABLE], len(_LOCKABLE)) + ["INJECT"]
        return [
            *((name, rng.choice([0xFFFFFFFF, rng.getrandbits(32)])) for name in locks * 3),
            *((name, self._word(name)) for name in names),
            *((name, 0) for name in locks * 4),  # also as a privileged write
        ]

    def _settings(self) -> list[tuple[str, int]]:
        """Return writes to all registers but strobes, with random bits in staged entries."""
        rng = self._rng
        writes = [(name, self._word(name)) for name in _SETTINGS]
        writes += [(name, rng.getrandbits(32)) for name in _STAGED]
        return rng.sample(writes, len(writes))

    def _late(self) -> list[tuple[str, int]]:
        """Return writes to a launch's registers, which refuse them while a launch waits."""
        names = self._rng.sample(_OF_A_LAUNCH, self._rng.choice([0, len(_OF_A_LAUNCH)]))
        return [(name, self._word(name)) for name in names]

    def _launch(self, *, fits: bool = False) -> list[tuple[str, int]]:
        """Return the writes of a launch at the limits or beyond one of them, or of a launch that
        fits any commands.
        """
        rng, p = self._rng, self._p
        most, needs = 1 << p.workgroup_bits, self._needs(self._context)
        workgroups = rng.choice([1, rng.randrange(1, most), most, most])
        end = rng.choice([workgroups, rng.randrange(workgroups + 1), most, rng.randrange(most)])
        fields = {
            "WORKGROUPS.count": workgroups,
            "TRACKED_FIRST.dispatch_index": rng.choice([end, end, rng.randrange(end + 1)]),
            "TRACKED_END.dispatch_index": end,
            # With just enough space for the largest group and the most commands, or with space for
            # any.
            "CREDIT_WINDOW.workgroups": rng.choice(
                [
                    1,
                    *[p.credit_window - needs.others] * 2,
                    p.credit_window + 1 - rng.choice(_GROUP_SIZES),
                    needs.held,
                    needs.held + 1,
                ]
            ),
            "COMMAND_WINDOW.workgroups": rng.choice(
                [1, p.command_depth // needs.commands, p.command_depth // rng.randint(1, 15)]
            ),
        }
        step = rng.choice([0, 8, *[rng.randrange(1, 8)] * 8])
        generation = (needs.before + step) % (1 << GENERATION_BITS)
        if fits:
            fields["CREDIT_WINDOW.workgroups"] = rng.randint(1, p.credit_window - 127)
            most = rng.choice([p.command_depth // 15, p.command_depth // 15, p.command_depth])
            fields["COMMAND_WINDOW.workgroups"] = rng.randint(1, most)
        elif rng.random() < 0.6:
            name = rng.choice([*fields])
            fields[name] = max(0, fields[name] + rng.choice([-1, 1]))
            fields[name] = rng.choice([fields[name], 0])
        writes = [
            (
                register,
                _MAP[register].pack(**{field: min(value, _MAP[register][field].mask)}),
            )
            for register, field, value in (
                (*name.split("."), value) for name, value in fields.items()
            )
        ]
        # The last launch may still be running.
        begin = [("CONTROL", _MAP["CONTROL"].pack(abort=1))] if rng.random() < 0.5 else []
        if fits or rng.random() < 0.5:
            begin.append(("WAYS", (1 << p.ways) - 1))
        launch = "CONTROL", _MAP["CONTROL"].pack(launch=1)
        writes += [("TRACKING", _MAP["TRACKING"].pack(generation=generation)), launch]
        # The next launches; they wait while one runs or has not drained.
        for step in rng.choice([(0,), (1,), (7,), (1, 2, 3, 4)]):
            after = (generation + step) % (1 << GENERATION_BITS)
            word = _MAP["TRACKING"].pack(generation=after)
            writes += [("TRACKING", word), launch]
        return [*begin, *writes]

    def _queue(self) -> list[tuple[str, int]]:
        """Return the writes of small launches, one behind the other; while one is pending, the
        commits between them are refused.
        """
        rng, before = self._rng, self._needs(self._context).before
        hold = _MAP["LOCK"].pack(hold=1) if rng.random() < 0.4 else 0
        writes = [("WAYS", (1 << self._p.ways) - 1), *_SMALL, ("LOCK", hold)]
        for step in range(1, 4):
            generation = (before + step) % (1 << GENERATION_BITS)
            tracking = _MAP["TRACKING"].pack(generation=generation)
            writes += [("TRACKING", tracking), ("CONTROL", _MAP["CONTROL"].pack(launch=1))]
            commit = rng.choice(["REGION_COMMIT", "RANGE_COMMIT", "COMMAND_COMMIT"])
            writes += [(commit, _MAP[commit].pack(index=0))]
        return [*writes, ("LOCK", 0), ("CONTROL", _MAP["CONTROL"].pack(measure=1))]

    def _moves(self) -> list[tuple[str, int]]:
        """Return the writes of launches between which a region moves, and of copies that read it
        when it is removed and replaced.
        """
        rng, before = self._rng, self._needs(self._context).before
        ranges = [_MAP["RANGE_COMMIT"].pack(index=index) for index in range(self._p.ranges)]
        writes = [("CONTROL", _MAP["CONTROL"].pack(abort=1)), *self._peers()]
        writes += [*_SMALL, ("RANGE_ACTION", 0), ("RANGE_PEERS", 0)]
        writes += [("RANGE_COMMIT", word) for word in ranges]
        writes += [("COMMAND_STRIDE", 0), ("COMMAND_OFFSET_LO", 0), ("COMMAND_COMMIT", 0)]
        commit, remove = (_MAP["REGION_COMMIT"].pack(enable=enable, share=1) for enable in (1, 0))
        for step in range(1, 4):
            base = rng.randrange(1 << 20) * self._p.atom_bytes
            writes += [("REGION_BASE_LO", base), ("REGION_LIMIT_LO", base + self._p.atom_bytes)]
            writes += [("REGION_BASE_HI", 0), ("REGION_LIMIT_HI", 0), ("REGION_COMMIT", commit)]
            copy = _MAP["COPY"].pack(peers=1 << rng.randrange(self._p.peers))
            generation = (before + step) % (1 << GENERATION_BITS)
            launch = [
                ("TRACKING", _MAP["TRACKING"].pack(generation=generation)),
                ("CONTROL", _MAP["CONTROL"].pack(launch=1)),
            ]
            copies = [("COPY_START_LO", 0), ("COPY_START_HI", 0), ("COPY", copy)]
            copies += [("REGION_COMMIT", remove), ("REGION_COMMIT", commit)]
            writes += rng.choice([launch, launch, copies, [*launch, *copies]])
        return writes

    def _scrub(self) -> list[tuple[int, int, int]]:
        """Abort the launch of a context, and restart its epochs until the abort has ended."""
        control, scrub = _MAP["CONTROL"], _MAP["EPOCH_RESET"]
        abort = control.address_in(self._context), control.pack(abort=1), 15
        return [abort, *[(scrub.address_in(self._context), scrub.pack(restart=1), 15)] * 20]

    def _tables(self) -> list[tuple[str, int]]:
        """Return writes of new regions, ranges and commands; regions and ranges are anywhere and do
        not overlap.
        """
        rng, p = self._rng, self._p
        indices = {"REGION_COMMIT": range(p.regions), "RANGE_COMMIT": range(p.ranges)}
        writes = [
            (name, _MAP[name].pack(index=index, enable=0))
            for name in reversed(indices)
            for index in indices[name]
        ]
        ends = sorted(rng.sample(range(1 << p.atom_address_bits), 2 * p.regions))
        for index, pair in zip(rng.sample(range(p.regions), p.regions), _pairs(ends), strict=True):
            for name, atom in zip(("REGION_BASE", "REGION_LIMIT"), pair, strict=True):
                writes += self._address_words(name, atom)
            commit = _MAP["REGION_COMMIT"].pack(index=index, enable=1, share=1)
            writes += [("REGION_COMMIT", commit)]
        ends = sorted(rng.sample(range(1 << p.dispatch_index_bits), 2 * p.ranges))
        for index, pair in zip(rng.sample(range(p.ranges), p.ranges), _pairs(ends), strict=True):
            first, last = pair
            writes += [
                (
                    "RANGE_DISPATCH_INDICES",
                    _MAP["RANGE_DISPATCH_INDICES"].pack(first=first, last=last),
                ),
                ("RANGE_ACTION", self._word("RANGE_ACTION")),
                ("RANGE_PEERS", self._word("RANGE_PEERS")),
                ("RANGE_GATE", self._word("RANGE_GATE")),
                ("RANGE_BAND", self._word("RANGE_BAND")),
                ("RANGE_COMMIT", _MAP["RANGE_COMMIT"].pack(index=index, enable=1)),
            ]
        for index in range(p.commands):
            writes += [(name, self._word(name)) for name in _GROUPS["COMMAND_COMMIT"][:5]]
            writes += self._address_words("COMMAND_OFFSET", rng.getrandbits(p.atom_address_bits))
            writes += [("COMMAND_COMMIT", _MAP["COMMAND_COMMIT"].pack(index=index))]
        return writes

    def _peers(self) -> list[tuple[str, int]]:
        """Return writes of all peers, most of which take packets of every kind, once the abort
        before them has ended.
        """
        rng, p, fields = self._rng, self._p, {field.name for field in _MAP["PEER"].fields}
        writes: list[tuple[str, int]] = [("COPY_START_LO", 0)] * 3
        for index in range(p.peers):
            entry = {name: rng.random() < 0.95 for name in fields if name[:5] in ("sends", "takes")}
            entry |= {"gpu": rng.getrandbits(7), "rank": rng.getrandbits(7)}
            enable = int(rng.random() < 0.95)
            commit = _MAP["PEER_COMMIT"].pack(index=index, enable=enable)
            space = rng.randrange(1 << p.context_bits)
            writes.append(("PEER", _MAP["PEER"].pack(**entry, space=space)))
            writes.append(("PEER_COMMIT", commit))
        return writes

    def _mask(self) -> int:
        """Draw a mask of peers: mostly of one or of several, seldom of none or of a missing one."""
        rng, peers = self._rng, self._p.peers
        several = rng.randrange(1 << peers)
        return rng.choice([1 << rng.randrange(peers)] * 8 + [several] * 3 + [0, rng.getrandbits(8)])

    def _copies(self) -> list[tuple[str, int]]:
        """Return writes that start copies from any address, by any command."""
        rng, p = self._rng, self._p
        writes = []
        for _ in range(4):
            writes += self._address_words("COPY_START", rng.getrandbits(p.atom_address_bits))
            copy = _MAP["COPY"].pack(command=rng.randrange(p.commands), peers=self._mask())
            writes += [("COPY", copy)]
        return writes

    def _between_ends(self, kind: str) -> list[tuple[str, int]]:
        """Return the writes of a region or a range whose ends mostly differ from earlier ends by
        one, or in one bit.
        """
        rng, p, ends = self._rng, self._p, self._ends[kind]
        bits = p.atom_address_bits if kind == "region" else p.dispatch_index_bits
        pair = []
        for _ in range(2):
            known = rng.choice(ends)
            near = [known, known + 1, known - 1, known ^ 1 << rng.randrange(bits)]
            pair.append(rng.choice([*near, rng.getrandbits(bits)]) % (1 << bits))
        first, last = pair if rng.random() < 0.1 else sorted(pair)
        ends += first, last
        if kind == "region":
            base, limit = (
                self._address_words(f"REGION_{name}", atom)
                for name, atom in (("BASE", first), ("LIMIT", last))
            )
            return base + limit
        indices = _MAP["RANGE_DISPATCH_INDICES"].pack(first=first, last=last)
        names = ("RANGE_ACTION", "RANGE_PEERS", "RANGE_GATE")
        others = [(name, self._word(name)) for name in names]
        return [("RANGE_DISPATCH_INDICES", indices), *others]

    def _address_words(self, name: str, atom: int) -> list[tuple[str, int]]:
        address = atom * self._p.atom_bytes
        return [(f"{name}_LO", address & 0xFFFFFFFF), (f"{name}_HI", address >> 32)]

    def _word(self, name: str) -> int:
        """Draw a value that is meaningful for the register's field, or any value."""
        rng, p = self._rng, self._p
        if rng.random() < 0.1:
            return rng.getrandbits(32)
        register = _MAP[name]
        if name in ("CONTROL", "GPU_CONTROL") and rng.random() < 0.3:
            return register.pack(drop_error=1)
        if name in _GROUPS:
            fields = {field.name: rng.randrange(2) for field in register.fields}
            index = next(field for field in fields if field != "enable")
            tables = {"REGION_COMMIT": p.regions, "RANGE_COMMIT": p.ranges, "PEER_COMMIT": p.peers}
            most = tables.get(name, p.commands)
            fields[index] = rng.randrange(most + (rng.random() < 0.1))
            if "peers" in fields:
                fields["peers"] = self._mask()
            return register.pack(**fields)
        if name == "RANGE_PEERS":
            return register.pack(peers=self._mask(), slot_offset=rng.getrandbits(17))
        if name == "RANGE_GATE":
            enable, context = rng.random() < 0.3, rng.choice([0, 1, rng.randrange(8)])
            return register.pack(enable=enable, context=context, slot=rng.getrandbits(17))
        if name == "MAY_AWAIT":
            return rng.choice([0, 3, 3, 3, rng.getrandbits(8)])
        if name == "RANGE_DISPATCH_INDICES":
            first = rng.choice([rng.randrange(16), rng.getrandbits(15)])
            return register.pack(first=first, last=first + rng.randrange(4))
        if name == "RANGE_ACTION":
            return register.pack(
                region=rng.randrange(p.regions),
                action=rng.choice([*Action, Action.DMA]).value,
                command=rng.randrange(p.commands),
                shares=rng.choice([0, 1, 1, 1, rng.getrandbits(p.share_bits)]),
            )
        if name == "INJECT":
            fields = {"target": rng.choice([0, rng.randrange(8)]), "double": rng.getrandbits(1)}
            return register.pack(**fields, instance=rng.choice([0, 1, rng.getrandbits(8)]))
        if name == "COMMAND_WAVES" and rng.random() < 0.2:
            return rng.getrandbits(16)  # no wavefront
        if name == "COMMAND_STRIDE":
            return register.pack(stride=rng.getrandbits(24), region=rng.randrange(p.regions))
        if name.endswith("_HI"):
            bits = rng.choice([p.address_bits - 32, 32])
            return rng.choice([0, 0, 0, rng.getrandbits(bits), 1 << rng.randrange(32)])
        if name.endswith("_LO"):
            atoms = rng.choice([rng.randrange(64), rng.getrandbits(27), 1 << rng.randrange(27)])
            misaligned = rng.randrange(1, p.atom_bytes) if rng.random() < 0.1 else 0
            return atoms * p.atom_bytes + misaligned
        return rng.getrandbits(32)
