"""Bench of the tables: commits of good and bad entries in every cycle, against the golden model's
tables.
"""

import random
from collections.abc import Iterator
from itertools import permutations, product

import cocotb
from amaranth.lib import data

from rtl.interface.configuration import MapConfiguration, PeerEntry
from rtl.interface.encodings import Action, ConfigurationError
from rtl.interface.layouts import Copy
from rtl.parameters import T3Parameters
from rtl.registers.map_table import INDEX_BITS, MapTable, Staging, Table
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, maps, offered, words
from tb.map_table.model import stage, step_unit
from tb.payload import Fields
from tb.stream import StreamChecker

# No size is a power of two, so that an index may be just beyond the last entry.
PARAMETERS = T3Parameters(
    contexts=2, address_bits=40, workgroup_bits=6, sets=8, ways=2, regions=3, ranges=5, commands=3,
    peers=3,
)  # fmt: skip
_STAGING, _MAPS = Fields(Staging(PARAMETERS)), Fields(MapConfiguration(PARAMETERS))
_COPY = Fields(Copy(PARAMETERS))
_PEERS = Fields(data.ArrayLayout(PeerEntry(PARAMETERS), PARAMETERS.peers))
_SPACE, _ATOM = 1 << PARAMETERS.address_bits, PARAMETERS.atom_bytes
_ENTRIES = {
    Table.REGION: PARAMETERS.regions,
    Table.RANGE: PARAMETERS.ranges,
    Table.COMMAND: PARAMETERS.commands,
    Table.COPY: PARAMETERS.commands,
    Table.PEER: PARAMETERS.peers,
}
_CONFIGURATION_ERRORS = {
    Table.REGION: ("UNKNOWN_INDEX", "MISALIGNED", "ADDRESS_OUT_OF_RANGE", "EMPTY", "OVERLAP")
    + ("REGION_IN_USE", "IN_USE", "LOCKED"),
    Table.RANGE: ("UNKNOWN_INDEX", "IN_USE", "EMPTY", "REGION_DISABLED", "OVERLAP"),
    Table.COMMAND: ("UNKNOWN_INDEX", "IN_USE", "MISALIGNED"),
    Table.COPY: (
        "UNKNOWN_INDEX",
        "MISALIGNED",
        "ADDRESS_OUT_OF_RANGE",
        "EMPTY",
        "REGION_DISABLED",
        "NO_PEER",
        "IN_USE",
        "QUEUE_FULL",
    ),
    Table.PEER: ("UNKNOWN_INDEX", "IN_USE"),
    Table.CLEAR: (),
}
_CYCLES = 4000

expect(
    *(
        f"{table.name} {name}"
        for table, names in _CONFIGURATION_ERRORS.items()
        for name in (*names, "NONE")
    ),
    "first index behind the last",
    "command of the first region behind the last",
    "entry written over itself",
    "entry removed",
    "region fixed",
    "fixed region removed",
    "adjacent regions",
    "adjacent ranges",
    "region to the end of the space",
    "consecutive commits of one table",
    "copy taken and put at once",
    "copy refused as one is taken",
    "copy to several peers",
    "range without a receiver",
    "range that only waits",
)


def make_dut(block: type = MapTable):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _address(rng: random.Random) -> int:
    """Draw an address in bytes from few values, so that regions touch or overlap; sometimes an
    invalid address.
    """
    near, most = rng.randrange(12), _SPACE // _ATOM - 1
    value = rng.choice([near, near, most, rng.randint(0, most)]) * _ATOM
    if rng.random() < 0.04:
        value += rng.choice([1, _ATOM // 2, _ATOM - 1])
    if rng.random() < 0.05:
        value = rng.choice(
            [_SPACE, _SPACE + _ATOM, 1 << rng.randrange(PARAMETERS.address_bits, 64)]
        )
    return value


def _random_mask(rng: random.Random) -> int:
    """Draw a mask of peers: mostly of one or of several, seldom of none or of a missing one."""
    one, several = 1 << rng.randrange(PARAMETERS.peers), rng.randrange(1 << PARAMETERS.peers)
    return rng.choice([one] * 6 + [several] * 4 + [0, 1 << rng.randrange(INDEX_BITS)])


def _random_staging(rng: random.Random) -> dict[str, int]:
    p = PARAMETERS
    staged = _STAGING.named(rng.getrandbits(_STAGING.width))
    for name in ("region_base", "region_limit", "command_offset", "copy_start"):
        value = _address(rng)
        staged |= {f"{name}_0": value & 0xFFFFFFFF, f"{name}_1": value >> 32}
    dispatch_indices = 1 << p.dispatch_index_bits
    first = rng.choice([0, rng.randrange(8), rng.randrange(dispatch_indices)])
    beyond = rng.random() < 0.05
    return staged | {
        "range_peers": _random_mask(rng),
        **{f"peer_sends_{kind}": rng.random() < 0.8 for kind in ("stores", "updates")},
        "range_region": rng.randrange(p.regions) if not beyond else rng.choice([p.regions, 255]),
        "range_command": rng.randrange(p.commands if rng.random() < 0.95 else 256),
        "range_first": first,
        "range_last": rng.choice([first, first + 1, rng.randrange(dispatch_indices)])
        % dispatch_indices,
        "range_action": rng.choice([*Action, *list(Action)[1:]]).value,
        "command_region": rng.choice([*range(p.regions)] * 5 + [p.regions, 255]),
        "command_op": rng.randrange(3),
        "command_dtype": rng.randrange(3),
    }


class _Bench:
    """The tables and their golden state."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.checker = StreamChecker(dut, ("copies",))
        self._last: tuple[Table, int] | None = None  # commit of the cycle before
        self.staged: dict[str, int] = dict.fromkeys(_STAGING.names, 0)

    async def commit(
        self,
        expected: ConfigurationError,
        table: Table,
        index: int,
        enable: int = 1,
        foreign: bool = False,
        fixed: int = 0,
        receivers: int = 1,
        take: bool = False,
        **staged: int,
    ) -> None:
        """Commit the staged entry with these changes, and check the result."""
        self.staged |= staged
        ports = {"enable": enable, "foreign": foreign, "fixed": fixed}
        found = await self.cycle(table, index, **ports, receivers=receivers, take=take)
        assert found == expected.value

    async def cycle(
        self,
        table: Table,
        index: int,
        *,
        enable: int = 1,
        locked: bool = False,
        aborting: bool = False,
        foreign: bool = False,
        mixed: bool = False,
        in_use: bool = False,
        fixed: int = 0,
        receivers: int = 1,
        take: bool = False,
    ) -> int:
        """Drive a cycle with a commit of the staged entry. Return its configuration error."""
        dut, state = self.dut, self.state
        dut.staging.value = _STAGING.pack(self.staged)
        dut.table.value, dut.index.value, dut.enable.value = table.value, index, enable
        dut.copies__ready.value, dut.aborting.value = int(take), int(aborting)
        dut.locked.value, dut.foreign.value = int(locked), int(foreign)
        dut.fixed.value, dut.mixed.value = fixed, int(mixed)
        dut.in_use.value, dut.receivers.value = int(in_use), receivers
        await settled()
        self.checker.sample()
        assert _MAPS.unpack(int(dut.maps.value)) == self._maps()
        peers = state.contexts[0]["peers"][: PARAMETERS.peers]
        assert _PEERS.unpack(int(dut.peers.value)) == words(peers)
        copy = offered(state.contexts[0]["copies"], "copies")
        assert bool(dut.copies__valid.value) == (copy is not None)
        if copy is not None:
            assert _COPY.unpack(int(dut.copies__payload.value)) == copy
        before = _MAPS.named(int(dut.maps.value))
        stage(state, self.staged)
        taken = take and copy is not None
        ports = {"locked": locked, "aborting": aborting, "foreign": foreign, "popped": taken}
        ports |= {"fixed": bool(fixed >> index & 1), "mixed": mixed, "in_use": in_use}
        fields = {"index": index, "command": index, "enable": enable, "peers": receivers}
        configuration_error = step_unit(state, table, **ports, **fields)
        assert int(dut.configuration_error.value) == configuration_error
        if table != Table.NONE:
            self._cover(table, index, enable, configuration_error, before)
        accepted = configuration_error == ConfigurationError.NONE.value
        enabled = [before[f"regions_{one}_enable"] for one in range(PARAMETERS.regions)]
        removes = table == Table.REGION and not enable and index < len(enabled) and enabled[index]
        removed = {index} if removes and accepted else set()
        if table == Table.CLEAR:
            removed = {one for one, was_enabled in enumerate(enabled) if was_enabled}
        assert int(dut.removes.value) == sum(1 << one for one in removed)
        several = receivers.bit_count() > 1
        cover("copy to several peers", table == Table.COPY and accepted and several)
        is_empty = configuration_error == ConfigurationError.EMPTY.value
        lacks = is_empty and table == Table.RANGE and not self.staged["range_peers"]
        cover("range without a receiver", lacks)
        no_action = self.staged["range_action"] == Action.NONE.value
        waits = accepted and enable and table == Table.RANGE and no_action
        cover("range that only waits", waits)
        cover("copy taken and put at once", table == Table.COPY and taken and accepted)
        at = table == Table.REGION and fixed >> index & 1
        cover("region fixed", at and enable and not locked and not accepted)
        cover("fixed region removed", at and removes and accepted)
        cover(
            "copy refused as one is taken",
            configuration_error == ConfigurationError.QUEUE_FULL.value and taken,
        )
        await next_cycle(dut)
        return configuration_error

    def _maps(self) -> list[int]:
        """Return the fields of all tables, in order."""
        return maps(self.state, prefix="programmed_")

    def _cover(
        self, table: Table, index: int, enable: int, configuration_error: int, maps: dict
    ) -> None:
        cover(f"{table.name} {ConfigurationError(configuration_error).name}")
        cover("first index behind the last", index == _ENTRIES.get(table))
        cover("consecutive commits of one table", self._last == table)
        self._last = table
        beyond = self.staged["command_region"] == PARAMETERS.regions
        cover("command of the first region behind the last", table == Table.COMMAND and beyond)
        if configuration_error or table not in (Table.REGION, Table.RANGE):
            return
        name, (low, high) = {
            Table.REGION: ("regions", ("base", "limit")),
            Table.RANGE: ("ranges", ("first", "last")),
        }[table]
        was_there = maps[f"{name}_{index}_enable"]
        cover("entry written over itself", was_there and enable)
        cover("entry removed", was_there and not enable)
        if not enable:
            return
        after = dict(zip(_MAPS.names, self._maps(), strict=True))
        others = [
            other
            for other in range(_ENTRIES[table])
            if other != index and after[f"{name}_{other}_enable"]
        ]
        last = after[f"{name}_{index}_{high}"]
        if table == Table.REGION:
            top = _SPACE // _ATOM - 1
            cover("region to the end of the space", last == top)
            near = [after[f"{name}_{other}_{low}"] == last for other in others]
            cover("adjacent regions", any(near))
        else:
            near = [
                after[f"{name}_{other}_{low}"] == last + 1
                and after[f"{name}_{other}_region"] == after[f"{name}_{index}_region"]
                for other in others
            ]
            cover("adjacent ranges", any(near))


def _stage_region(base: int, limit: int) -> dict[str, int]:
    words = {"region_base": base * _ATOM, "region_limit": limit * _ATOM}
    staged = {f"{name}_0": value & 0xFFFFFFFF for name, value in words.items()}
    staged |= {f"{name}_1": value >> 32 for name, value in words.items()}
    return staged


def _stage_range(region: int, first: int, last: int) -> dict[str, int]:
    return {
        "range_region": region,
        "range_first": first,
        "range_last": last,
        "range_action": Action.OWN.value,
        "range_command": 0,
    }


@cocotb.test()
async def random_commits(dut):
    """A reset before the second half removes all entries of the first half."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(2):
        await reset(dut, _INPUTS)
        await _random_commits(_Bench(dut), rng, scaled(_CYCLES) // 2)


async def _random_commits(bench: _Bench, rng: random.Random, cycles: int) -> None:
    weights = {Table.NONE: 2, Table.REGION: 5, Table.RANGE: 6, Table.COMMAND: 2, Table.COPY: 5}
    weights |= {Table.PEER: 2, Table.CLEAR: 0.05}
    for cycle in range(cycles):
        if cycle % 100 == 0:
            pace, keeps = rng.choice([0.1, 0.5, 0.9]), rng.choice([0.5, 0.8, 0.95])
        bench.staged = _random_staging(rng)
        (table,) = rng.choices(list(weights), list(weights.values()))
        index = rng.randrange(_ENTRIES.get(table, 1))
        if rng.random() < 0.08:
            index = rng.choice([_ENTRIES.get(table, 0), 7, (1 << INDEX_BITS) - 1])
        enable = int(rng.random() < keeps)
        names = ("locked", "aborting", "foreign", "mixed", "in_use")
        flags = {name: rng.random() < 0.1 for name in names}
        flags["receivers"] = _random_mask(rng)
        fixed = rng.choice([0, 0, 0, rng.getrandbits(PARAMETERS.regions)])
        take = rng.random() < pace
        await bench.cycle(table, index, enable=enable, **flags, fixed=fixed, take=take)


@cocotb.test()
async def bounds(dut):
    """Values at a bound are accepted; each value beyond its bound is refused with its own error."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)

    ok, last_atom = ConfigurationError.NONE, _SPACE // _ATOM - 1
    region, range_ = Table.REGION, Table.RANGE
    await bench.commit(ok, region, 0, **_stage_region(10, 20))
    await bench.commit(ConfigurationError.OVERLAP, region, 1, **_stage_region(19, 30))
    await bench.commit(ConfigurationError.OVERLAP, region, 1, **_stage_region(0, 11))
    await bench.commit(ConfigurationError.OVERLAP, region, 1, **_stage_region(0, last_atom))
    await bench.commit(ConfigurationError.OVERLAP, region, 1, foreign=True, **_stage_region(20, 30))
    await bench.commit(ok, region, 1, **_stage_region(20, last_atom))
    await bench.commit(ok, region, 2, **_stage_region(9, 10))
    await bench.commit(ConfigurationError.EMPTY, region, 0, **_stage_region(10, 10))
    await bench.commit(
        ConfigurationError.ADDRESS_OUT_OF_RANGE, region, 0, **_stage_region(10, last_atom + 1)
    )
    await bench.commit(
        ConfigurationError.UNKNOWN_INDEX, region, PARAMETERS.regions, **_stage_region(2, 3)
    )
    await bench.commit(ok, region, 0, **_stage_region(10, 20))
    await bench.commit(ok, range_, 0, **_stage_range(0, 4, 6))
    await bench.commit(ConfigurationError.OVERLAP, range_, 1, **_stage_range(0, 6, 9))
    await bench.commit(ok, range_, 1, **_stage_range(0, 7, 9))
    await bench.commit(ok, range_, 2, **_stage_range(1, 4, 6))
    await bench.commit(ConfigurationError.EMPTY, range_, 0, **_stage_range(0, 6, 5))
    await bench.commit(ConfigurationError.REGION_IN_USE, region, 0, enable=0)
    for index in (0, 1):
        await bench.commit(ok, range_, index, enable=0)
    await bench.commit(ok, region, 0, enable=0)
    await bench.commit(ConfigurationError.REGION_DISABLED, range_, 0, **_stage_range(0, 1, 2))
    await bench.commit(ConfigurationError.REGION_IN_USE, region, 1, enable=0)
    beyond = PARAMETERS.regions
    await bench.commit(ConfigurationError.UNKNOWN_INDEX, Table.COMMAND, 1, command_region=beyond)
    await bench.commit(ConfigurationError.REGION_DISABLED, Table.COPY, 1)
    await bench.commit(ok, Table.COMMAND, 1, command_region=1)
    await bench.commit(ok, Table.PEER, 0, peer_sends_stores=1)
    top = last_atom * _ATOM
    await bench.commit(
        ConfigurationError.ADDRESS_OUT_OF_RANGE,
        Table.COPY,
        1,
        copy_start_0=0,
        copy_start_1=_SPACE >> 32,
    )
    for _ in range(2):
        await bench.commit(ok, Table.COPY, 1, copy_start_0=top & 0xFFFFFFFF, copy_start_1=top >> 32)
    await bench.commit(ConfigurationError.QUEUE_FULL, Table.COPY, 1)
    await bench.commit(ConfigurationError.MISALIGNED, Table.COPY, 1, copy_start_0=8)
    await bench.commit(ConfigurationError.UNKNOWN_INDEX, Table.COPY, PARAMETERS.commands)


@cocotb.test()
async def receivers(dut):
    """A copy needs each of its peers, for the kind of its command; a peer of no range or copy does
    not matter.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    await reset(dut, _INPUTS)
    bench, p = _Bench(dut), PARAMETERS
    ok, no_peer = ConfigurationError.NONE, ConfigurationError.NO_PEER
    await bench.commit(ok, Table.REGION, 0, **_stage_region(1, 2))
    for command in range(p.commands):
        kind, allows = rng.randrange(2), {}
        await bench.commit(ok, Table.COMMAND, command, command_kind=kind, command_region=0)
        for _ in range(8 * scaled(1)):
            for peer in range(p.peers):
                allowed = [rng.randrange(2) for _ in range(5)]
                enable, *fields = allowed
                names = ("sends_stores", "sends_updates", "takes_stores", "takes_updates")
                entry = {f"peer_{name}": on for name, on in zip(names, fields, strict=True)}
                await bench.commit(ok, Table.PEER, peer, enable=enable, **entry)
                allows[peer] = enable and fields[kind]
            for mask in range(1, 1 << p.peers):
                takes = all(allows[peer] for peer in range(p.peers) if mask >> peer & 1)
                await bench.commit(ok if takes else no_peer, Table.COPY, command, receivers=mask)
                await bench.cycle(Table.NONE, 0, take=True)
    for action, mask in product((Action.REMOTE, Action.DMA), (0, 1, 1 << p.peers - 1)):
        entry = _stage_range(0, 1, 2) | {"range_action": action.value, "range_peers": mask}
        await bench.commit(ok if mask else ConfigurationError.EMPTY, Table.RANGE, 0, **entry)


def _apart_in(bit: int, width: int, rng: random.Random) -> tuple[int, int]:
    """Draw two numbers that differ in one bit, the lower one first; neither has all bits set."""
    while True:
        low = rng.getrandbits(width) & ~(1 << bit)
        if low | 1 << bit != (1 << width) - 1:
            return low, low | 1 << bit


@cocotb.test()
async def ends_that_differ_in_a_bit(dut):
    """Comparisons of bounds that differ in one bit are right, within one entry and between two
    entries.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench, p = _Bench(dut), PARAMETERS
    ok, empty = ConfigurationError.NONE, ConfigurationError.EMPTY
    overlap = ConfigurationError.OVERLAP
    pairs = [*permutations(range(p.regions), 2)]
    for bit, (one, other) in product(range(p.atom_address_bits), pairs * scaled(1)):
        low, high = _apart_in(bit, p.atom_address_bits, rng)
        await bench.commit(empty, Table.REGION, one, **_stage_region(high, low))
        await bench.commit(ok, Table.REGION, one, **_stage_region(low, high))
        await bench.commit(overlap, Table.REGION, other, **_stage_region(high - 1, high + 1))
        await bench.commit(ok, Table.REGION, other, **_stage_region(high, high + 1))
        for index in (one, other):
            await bench.commit(ok, Table.REGION, index, enable=0)
    region = rng.randrange(p.regions)
    await bench.commit(ok, Table.REGION, region, **_stage_region(1, 2))
    pairs = [*permutations(range(p.ranges), 2)]
    for bit, (one, other) in product(range(p.dispatch_index_bits), pairs * scaled(1)):
        low, high = _apart_in(bit, p.dispatch_index_bits, rng)
        await bench.commit(empty, Table.RANGE, one, **_stage_range(region, high, low))
        await bench.commit(ok, Table.RANGE, one, **_stage_range(region, low, high))
        await bench.commit(overlap, Table.RANGE, other, **_stage_range(region, high, high + 1))
        await bench.commit(ok, Table.RANGE, other, **_stage_range(region, high + 1, high + 1))
        for index in (one, other):
            await bench.commit(ok, Table.RANGE, index, enable=0)


def _wrong_in_a_bit() -> Iterator[tuple[ConfigurationError, Table, int, dict[str, int]]]:
    """Yield commits that a single bit makes invalid: configuration error, table, index, and staged
    entry.
    """
    p = PARAMETERS
    named = {
        (Table.RANGE, "range_region"): p.regions,
        (Table.RANGE, "range_command"): p.commands,
        (Table.COMMAND, "command_region"): p.regions,
    }
    for table, entries in _ENTRIES.items():
        for bit in range(INDEX_BITS):
            if 1 << bit >= entries:
                yield ConfigurationError.UNKNOWN_INDEX, table, 1 << bit, {}
    for bit in range(p.peers, INDEX_BITS):
        unknown = ConfigurationError.UNKNOWN_INDEX
        yield unknown, Table.RANGE, 0, {"range_peers": 1 << bit}
        yield unknown, Table.COPY, 0, {"receivers": 1 << bit}
    for (table, name), entries in named.items():
        for bit in range(INDEX_BITS):
            if 1 << bit >= entries:
                yield ConfigurationError.UNKNOWN_INDEX, table, 0, {name: 1 << bit}
    addresses = {
        "region_base": Table.REGION,
        "region_limit": Table.REGION,
        "command_offset": Table.COMMAND,
        "copy_start": Table.COPY,
    }
    for name, table in addresses.items():
        for bit in range(p.address_bits - p.atom_address_bits):
            yield ConfigurationError.MISALIGNED, table, 0, {f"{name}_0": 1 << bit}
        # An offset may be negative.
        for bit in range(p.address_bits, 64 if table != Table.COMMAND else 0):
            yield ConfigurationError.ADDRESS_OUT_OF_RANGE, table, 0, {f"{name}_1": 1 << bit - 32}


@cocotb.test()
async def one_bit_makes_it_wrong(dut):
    """An index or an address with one bit too many is refused; without this bit the commit is
    accepted.
    """
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    right = _stage_region(0, 1) | _stage_range(0, 1, 2)
    right |= {"command_region": 0, "command_offset_0": 0, "command_offset_1": 0}
    right |= {"copy_start_0": 0, "copy_start_1": 0, "peer_sends_stores": 1}
    for table in (Table.REGION, Table.COMMAND, Table.RANGE, Table.PEER, Table.COPY):
        await bench.commit(ConfigurationError.NONE, table, 0, **right)
    for error, table, index, wrong in _wrong_in_a_bit():
        await bench.commit(error, table, index, **right | wrong)
