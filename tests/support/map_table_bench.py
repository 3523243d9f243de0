"""Address-map tables in plain Python, and a bench that programs and compares them."""

from dataclasses import dataclass, field

from rtl.interface.configuration import CommandEntry, PeerEntry, RegionEntry
from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers, Response
from tests.support.register_bus import read, start_write, write
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

__all__ = ["ATOM", "MAP", "SENDS", "TOP", "P", "random_command", "simulate"]

P = T3Parameters(
    contexts=1,
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=5,
    sets=16,
    regions=3,
    ranges=5,
    commands=3,
    peers=5,
)
MAP = register_map.load()
ATOM = P.atom_bytes
TOP = (1 << P.address_bits) - ATOM  # the highest byte address that a region may name
SPACE = 1 << P.atom_address_bits


@dataclass
class Tables:
    """The tables in plain Python, by entry, with regions in bytes."""

    regions: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    peers: dict = field(default_factory=dict)
    copies: list = field(default_factory=list)
    kept: set = field(default_factory=set)  # removed while copies waited

    def region(self, index, enable, base, limit):
        if index >= P.regions:
            return ConfigurationError.UNKNOWN_INDEX
        if not enable:
            if any(entry["region"] == index for entry in self.ranges.values()):
                return ConfigurationError.REGION_IN_USE
            if self.regions.pop(index, None) and self.copies:
                self.kept.add(index)
            return ConfigurationError.NONE
        if self.copies and (index in self.regions or index in self.kept):
            return ConfigurationError.IN_USE
        if base % ATOM or limit % ATOM:
            return ConfigurationError.MISALIGNED
        if base > TOP or limit > TOP:
            return ConfigurationError.ADDRESS_OUT_OF_RANGE
        if limit <= base:
            return ConfigurationError.EMPTY
        for number, (start, end) in self.regions.items():
            if number != index and max(start, base) < min(end, limit):
                return ConfigurationError.OVERLAP
        self.regions[index] = (base, limit)
        return ConfigurationError.NONE

    def range(self, index, enable, **entry):
        if index >= P.ranges or entry["region"] >= P.regions or entry["command"] >= P.commands:
            return ConfigurationError.UNKNOWN_INDEX
        if entry["peers"] >= 1 << P.peers:
            return ConfigurationError.UNKNOWN_INDEX
        if not enable:
            self.ranges.pop(index, None)
            return ConfigurationError.NONE
        if entry["last"] < entry["first"] or entry["action"] == Action.NONE:
            return ConfigurationError.EMPTY
        if entry["action"] in (Action.REMOTE, Action.DMA) and not entry["peers"]:
            return ConfigurationError.EMPTY
        if entry["region"] not in self.regions:
            return ConfigurationError.REGION_DISABLED
        for number, other in self.ranges.items():
            if number != index and other["region"] == entry["region"]:
                if max(other["first"], entry["first"]) <= min(other["last"], entry["last"]):
                    return ConfigurationError.OVERLAP
        self.ranges[index] = entry
        return ConfigurationError.NONE

    def command(self, index, offset, **entry):
        if index >= P.commands or entry["region"] >= P.regions:
            return ConfigurationError.UNKNOWN_INDEX
        if offset % ATOM:
            return ConfigurationError.MISALIGNED
        self.commands[index] = entry | {"atom_offset": offset // ATOM % SPACE}
        return ConfigurationError.NONE

    def peer(self, index, enable, in_use, **entry):
        if index >= P.peers:
            return ConfigurationError.UNKNOWN_INDEX
        if in_use:
            return ConfigurationError.IN_USE
        self.peers[index] = entry | {"enable": enable}
        return ConfigurationError.NONE

    def send(self, peers, kind):
        """Return whether packets of this kind may leave to all of these peers."""
        allows = "sends_updates" if kind else "sends_stores"
        named = [self.peers.get(index, {}) for index in range(P.peers) if peers >> index & 1]
        return all(peer.get("enable") and peer.get(allows) for peer in named)

    def copy(self, command, start, peers):
        if command >= P.commands or peers >= 1 << P.peers:
            return ConfigurationError.UNKNOWN_INDEX
        if start % ATOM:
            return ConfigurationError.MISALIGNED
        if start > TOP:
            return ConfigurationError.ADDRESS_OUT_OF_RANGE
        if not peers:
            return ConfigurationError.EMPTY
        entry = self.commands.get(command, {"region": 0})
        if entry["region"] not in self.regions:
            return ConfigurationError.REGION_DISABLED
        if not self.send(peers, entry.get("kind", 0)):
            return ConfigurationError.NO_PEER
        if len(self.copies) == 2:
            return ConfigurationError.QUEUE_FULL
        base, limit = (end // ATOM for end in self.regions[entry["region"]])
        region = {"base": base, "limit": limit}
        self.copies.append((entry, region, start // ATOM, peers))
        return ConfigurationError.NONE


_OF_RANGE = ("region", "first", "last", "action", "command", "shares", "peers", "slot_offset")


def entries(ctx, dut):
    """Return the enabled regions and ranges of the hardware, and all commands and peers."""
    table = dut.pages[0].table
    maps, peers = ctx.get(table.maps), ctx.get(table.peers)
    regions = {
        index: (entry.base * ATOM, entry.limit * ATOM)
        for index, entry in enumerate(maps.regions)
        if entry.enable
    }
    ranges = {
        index: {name: getattr(entry, name) for name in _OF_RANGE}
        for index, entry in enumerate(maps.ranges)
        if entry.enable
    }
    others = (maps.commands, (peers[index] for index in range(P.peers)))
    return regions, ranges, *([entry.as_bits() for entry in table] for table in others)


class Programmer:
    """Driver that programs the tables, and checks each commit against the reference."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.tables = Tables()
        self.changes = 0  # counted by the monitor

    async def stage(self, name, **values):
        register = MAP[name]
        assert await write(self.ctx, self.dut, register.address, register.pack(**values)) == 0

    async def address(self, name, value):
        await self.stage(f"{name}_LO", bytes=value & 0xFFFFFFFF)
        await self.stage(f"{name}_HI", bytes=value >> 32 & 0xFFFFFFFF)

    async def commit(self, name, expected, **values):
        """Write the register that commits.

        The tables change once, with the response, or not at all.
        """
        ctx, dut, tables, changes = self.ctx, self.dut, self.tables, self.changes
        before, queued = ctx.get(dut.pages[0].table.maps), ctx.get(dut.context[0].copies.valid)
        start_write(ctx, dut, MAP[name].address, MAP[name].pack(**values))
        await ctx.tick()
        ctx.set(dut.bus.awvalid, 0)
        ctx.set(dut.bus.wvalid, 0)
        assert (
            ctx.get(dut.pages[0].table.maps) == before
            and ctx.get(dut.context[0].copies.valid) == queued
        )
        await ctx.tick()
        assert ctx.get(dut.bus.bvalid)
        assert ctx.get(dut.bus.bresp) == Response.OKAY.value
        commands = [CommandEntry(P).const(tables.commands.get(i, {})) for i in range(P.commands)]
        peers = [PeerEntry(P).const(tables.peers.get(i, {})) for i in range(P.peers)]
        assert entries(ctx, dut) == (
            tables.regions,
            tables.ranges,
            [command.as_bits() for command in commands],
            [peer.as_bits() for peer in peers],
        )
        assert ctx.get(dut.context[0].copies.valid) == bool(tables.copies)
        after = ctx.get(dut.pages[0].table.maps)
        assert after == before or expected == ConfigurationError.NONE
        ctx.set(dut.bus.bready, 1)
        await ctx.tick()
        ctx.set(dut.bus.bready, 0)
        word, _ = await read(ctx, dut, MAP["STATUS"].address)
        assert ConfigurationError(MAP["STATUS"].unpack(word)["configuration_error"]) == expected
        assert self.changes - changes == int(after != before)
        return expected

    async def region(self, index, enable, base, limit):
        await self.address("REGION_BASE", base)
        await self.address("REGION_LIMIT", limit)
        expected = self.tables.region(index, enable, base, limit)
        return await self.commit("REGION_COMMIT", expected, index=index, enable=enable)

    async def range(
        self,
        index,
        enable,
        first,
        last,
        action=Action.DMA,
        region=0,
        command=0,
        *,
        shares=1,
        peers=1,
        slot_offset=0,
    ):
        await self.stage("RANGE_DISPATCH_INDICES", first=first, last=last)
        of_range = {"region": region, "command": command, "shares": shares}
        await self.stage("RANGE_ACTION", action=action.value, **of_range)
        receivers = {"peers": peers, "slot_offset": slot_offset}
        await self.stage("RANGE_PEERS", **receivers)
        of_range |= receivers
        expected = self.tables.range(
            index, enable, first=first, last=last, action=action, **of_range
        )
        return await self.commit("RANGE_COMMIT", expected, index=index, enable=enable)

    async def peer(self, index, enable=1, *, in_use=False, **entry):
        self.ctx.set(self.dut.context[0].idle, int(not in_use))
        await self.stage("PEER", **entry)
        expected = self.tables.peer(index, enable, in_use, **entry)
        return await self.commit("PEER_COMMIT", expected, index=index, enable=enable)

    async def command(self, index, offset, **entry):
        values = {
            name: value.value if hasattr(value, "value") else value for name, value in entry.items()
        }
        waves = {f"waves{i}": wave for i, wave in enumerate(values.pop("waves"))}
        for name in ("TRANSFER", "OUTER", "INNER", "STRIDE", "WAVES"):
            register = MAP[f"COMMAND_{name}"]
            names = [part.name for part in register.fields]
            await self.stage(
                register.name,
                **{name: value for name, value in (values | waves).items() if name in names},
            )
        await self.address("COMMAND_OFFSET", offset)
        expected = self.tables.command(index, offset, **entry)
        return await self.commit("COMMAND_COMMIT", expected, index=index)

    async def copy(self, command, start, peers=1):
        await self.address("COPY_START", start)
        expected = self.tables.copy(command, start, peers)
        return await self.commit("COPY", expected, command=command, peers=peers)

    async def take(self):
        """Take one copy from the queue."""
        ctx, dut = self.ctx, self.dut
        assert ctx.get(dut.context[0].copies.valid)
        payload = ctx.get(dut.context[0].copies.p)
        command, region, start, peers = self.tables.copies.pop(0)
        if not self.tables.copies:
            self.tables.kept.clear()
        assert (payload.command, payload.start) == (CommandEntry(P).const(command), start)
        assert payload.peers == peers
        assert payload.region == RegionEntry(P).const(region | {"enable": 1})
        ctx.set(dut.context[0].copies.ready, 1)
        await ctx.tick()
        ctx.set(dut.context[0].copies.ready, 0)


SENDS = {"sends_stores": 1, "sends_updates": 1}
"""Part of a peer to which packets of every kind may leave."""


def random_command(rng):
    return {
        "kind": rng.getrandbits(1),
        "marks": rng.getrandbits(1),
        "op": rng.randrange(3),
        "dtype": rng.randrange(3),
        "granularity": rng.choice(list(Granularity)),
        "group_log2": rng.getrandbits(3),
        "outer_extent": rng.getrandbits(16),
        "outer_extent_edge": rng.getrandbits(16),
        "inner_extent": rng.getrandbits(16),
        "inner_extent_edge": rng.getrandbits(16),
        "stride": rng.getrandbits(24),
        "region": rng.randrange(P.regions),
        "wave_outer_extent": rng.getrandbits(16),
        "wave_inner_log2": rng.getrandbits(4),
        "waves_inner_log2": rng.getrandbits(2),
        "waves": [rng.getrandbits(4) for _ in range(4)],
    }


def simulate(bench, p=P):
    dut = device(Registers, p)
    drivers = []

    async def main(ctx):
        ctx.set(dut.context[0].drained, 1)  # so that the reset ends
        await ctx.tick().repeat(3)
        drivers.append(Programmer(ctx, dut))
        await bench(drivers[0])

    async def monitor(ctx):
        last = ctx.get(dut.pages[0].table.maps)
        async for _, _, maps in ctx.tick().sample(dut.pages[0].table.maps):
            if maps != last:
                drivers[0].changes += 1
            last = maps

    simulate_device(dut, main, background=monitor)
