"""AXI4-Lite manager in the cycle loop that performs lists of register writes.

After each write the manager reads whether the register's page refused it, while the next write is
on its way.
"""

import numpy as np

from sysmodel.engine.ports import G, H
from sysmodel.lib.compiled import compiled, inlined

from .register_words import PAGE_MASK, REFUSAL_MASK, STATUS_OFFSET

__all__ = ["GPU_FIELDS", "bus_idle", "bus_rests", "drive_bus", "load_writes"]

WRITES = 256

GPU_FIELDS = [
    ("write_address", np.int64, (WRITES,)),
    ("write_value", np.int64, (WRITES,)),
    ("write_length", np.int64),
    ("write_position", np.int64),
    ("write_sent", np.int64),
    ("refused", np.int64),  # address of a refused write, or -1
    ("read_address", np.int64),  # register to read; -1 without one, and after the read
    ("read_value", np.int64),
    ("read_phase", np.int64),  # 0 no read, 1 its address is offered, 2 its data are awaited
    ("checked", np.int64),  # address of a write that the page may have refused, or -1
    ("checking", np.int64),  # 1: the read is that of the checked write's page
    ("bus_driven", np.int64),  # 1: the port was active in the last cycle
]

_AW_SENT, _W_SENT = 1, 2
_OFFERED, _SENT = 1, 2


def load_writes(gpu: np.void, writes: list[tuple[int, int]]) -> None:
    """Load a GPU's manager with a list of (address, value) to write in order."""
    if len(writes) > WRITES:
        raise ValueError(f"{len(writes)} writes exceed the {WRITES} that the list holds")
    gpu["write_length"] = len(writes)
    gpu["write_position"] = gpu["write_sent"] = 0
    for i, (address, value) in enumerate(writes):
        gpu["write_address"][i] = address
        gpu["write_value"][i] = value


@inlined
def bus_idle(gpu):
    return gpu.write_position == gpu.write_length


@inlined
def bus_rests(gpu):
    """Return True if the manager has nothing to write or read."""
    return bus_idle(gpu) and gpu.read_address < 0 and gpu.checked < 0


@inlined
def drive_bus(gpu, inputs, outputs):
    """Simulate one cycle of a GPU's manager."""
    if gpu.bus_driven or not bus_rests(gpu):
        gpu.bus_driven = not bus_rests(gpu)
        _read(gpu, inputs, outputs)
        _write(gpu, inputs, outputs)


@compiled
def _read(gpu, inputs, outputs):
    """Drive the read channels; a page is checked first if a write waits for it."""
    inputs[G.bus_arvalid] = 0
    inputs[G.bus_rready] = 0
    if not gpu.read_phase:
        if gpu.read_address < 0 and gpu.checked < 0:
            return
        gpu.checking = gpu.checked >= 0 and (gpu.read_address < 0 or not bus_idle(gpu))
        gpu.read_phase = _OFFERED
    inputs[G.bus_rready] = 1
    if gpu.read_phase == _OFFERED:
        status = (gpu.checked & ~PAGE_MASK) | STATUS_OFFSET
        inputs[G.bus_arvalid] = 1
        inputs[G.bus_araddr] = status if gpu.checking else gpu.read_address
        if outputs[H.bus_arready]:
            gpu.read_phase = _SENT
    elif outputs[H.bus_rvalid]:
        gpu.read_phase = 0
        _take(gpu, np.int64(outputs[H.bus_rdata]))


@compiled
def _take(gpu, word):
    """Take in the data of a read; the write behind a refused one is the last of the list."""
    if not gpu.checking:
        gpu.read_value = word
        gpu.read_address = -1
        return
    if word & REFUSAL_MASK:
        gpu.refused = gpu.checked
        gpu.write_length = min(gpu.write_length, gpu.write_position + 1)
    gpu.checking = 0
    gpu.checked = -1


@compiled
def _write(gpu, inputs, outputs):
    """Drive the write channels; a write begins when the page of the one before is being read."""
    if gpu.write_position == gpu.write_length or (gpu.checked >= 0 and not gpu.checking):
        inputs[G.bus_awvalid] = 0
        inputs[G.bus_wvalid] = 0
        inputs[G.bus_bready] = 0
        return
    sent = gpu.write_sent
    address = gpu.write_address[gpu.write_position]
    inputs[G.bus_awaddr] = address
    inputs[G.bus_wdata] = gpu.write_value[gpu.write_position]
    inputs[G.bus_awprot] = 1  # privileged
    inputs[G.bus_wstrb] = 15
    inputs[G.bus_awvalid] = 0 if sent & _AW_SENT else 1
    inputs[G.bus_wvalid] = 0 if sent & _W_SENT else 1
    inputs[G.bus_bready] = 1 if gpu.checked < 0 else 0
    if not sent & _AW_SENT and outputs[H.bus_awready]:
        sent |= _AW_SENT
    if not sent & _W_SENT and outputs[H.bus_wready]:
        sent |= _W_SENT
    if sent == 3 and outputs[H.bus_bvalid] and gpu.checked < 0:
        sent = 0
        gpu.checked = address
        gpu.write_position += 1
    gpu.write_sent = sent
