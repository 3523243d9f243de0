"""An AXI4-Lite manager that plays lists of register writes, from inside the cycle loop."""

from collections import namedtuple

import numpy as np

from .compiled import compiled
from .ports import G, H

__all__ = ["Bus", "bus_idle", "drive_bus", "load_writes", "new_bus"]

Bus = namedtuple(
    "Bus",
    [
        "address",  # [g, write]
        "value",
        "length",  # [g]
        "position",
        "sent",
        "refused",  # address of a write that was refused, or -1
        "read_address",  # register to read, or -1; -1 again when it is read
        "read_value",
        "read_sent",
    ],
)

_AW_SENT, _W_SENT = 1, 2


def new_bus(gpus: int, capacity: int) -> Bus:
    """Managers of ``gpus`` register ports, with room for ``capacity`` writes each."""
    return Bus(
        address=np.zeros((gpus, capacity), np.int64),
        value=np.zeros((gpus, capacity), np.int64),
        length=np.zeros(gpus, np.int64),
        position=np.zeros(gpus, np.int64),
        sent=np.zeros(gpus, np.int64),
        refused=np.full(gpus, -1, np.int64),
        read_address=np.full(gpus, -1, np.int64),
        read_value=np.zeros(gpus, np.int64),
        read_sent=np.zeros(gpus, np.int64),
    )


def load_writes(bus: Bus, gpu: int, writes: list[tuple[int, int]]) -> None:
    """Give ``gpu``'s manager a list of (address, value) to write, in order."""
    if len(writes) > bus.address.shape[1]:
        raise ValueError(f"{len(writes)} writes exceed the {bus.address.shape[1]} of the list")
    bus.length[gpu] = len(writes)
    bus.position[gpu] = 0
    bus.sent[gpu] = 0
    for i, (address, value) in enumerate(writes):
        bus.address[gpu, i] = address
        bus.value[gpu, i] = value


@compiled
def bus_idle(b, g):
    return b.position[g] == b.length[g]


@compiled
def drive_bus(b, g, inputs, ib, outputs, ob):
    """One cycle of GPU ``g``'s manager."""
    _write(b, g, inputs, ib, outputs, ob)
    _read(b, g, inputs, ib, outputs, ob)


@compiled
def _read(b, g, inputs, ib, outputs, ob):
    inputs[ib + G.bus_arvalid] = 0
    inputs[ib + G.bus_rready] = 0
    if b.read_address[g] < 0:
        return
    inputs[ib + G.bus_rready] = 1
    if not b.read_sent[g]:
        inputs[ib + G.bus_arvalid] = 1
        inputs[ib + G.bus_araddr] = b.read_address[g]
        b.read_sent[g] = outputs[ob + H.bus_arready]
    elif outputs[ob + H.bus_rvalid]:
        b.read_value[g] = outputs[ob + H.bus_rdata]
        b.read_address[g] = -1
        b.read_sent[g] = 0


@compiled
def _write(b, g, inputs, ib, outputs, ob):
    """A refused write is remembered and ends the list."""
    if b.position[g] == b.length[g]:
        inputs[ib + G.bus_awvalid] = 0
        inputs[ib + G.bus_wvalid] = 0
        inputs[ib + G.bus_bready] = 0
        return
    sent = b.sent[g]
    inputs[ib + G.bus_awaddr] = b.address[g, b.position[g]]
    inputs[ib + G.bus_wdata] = b.value[g, b.position[g]]
    inputs[ib + G.bus_wstrb] = 15
    inputs[ib + G.bus_awvalid] = 0 if sent & _AW_SENT else 1
    inputs[ib + G.bus_wvalid] = 0 if sent & _W_SENT else 1
    inputs[ib + G.bus_bready] = 1
    if not sent & _AW_SENT and outputs[ob + H.bus_awready]:
        sent |= _AW_SENT
    if not sent & _W_SENT and outputs[ob + H.bus_wready]:
        sent |= _W_SENT
    if sent == 3 and outputs[ob + H.bus_bvalid]:
        sent = 0
        if outputs[ob + H.bus_bresp] != 0:
            b.refused[g] = b.address[g, b.position[g]]
            b.length[g] = b.position[g]
            return
        b.position[g] += 1
    b.sent[g] = sent
