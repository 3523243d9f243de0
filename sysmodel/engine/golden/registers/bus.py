"""Bus: the AXI4-Lite port of the registers."""

from rtl.registers.map import PAGE_BITS
from sysmodel.engine.ports import G
from sysmodel.lib.compiled import compiled, inlined

from ..records import Record, Words, record
from ..state import GoldenState
from .read import read_register

__all__ = ["BUS", "bus_changes", "respond", "step_bus", "writes_page"]

BUS = record(
    "aw_full w_full b_valid b_resp ar_full r_valid r_data r_resp awaddr privileged wdata wstrb "
    "araddr read_privileged"
)
"""Registers of the five channels of the bus."""


@inlined
def bus_changes(bus: Record, inputs: Words, g: int) -> bool:
    """Return whether a register of the bus may change in this cycle.

    Parameters
    ----------
    g : int
        Index of the GPU's first input.
    """
    waits = bus.aw_full | bus.w_full | bus.b_valid | bus.ar_full | bus.r_valid
    comes = inputs[g + G.bus_awvalid] | inputs[g + G.bus_wvalid] | inputs[g + G.bus_arvalid]
    return waits | comes != 0


@inlined
def writes_page(bus: Record, acts: bool, page: int) -> bool:
    """Return whether a write acts on a page, even if no register has its address."""
    return acts and bus.awaddr >> PAGE_BITS == page


@inlined
def respond(bus: Record, response: int) -> None:
    """Set the response of a write that acts."""
    bus.b_resp = response


@compiled
def step_bus(s: GoldenState, inputs: Words, g: int) -> bool:
    """Advance the bus by one cycle: both handshakes and the read, on the state before this cycle.

    Returns
    -------
    bool
        A write acts in this cycle; its address and data are in the state.
    """
    bus = s.gpu.bus
    acts = bus.aw_full and bus.w_full and not bus.b_valid
    reads = bus.ar_full and not bus.r_valid

    if bus.b_valid and inputs[g + G.bus_bready]:
        bus.b_valid = 0
    if bus.r_valid and inputs[g + G.bus_rready]:
        bus.r_valid = 0
    if inputs[g + G.bus_awvalid] and not bus.aw_full:
        bus.aw_full = 1
        bus.awaddr = inputs[g + G.bus_awaddr]
        bus.privileged = inputs[g + G.bus_awprot] & 1
    elif acts:
        bus.aw_full = 0
    if inputs[g + G.bus_wvalid] and not bus.w_full:
        bus.w_full = 1
        bus.wdata = inputs[g + G.bus_wdata]
        bus.wstrb = inputs[g + G.bus_wstrb]
    elif acts:
        bus.w_full = 0
    if reads:
        bus.ar_full = 0
        bus.r_valid = 1
        bus.r_data, bus.r_resp = read_register(s, bus.araddr, bus.read_privileged)
    elif inputs[g + G.bus_arvalid] and not bus.ar_full:
        bus.ar_full = 1
        bus.araddr = inputs[g + G.bus_araddr]
        bus.read_privileged = inputs[g + G.bus_arprot] & 1
    if acts:
        bus.b_valid = 1
    return acts != 0
