"""Programs of the register port whose acceptance depends on a single bit of one value."""

import random

from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map

__all__ = ["Bounds"]

_MAP = register_map.load()
_TRIES = 10
_TABLES, _TRIES_OF_EACH = 2, 3
_Writes = list[tuple[str, int]]


def _write(name: str, **fields: int) -> tuple[str, int]:
    return name, _MAP[name].pack(**fields)


class Bounds:
    """Programs with few table entries, and with values at a bound or just beyond it.

    Parameters
    ----------
    rng : :class:`random.Random`
    p : :class:`T3Parameters`
    """

    def __init__(self, rng: random.Random, p: T3Parameters):
        self._rng, self._p, self._generation = rng, p, 0
        self._peers = 1  # receivers of ranges

    def program(self, before: int) -> _Writes:
        """Return writes to a context's registers, for a master with all privileges; ``before`` is
        the generation of the context's last launch.
        """
        self._generation, self._peers = before, 1 << self._rng.randrange(self._p.peers)
        kinds = [self._regions, self._ranges, self._addresses, self._launches, self._receivers]
        kinds += [self._gates] if self._p.await_bits else []
        return self._rng.choice(kinds)()

    def _launch(self) -> _Writes:
        """Return the writes of a launch of the next generation, and of an abort."""
        self._generation = (self._generation + 1) % (1 << GENERATION_BITS)
        return [
            _write("TRACKING", generation=self._generation),
            _write("CONTROL", launch=1),
            _write("CONTROL", abort=1),
        ]

    def _near(self, value: int, bits: int) -> int:
        """Return the value, a neighbour, or, mostly, a value that differs in one bit."""
        rng = self._rng
        flipped = value ^ 1 << rng.randrange(bits)
        return rng.choice([value, value + 1, value - 1, *[flipped] * 6]) % (1 << bits)

    def _bytes(self, name: str, address: int) -> _Writes:
        return [(f"{name}_LO", address & 0xFFFFFFFF), (f"{name}_HI", address >> 32)]

    def _atoms(self, name: str, atom: int) -> _Writes:
        return self._bytes(name, atom * self._p.atom_bytes)

    def _empty(self) -> _Writes:
        """Return writes that remove all ranges, then all regions; mostly no launch waits, which
        would lock them.
        """
        sizes = {"RANGE_COMMIT": self._p.ranges, "REGION_COMMIT": self._p.regions}
        commits = [
            _write(name, index=index, enable=0)
            for name, size in sizes.items()
            for index in range(size)
        ]
        # Until an abort has ended, copies are refused.
        return [_write("CONTROL", abort=int(self._rng.random() < 0.7)), *commits]

    def _region(self, index: int, base: int, limit: int) -> _Writes:
        commit = _write("REGION_COMMIT", index=index, enable=1)
        return [*self._atoms("REGION_BASE", base), *self._atoms("REGION_LIMIT", limit), commit]

    def _range(self, index: int, first: int, last: int, **action: int) -> _Writes:
        return [
            _write("RANGE_DISPATCH_INDICES", first=first, last=last),
            _write("RANGE_ACTION", **action),
            _write("RANGE_PEERS", peers=self._peers, slot_offset=self._rng.getrandbits(17)),
            _write("RANGE_COMMIT", index=index, enable=1),
        ]

    def _peer(self, index: int, *, enable: int = 1, **fields: int) -> _Writes:
        """Return the writes of a peer, which are refused unless the context is idle."""
        return [_write("PEER", **fields), _write("PEER_COMMIT", index=index, enable=enable)]

    def _regions(self) -> _Writes:
        """Return the writes of a region that ends or begins near the only other region."""
        rng, bits = self._rng, self._p.atom_address_bits
        other, index = rng.sample(range(self._p.regions), 2)
        base, limit = sorted(rng.sample(range(1 << bits), 2))
        writes = [*self._empty(), *self._region(other, base, limit)]
        above = rng.random() < 0.5
        # The other end, which does not matter.
        far = ("REGION_LIMIT", (1 << bits) - 1) if above else ("REGION_BASE", 0)
        writes += self._atoms(*far)
        for _ in range(_TRIES):
            near = ("REGION_BASE", limit) if above else ("REGION_LIMIT", base)
            writes += self._atoms(near[0], self._near(near[1], bits))
            writes += [_write("REGION_COMMIT", index=index, enable=1)]
        return writes

    def _ranges(self) -> _Writes:
        """Return the writes of a range that ends or begins near the only other range, mostly of the
        same region.
        """
        rng, p, bits = self._rng, self._p, self._p.dispatch_index_bits
        middle = rng.randrange(1, (1 << p.atom_address_bits) - 1)
        regions = rng.sample(range(p.regions), 2)
        writes = self._empty()
        for region, ends in zip(regions, ((0, middle), (middle, middle + 1)), strict=True):
            writes += self._region(region, *ends)
        other, index = rng.sample(range(p.ranges), 2)
        first, last = sorted(rng.getrandbits(bits) for _ in range(2))
        action = {"action": Action.OWN.value, "command": rng.randrange(p.commands)}
        writes += self._range(other, first, last, region=regions[0], **action)
        for _ in range(_TRIES):
            above = rng.random() < 0.5
            ends = (
                (self._near(last, bits), (1 << bits) - 1) if above else (0, self._near(first, bits))
            )
            region = regions[rng.random() < 0.2]
            writes += self._range(index, *ends, region=region, **action)
        return writes

    def _addresses(self) -> _Writes:
        """Return writes with one wrong address bit: below an atom, or above the address space."""
        rng, p = self._rng, self._p
        odd = [*range(p.address_bits - p.atom_address_bits), *range(p.address_bits, 64)]
        top = (1 << p.atom_address_bits) - 1
        region, command = rng.randrange(p.regions), rng.randrange(p.commands)
        writes = [
            *self._empty(),
            *self._region(region, 0, top),
            _write("COMMAND_STRIDE", region=region),
            *self._atoms("COMMAND_OFFSET", 0),
            _write("COMMAND_COMMIT", index=command),
            *self._peer(self._peers.bit_length() - 1, sends_stores=1, sends_updates=1),
        ]
        commits = {
            "COPY_START": _write("COPY", command=command, peers=self._peers),
            "REGION_BASE": _write("REGION_COMMIT", index=region, enable=1),
            "REGION_LIMIT": _write("REGION_COMMIT", index=region, enable=1),
            "COMMAND_OFFSET": _write("COMMAND_COMMIT", index=command),
        }
        for _ in range(_TRIES):
            name = rng.choice([*commits])
            right = top * p.atom_bytes if name == "REGION_LIMIT" else 0
            writes += self._bytes(name, right ^ 1 << rng.choice(odd))
            writes += [commits[name], *self._bytes(name, right)]
        return writes

    def _launches(self) -> _Writes:
        """Return the writes of launches at the bounds, with one or two commands that need space."""
        rng, p = self._rng, self._p
        writes, spaces = [*self._empty(), *self._region(0, 0, 1)], {}
        writes += [("WAYS", (1 << p.ways) - 1)]
        writes += self._peer(self._peers.bit_length() - 1, sends_stores=1, sends_updates=1)
        for index in range(p.commands):
            spaces[index], commit = self._command(index)
            writes += commit
        ranges = rng.sample(range(p.ranges), rng.choice([1, 1, 2]))
        sent = [rng.randrange(p.commands) for _ in ranges]
        actions = [{"action": Action.DMA.value, "command": one, "region": 0} for one in sent]
        for index, action in zip(ranges, actions, strict=True):
            writes += self._range(index, index, index, **action, shares=self._shares())
        for _ in range(_TABLES):
            writes += self._tries(*map(max, zip(*(spaces[one] for one in sent), strict=True)))
            # Without a share, a tile of the range would never be complete.
            index, action = rng.choice([*zip(ranges, actions, strict=True)])
            # Without a wavefront, neither would one be that arrives while the stores leave.
            for kind in (Action.REMOTE, Action.DMA):
                for shares in (0, self._shares()):
                    chosen = action | {"action": kind.value, "shares": shares}
                    writes += self._range(index, index, index, **chosen)
                    writes += self._launch()
            writes += self._without_kernel()
            other = rng.choice([*sent, rng.randrange(p.commands)])
            spaces[other], commit = self._command(other)
            writes += commit
        return writes

    def _receivers(self) -> _Writes:
        """Return the writes of small launches and of copies, of which a single bit of a peer
        decides whether they are accepted.
        """
        rng, p = self._rng, self._p
        kinds = ("sends_stores", "sends_updates")
        command, kind = rng.randrange(p.commands), rng.randrange(2)
        writes = [*self._empty(), *self._region(0, 0, 1), ("WAYS", (1 << p.ways) - 1)]
        writes += [
            _write("COMMAND_TRANSFER", kind=kind),
            _write("COMMAND_WAVES", waves0=1),
            _write("COMMAND_STRIDE", region=0),
            _write("COMMAND_COMMIT", index=command),
            _write("WORKGROUPS", count=1),
            _write("TRACKED_FIRST", dispatch_index=0),
            _write("TRACKED_END", dispatch_index=1),
            _write("CREDIT_WINDOW", workgroups=1),
            _write("COMMAND_WINDOW", workgroups=1),
            *self._bytes("COPY_START", 0),
        ]
        for peer in range(p.peers):
            writes += self._peer(peer, **{kinds[kind]: 1})
        for _ in range(_TRIES):
            self._peers = rng.randrange(1, 1 << p.peers)
            peer = rng.randrange(p.peers)
            action = rng.choice([Action.REMOTE, Action.DMA, Action.OWN]).value
            writes += self._range(0, 0, 0, region=0, action=action, command=command, shares=1)
            others = {name: rng.randrange(2) for name in ("takes_stores", "takes_updates")}
            wrong = rng.choice(
                [
                    self._peer(peer, enable=0, **others, **dict.fromkeys(kinds, 1)),
                    self._peer(peer, **others, **{kinds[1 - kind]: 1}),
                ]
            )
            right = self._peer(peer, **others, **{kinds[kind]: 1})
            copy = _write("COPY", command=command, peers=self._peers)
            writes += [*wrong, copy, *self._launch(), *right, *self._launch(), copy]
        return writes

    def _gates(self) -> _Writes:
        """Return the writes of small launches, of which a bit of a mask decides whether they are
        accepted, and of ranges that only wait.
        """
        rng, p = self._rng, self._p
        writes = [*self._empty(), *self._region(0, 0, 1)]
        writes += [
            _write("COMMAND_WAVES", waves0=1),
            _write("COMMAND_STRIDE", region=0),
            _write("COMMAND_COMMIT", index=0),
            _write("WORKGROUPS", count=1),
            _write("TRACKED_FIRST", dispatch_index=0),
            _write("TRACKED_END", dispatch_index=1),
            _write("CREDIT_WINDOW", workgroups=1),
            _write("COMMAND_WINDOW", workgroups=1),
        ]
        for _ in range(_TRIES):
            index, context = rng.randrange(p.ranges), rng.choice([*range(p.contexts), 7])
            action = rng.choice([Action.NONE, Action.OWN]).value
            gate = {"context": context, "generation": rng.randrange(16)}
            writes += [
                _write("RANGE_GATE", enable=rng.random() < 0.9, **gate),
                _write("MAY_AWAIT", contexts=rng.choice([1 << context, 0, rng.randrange(256)])),
                *self._range(index, 0, 0, region=0, action=action, command=0, shares=1),
                *self._launch(),
                _write("RANGE_COMMIT", index=index, enable=0),
            ]
        return [*writes, _write("RANGE_GATE")]

    def _shares(self) -> int:
        """Draw a number of shares, mostly with a single bit."""
        bits = self._p.share_bits
        return self._rng.choice([1 << self._rng.randrange(bits)] * 3 + [(1 << bits) - 1])

    def _command(self, index: int) -> tuple[tuple[int, int], _Writes]:
        """Return a random command, with its needed space: the largest number of commands of a
        workgroup, and of further members of a group."""
        rng = self._rng
        kind, group = rng.choice([*Granularity]), rng.randrange(8)
        # Each number is equally likely to be the largest.
        waves = rng.choices(range(rng.randint(1, 16)), k=4)
        by_wavefront = kind is Granularity.WAVEFRONT
        space = (max(1, *waves), 0) if by_wavefront else (1, (1 << group) - 1)
        return space, [
            _write("COMMAND_TRANSFER", granularity=kind.value, group_log2=group),
            _write("COMMAND_WAVES", **{f"waves{number}": one for number, one in enumerate(waves)}),
            _write("COMMAND_STRIDE", region=0),
            _write("COMMAND_COMMIT", index=index),
        ]

    def _tries(self, commands: int, others: int) -> _Writes:
        """Return the writes of launches with the largest windows that fit; one register may be
        wrong.
        """
        rng, p = self._rng, self._p
        command_window, credit_window = p.command_depth // commands, p.credit_window - others
        most = 1 << p.workgroup_bits
        workgroups = rng.choice([most, rng.randrange(2, most)])
        end = rng.randrange(1, most + 1)
        fits = {
            ("WORKGROUPS", "count"): (workgroups, [most]),
            ("TRACKED_END", "dispatch_index"): (end, [most]),
            ("TRACKED_FIRST", "dispatch_index"): (rng.randrange(end + 1), [end]),
            ("CREDIT_WINDOW", "workgroups"): (credit_window, [0, credit_window]),
            ("COMMAND_WINDOW", "workgroups"): (command_window, [0, command_window]),
        }
        writes = [_write(name, **{field: value}) for (name, field), (value, _) in fits.items()]
        writes += self._launch()
        windows = ("CREDIT_WINDOW", "COMMAND_WINDOW")
        tries = [(key, value + 1) for key, (value, _) in fits.items() if key[0] in windows]
        for _ in range(_TRIES_OF_EACH):
            key, (_, bounds) = rng.choice([*fits.items()])
            bits = _MAP[key[0]][key[1]].mask.bit_count()
            tries.append((key, self._near(rng.choice(bounds), bits)))
        for (name, field), tried in tries:
            wrong, right = (_write(name, **{field: one}) for one in (tried, fits[name, field][0]))
            writes += [wrong, *self._launch(), right]
        return writes

    def _without_kernel(self) -> _Writes:
        """Return the writes of a launch for copies only, then of one that tracks slots without a
        kernel.
        """
        names = {
            "WORKGROUPS": "count",
            "TRACKED_FIRST": "dispatch_index",
            "TRACKED_END": "dispatch_index",
        }
        bits = _MAP["TRACKED_END"]["dispatch_index"].mask.bit_count()
        return [
            *(_write(name, **{field: 0}) for name, field in names.items()),
            *self._launch(),
            _write("TRACKED_END", dispatch_index=1 << self._rng.randrange(bits)),
            *self._launch(),
        ]
