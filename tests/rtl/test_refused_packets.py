"""Packets in a context's name that it refuses, in every cycle and on every channel: they hold off
nothing that software does with the context, and none of them is accepted by a later launch.
"""

import random

import pytest

from driver.python import DOWNSTREAM, UPSTREAM
from rtl.interface.encodings import Access, ConfigurationError, Datatype, Operation, Origin
from rtl.registers.fields import is_reported
from tests.support.register_bus import outcome
from tests.support.top_bench import (
    MAP,
    PROGRAM,
    REGION,
    peers_of,
    rank_of,
    settle,
    simulate,
    status,
)

SPACE, OTHER_SPACE = 3, 1
# Cycles from the answer to a write until its effect: the packets of both inbound queues pass, and
# the status register of the top follows. A read of a register takes up to 8 cycles.
BOUND = 24
STRANGER = 99  # rank of no peer
KINDS = 4
EMPTY = [("WORKGROUPS", {}), ("TRACKED_FIRST", {}), ("TRACKED_END", {}), ("TO_SEND", {})]


class Flood:
    """Packets that the context refuses, one in every cycle at each channel."""

    def __init__(self, rng):
        self._rng = rng
        self.space, self.generation = SPACE, 0
        self.taken = self.accesses = 0
        self.stores = False  # plain writes are accepted, if all of the rest is right

    async def __call__(self, ctx, dut):
        while True:
            for port in dut.channel:
                self.taken += ctx.get(port.link_in.ready)
                request = port.dram.p
                ours = ctx.get(request.origin) == Origin.COMMUNICATION
                ours |= ctx.get(request.access) == Access.UPDATE
                self.accesses += ctx.get(port.dram.valid) and ours
                ctx.set(port.dram.ready, 1)
                ctx.set(port.link_in.valid, 1)
                ctx.set(port.link_in.p, self._refused(port))
            await ctx.tick()

    def _refused(self, port):
        """Return a packet that lacks one thing or several."""
        rng, p = self._rng, port.link_in.p.shape()
        values = {
            "kind": rng.randrange(KINDS),
            "atom": REGION + rng.randrange(256),
            "context": self.space,
            "source": peers_of(0)[UPSTREAM].rank,
            "generation": self.generation,
            "slot": rng.randrange(4),
            "wavefront": rng.randrange(2),
            "op": Operation.MAX.value,
            "dtype": Datatype.FP32.value,
        }
        values |= rng.choice(
            [
                {"source": STRANGER},
                {"source": peers_of(0)[DOWNSTREAM].rank},  # a peer that may send nothing
                {"generation": (self.generation + rng.randrange(2, 15)) % 16},
                {"kind": 1, "atom": 8},
                {"kind": 1, "dtype": Datatype.FP16.value},
                {"kind": 1, "slot": 0},  # a slot that is not tracked
                {"kind": 2, "slot": 200},
                {"kind": 2, "wavefront": 7},
            ]
        )
        word = 0
        for name, value in values.items():
            field = p[name]
            word |= value << field.offset
        return p.from_bits(word)


class Host:
    """Privileged software of the context, each of whose steps must end within the bound."""

    def __init__(self, ctx, dut, flood):
        self._ctx, self._dut, self._flood = ctx, dut, flood

    async def write(self, *registers):
        for name, fields in registers:
            register = MAP[name]
            found = await outcome(self._ctx, self._dut, register.address, register.pack(**fields))
            assert not is_reported(register, 1) or found == ConfigurationError.NONE, (name, fields)

    async def until(self, field, value):
        """Require that a field of STATUS has this value within the bound."""
        for _ in range(BOUND // 8):
            if (await status(self._ctx, self._dut, "STATUS"))[field] == value:
                return
        raise AssertionError(f"{field} is not {value} within the bound")

    async def set_peers(self):
        for index, peer in enumerate(peers_of(0)):
            await self.write(("PEER", vars(peer)), ("PEER_COMMIT", {"index": index, "enable": 1}))

    async def launch(self, generation, *registers):
        launch = ("TRACKING", {"generation": generation}), ("CONTROL", {"launch": 1})
        await self.write(*registers, *launch)
        await self.until("pending", 0)
        self._flood.generation = generation

    async def abort(self):
        await self.write(("CONTROL", {"abort": 1}))
        await self.until("aborting", 0)

    async def be_idle(self):
        for _ in range(BOUND):
            if self._ctx.get(self._dut.context[0].idle):
                return
            await self._ctx.tick()
        raise AssertionError("not idle within the bound")


def moved(base):
    """Return writes that move the region."""
    return [
        ("REGION_BASE_LO", {"bytes": base * 32}),
        ("REGION_LIMIT_LO", {"bytes": (base + 256) * 32}),
        ("REGION_COMMIT", {"index": 0, "enable": 1}),
    ]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_nothing_is_held_off(seed):
    print(f"seed {seed}")
    flood = Flood(random.Random(seed))

    async def bench(ctx, dut):
        host = Host(ctx, dut, flood)
        await settle(ctx, dut, peers=[])
        await host.write(*PROGRAM, ("RANK", {"rank": rank_of(0)}))
        await host.set_peers()
        generation = 0
        for turn in range(3):
            generation = (generation + 1) % 16
            # Without a workgroup a launch ends at once, and the next one waits for it to drain.
            await host.launch(generation, *EMPTY)
            await host.set_peers()
            generation = (generation + 1) % 16
            await host.launch(generation, *moved(REGION + 256 * (turn % 2)))
            await host.be_idle()
            await host.abort()
            await host.set_peers()
            # Hand the context over to another tenant, with another address space.
            flood.space = OTHER_SPACE if flood.space == SPACE else SPACE
            await host.write(
                ("CLEAR", {"tables": 1}),
                *PROGRAM[1:],
                ("ADDRESS_SPACE", {"local": flood.space, "enable": 1}),
            )
            await host.set_peers()
            # A launch whose updates do not come, until it is aborted.
            generation = (generation + 1) % 16
            await host.launch(generation)
            await ctx.tick().repeat(40)
            await host.abort()
        assert flood.taken > 500 and not flood.accesses

    simulate(bench, background=flood)
