"""Space that each command needs, bit by bit, and the largest windows that leave enough space."""

import random
from collections.abc import Iterator

import cocotb
from cocotbext.axi import AxiLiteMaster

from rtl.interface.configuration import GENERATION_BITS
from rtl.interface.encodings import Action, ConfigurationError, Granularity
from rtl.registers import map as register_map
from tb.cover import cover, expect
from tb.registers.lockstep import PARAMETERS
from tb.registers.master import outcome, start

__all__ = ["space_of_each_command"]

_MAP = register_map.load()
_WAVES = (1, 2, 4, 8, 15)

expect("a window is a workgroup too large")


def _needs(rng: random.Random) -> Iterator[tuple[dict[str, int], dict[str, int], int, int]]:
    """Yield commands by workgroup or by wavefront: two registers, and the needed space, given as
    the largest number of commands of a workgroup and of further members of a group.
    """
    for group in range(8):
        transfer = {"granularity": Granularity.WORKGROUP.value, "group_log2": group}
        waves = {f"waves{number}": rng.randrange(1, 16) for number in range(4)}
        yield transfer, waves, 1, (1 << group) - 1
    for place in range(4):
        for most in _WAVES:
            transfer = {"granularity": Granularity.WAVEFRONT.value, "group_log2": rng.randrange(8)}
            waves = {f"waves{number}": rng.randrange(most + 1) for number in range(4)}
            yield transfer, waves | {f"waves{place}": most}, most, 0


class _Context:
    """Page of a context, written by a master with all privileges."""

    def __init__(self, master: AxiLiteMaster, context: int):
        self._master, self._context, self._generation = master, context, 0

    async def write(self, name: str, **fields: int) -> ConfigurationError:
        register = _MAP[name]
        address = register.address_in(self._context)
        return await outcome(self._master, address, register.pack(**fields))

    async def accepts(self, name: str, workgroups: int) -> bool:
        """Return whether a launch with this window begins, and abort it."""
        await self.write(name, workgroups=workgroups)
        self._generation = (self._generation + 1) % (1 << GENERATION_BITS)
        await self.write("TRACKING", generation=self._generation)
        error = await self.write("CONTROL", launch=1)
        await self.write("CONTROL", abort=1)
        return error == ConfigurationError.NONE


@cocotb.test()
async def space_of_each_command(dut):
    """For each command in each range, the largest window of either kind is accepted, and a window
    larger by one is refused.
    """
    p, rng = PARAMETERS, random.Random(cocotb.RANDOM_SEED + 4)
    master = await start(dut, rng, pauses=False)
    for number in range(p.contexts):
        for flag in ("drained", "launch_drained", "idle"):
            getattr(dut, f"context__{number}__{flag}").value = 1
    for number in range(p.contexts):
        context, before = _Context(master, number), 0
        await context.write("REGION_LIMIT_LO", bytes=p.atom_bytes)
        fields = {"index": 0, "enable": 1, "share": 1}
        assert await context.write("REGION_COMMIT", **fields) == ConfigurationError.NONE
        await context.write("PEER", sends_stores=1, sends_updates=1)
        fields = {"index": p.peers - 1, "enable": 1}
        assert await context.write("PEER_COMMIT", **fields) == ConfigurationError.NONE
        await context.write("RANGE_PEERS", peers=1 << p.peers - 1)
        await context.write("WORKGROUPS", count=1)
        await context.write("TRACKED_END", dispatch_index=1)
        await context.write("WAYS", mask=(1 << p.ways) - 1)
        for command in range(p.commands):
            # The epochs restart, so that enough are left.
            assert await context.write("EPOCH_RESET", restart=1) == ConfigurationError.NONE
            for transfer, waves, commands, others in _needs(rng):
                await context.write("RANGE_COMMIT", index=before, enable=0)
                before = (before + 1) % p.ranges
                await context.write("COMMAND_TRANSFER", **transfer)
                await context.write("COMMAND_WAVES", **waves)
                await context.write("COMMAND_COMMIT", index=command)
                action = {"action": Action.DMA.value, "command": command, "shares": 1}
                await context.write("RANGE_ACTION", **action)
                assert (
                    await context.write("RANGE_COMMIT", index=before, enable=1)
                    == ConfigurationError.NONE
                )
                windows = {
                    "CREDIT_WINDOW": p.credit_window - others,
                    "COMMAND_WINDOW": p.command_depth // commands,
                }
                for name, workgroups in windows.items():
                    await context.write(name, workgroups=workgroups)
                for name, workgroups in windows.items():
                    assert not await context.accepts(name, workgroups + 1), name
                    assert await context.accepts(name, workgroups), name
                    cover("a window is a workgroup too large")
