"""Memory macros of an export."""

from amaranth.hdl import ClockSignal, Fragment, Instance, Shape, Value
from amaranth.lib.memory import Memory

from rtl.lib.memories import MEMORY_ROWS

from .cells import SRAM_1R1W, SRAM_1RW

__all__ = ["ExportPlatform"]


class ExportPlatform:
    """Platform that puts cells in place of large memories."""

    def get_memory(self, memory: Memory) -> Fragment:
        """Implement a memory with one write and one read port."""
        if not _is_sram(memory):
            return Memory.elaborate(memory, None)
        (write,), (read,) = memory.write_ports, memory.read_ports
        return Instance(
            SRAM_1R1W,
            **_size(memory),
            i_clk=ClockSignal(),
            i_write_enable=write.en,
            i_write_address=write.addr,
            i_write_data=write.data,
            i_read_enable=read.en,
            i_read_address=read.addr,
            o_read_data=read.data,
        )

    def get_single_port_memory(self, memory: Memory, address: Value) -> Fragment:
        """Implement a memory whose two ports share the address and are never enabled together."""
        if not _is_sram(memory):
            return Memory.elaborate(memory, None)
        (write,), (read,) = memory.write_ports, memory.read_ports
        return Instance(
            SRAM_1RW,
            **_size(memory),
            i_clk=ClockSignal(),
            i_enable=write.en | read.en,
            i_write=write.en,
            i_address=address,
            i_write_data=write.data,
            o_read_data=read.data,
        )


def _is_sram(memory: Memory) -> bool:
    """Test whether a memory is large enough for an SRAM macro and has the ports of one."""
    reads, writes = memory.read_ports, memory.write_ports
    return (
        memory.depth >= MEMORY_ROWS
        and Shape.cast(memory.shape).width > 0
        and len(reads) == len(writes) == 1
        and reads[0].domain == writes[0].domain == "sync"
        and not reads[0].transparent_for
        and len(writes[0].en) == 1
        and not any(memory.init)
    )


def _size(memory: Memory) -> dict[str, int]:
    return {
        "p_ROWS": memory.depth,
        "p_WIDTH": Shape.cast(memory.shape).width,
        "p_ADDRESS_BITS": (memory.depth - 1).bit_length(),
    }
