"""Driver of the register port in Amaranth's simulator."""

from rtl.interface.encodings import ConfigurationError
from rtl.registers.map import CONTEXT, PAGE_BITS, Register, load
from rtl.registers.port import Response

__all__ = ["is_storage", "outcome", "read", "refusal", "start_write", "write"]


def is_storage(register: Register) -> bool:
    """Return whether software reads back the value that it wrote."""
    fields = register.fields
    return all(field.readable and field.writable and not field.clears for field in fields)


def start_write(
    ctx, dut, address: int, word: int, strobes: int = 15, *, privileged: bool = True
) -> None:
    """Offer address and data in this cycle."""
    ctx.set(dut.bus.awaddr, address)
    ctx.set(dut.bus.awprot, int(privileged))
    ctx.set(dut.bus.awvalid, 1)
    ctx.set(dut.bus.wdata, word)
    ctx.set(dut.bus.wstrb, strobes)
    ctx.set(dut.bus.wvalid, 1)


async def write(
    ctx, dut, address: int, word: int, strobes: int = 15, *, privileged: bool = True
) -> int:
    """Write to an idle port; return the response, in the cycle after its transfer."""
    start_write(ctx, dut, address, word, strobes, privileged=privileged)
    ctx.set(dut.bus.bready, 1)
    await ctx.tick().until(dut.bus.awready & dut.bus.wready)
    ctx.set(dut.bus.awvalid, 0)
    ctx.set(dut.bus.wvalid, 0)
    (response,) = await ctx.tick().sample(dut.bus.bresp).until(dut.bus.bvalid)
    ctx.set(dut.bus.bready, 0)
    return response


async def read(ctx, dut, address: int, *, privileged: bool = False) -> tuple[int, int]:
    """Read from an idle port; return the word and the response."""
    ctx.set(dut.bus.araddr, address)
    ctx.set(dut.bus.arprot, int(privileged))
    ctx.set(dut.bus.arvalid, 1)
    ctx.set(dut.bus.rready, 1)
    await ctx.tick().until(dut.bus.arready)
    ctx.set(dut.bus.arvalid, 0)
    word, response = await ctx.tick().sample(dut.bus.rdata, dut.bus.rresp).until(dut.bus.rvalid)
    ctx.set(dut.bus.rready, 0)
    return word, response


async def refusal(ctx, dut, page: int, *, privileged: bool = False) -> ConfigurationError:
    """Read from the status of a page why it refused the last write, or the last privileged one."""
    status = load()["STATUS" if page >= CONTEXT else "GPU_STATUS"]
    address = page << PAGE_BITS | status.offset
    word, response = await read(ctx, dut, address, privileged=privileged)
    assert response == Response.OKAY.value
    return ConfigurationError(status.unpack(word)["configuration_error"])


async def outcome(
    ctx, dut, address: int, word: int, strobes: int = 15, *, privileged: bool = True
) -> ConfigurationError:
    """Write to an idle port, which answers OKAY; return why the page refused the write."""
    response = await write(ctx, dut, address, word, strobes, privileged=privileged)
    assert response == Response.OKAY.value
    return await refusal(ctx, dut, address >> PAGE_BITS)
