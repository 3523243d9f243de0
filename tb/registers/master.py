"""Master of the register port's bus, with a protocol checker on every channel."""

import itertools
import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, SimTimeoutError, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiProt, AxiResp

from rtl.interface.encodings import ConfigurationError
from rtl.registers import map as register_map
from rtl.registers.map import GLOBAL, PAGE_BITS
from rtl.registers.port import Registers
from tb.cover import cover, expect
from tb.cycle import inputs_of, reset
from tb.registers.bus import CHANNELS
from tb.registers.lockstep import PARAMETERS
from tb.stream import StreamChecker

__all__ = ["bounded", "outcome", "read", "start", "write"]

_INPUTS = inputs_of(Registers(PARAMETERS))
_LONGEST_NS = 2000
_PRIVILEGED = AxiProt.PRIVILEGED

expect(*(f"{channel} waits" for channel in CHANNELS))


async def start(dut, rng: random.Random, *, pauses: bool) -> AxiLiteMaster:
    """Reset the registers, and check their bus from then on; ``pauses`` inserts random pauses on
    each channel.
    """
    await reset(dut, _INPUTS, hold=False)
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "bus_"), dut.clk, dut.rst)
    if pauses:
        writes, reads = master.write_if, master.read_if
        for channel in (
            writes.aw_channel,
            writes.w_channel,
            writes.b_channel,
            reads.ar_channel,
            reads.r_channel,
        ):
            # A separate pattern for each channel, so that addresses, data and responses drift
            # apart.
            pattern = [rng.random() < 0.5 for _ in range(rng.randrange(7, 30))]
            pattern.append(False)  # not forever
            channel.set_pause_generator(itertools.cycle(pattern))
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    cocotb.start_soon(_watch(dut))
    return master


async def _watch(dut) -> None:
    checker = StreamChecker(dut, ())
    for name, payload in CHANNELS.items():
        ports = [f"bus__{port}" for port in (f"{name}valid", f"{name}ready", *payload)]
        checker.add(name, *ports)
    while True:
        # Nothing changes between the edges: the next rising edge samples these values.
        await FallingEdge(dut.clk)
        before = checker.stalls.copy()
        checker.sample()
        for name in checker.stalls - before:
            cover(f"{name} waits")


async def bounded(access):
    """Await the response to an access, in a time bounded by the pauses of its channels."""
    try:
        return await with_timeout(access, _LONGEST_NS, "ns")
    except SimTimeoutError:
        raise AssertionError(f"No response in {_LONGEST_NS} ns") from None


async def read(master: AxiLiteMaster, address: int) -> tuple[int, AxiResp]:
    """Return the word at an address, and the response."""
    answer = await bounded(master.read(address, 4))
    return int.from_bytes(answer.data, "little"), answer.resp


async def write(master: AxiLiteMaster, address: int, word: int, *, length: int = 4) -> AxiResp:
    """Write a word, or its lower bytes, as privileged software; return the response."""
    written = word.to_bytes(4, "little")[:length]
    return (await bounded(master.write(address, written, prot=_PRIVILEGED))).resp


async def outcome(master: AxiLiteMaster, address: int, word: int, **how: int) -> ConfigurationError:
    """Write a word, or its lower bytes, which is answered with OKAY; return why its page refused
    the write.
    """
    assert await write(master, address, word, **how) == AxiResp.OKAY
    page = address >> PAGE_BITS
    status = register_map.load()["GPU_STATUS" if page == GLOBAL else "STATUS"]
    shown, response = await read(master, page << PAGE_BITS | status.offset)
    assert response == AxiResp.OKAY
    return ConfigurationError(status.unpack(shown)["configuration_error"])
