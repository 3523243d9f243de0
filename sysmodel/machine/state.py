"""State of the cycle loop: records of each GPU and each channel, and tables.

Each module of the loop declares its fields of a record. ``fixed`` has one record; ``gpu`` has one
for each GPU, with its compute units; ``channel`` has channel *c* of GPU *g* at
``g * channels + c``. ``kernel[g, k]`` is kernel *k* of GPU *g*'s queue, and ``context[g, n]`` is
context *n* of its hardware.

The tables have the workgroups of all kernels: those of kernel *k* begin at its ``first_row``. In
arrays indexed by place, dispatch index *i* of kernel *k* has place ``first_row + i``.
"""

from typing import Any, NamedTuple

import numpy as np

from sysmodel.engine.ports import PACKET
from sysmodel.gpu import collective, workgroups
from sysmodel.gpu.l2 import MAX_WAITERS, L2State
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.journal import new_journal
from sysmodel.memory import accesses as memory
from sysmodel.memory.dram import DramState
from sysmodel.network import link, records
from sysmodel.network.mirror import mirror_tables

from . import bus, wire

__all__ = ["SAMPLES", "State", "new_state"]

# Cumulative counters of GPU 0, sampled for the timeline: those of accesses by activity.
SAMPLES = ("link", "tiles", "occupancy", "finished")
_SAMPLE = np.dtype(
    [
        *((name, np.int64) for name in ("time", *SAMPLES)),
        *((name, np.int64, (MOST_ACTIVITIES,)) for name in ("reads", "writes")),
        *wire.GPU_FIELDS,
    ]
)
_SAMPLE_ROWS = 2048
_FIRST_INTERVAL = 256

_FIXED = np.dtype(
    [
        ("channels", np.int64),
        ("contexts", np.int64),  # contexts of the hardware with a kernel
        ("offset_bits", np.int64),
        ("system_channels", np.int64),
        ("queue_depth", np.int64),  # depth of a DRAM queue
        ("hit_latency", np.int64),  # latency of the L2
        ("l2_requests", np.int64),  # most line lookups of a channel's slices per cycle
        ("flushes", np.int64),  # 1: the L2 writes back dirty sectors at a kernel's end
        ("cached_stores", np.int64),  # 1: the kernel's stores stay in the L2 until they are evicted
        ("write_back_queue", np.int64),  # capacity of a channel's queue of write-backs, in sectors
        ("work", np.int64),  # 1: the compute units are running
        ("now", np.int64),
        ("rested", np.int64),  # skipped idle cycles
        ("sample_count", np.int64),
        ("sample_interval", np.int64),
        ("sample_next", np.int64),
        *workgroups.FIXED_FIELDS,
        *collective.FIXED_FIELDS,
        *link.FIXED_FIELDS,
        *memory.FIXED_FIELDS,
    ],
    align=True,
)
_GPU = np.dtype(
    [
        ("collective_launched", np.int64),  # 1: a collective has followed the kernel
        ("expected", np.int64),  # arrivals to wait for
        ("stalls", np.int64),  # cycles in which the tracker kept a channel's DRAM from issuing
        *workgroups.GPU_FIELDS,
        *collective.GPU_FIELDS,
        *link.GPU_FIELDS,
        *bus.GPU_FIELDS,
        *wire.GPU_FIELDS,
        *memory.GPU_FIELDS,
    ],
    align=True,
)
_KERNEL = np.dtype(workgroups.KERNEL_FIELDS, align=True)
_CONTEXT = np.dtype(
    [
        ("kernel", np.int64),  # kernel whose launch the hardware tracks, by its number in the queue
        ("done_cycle", np.int64),  # completion of the last tracked tile, or -1
        *link.CONTEXT_FIELDS,
    ],
    align=True,
)
_CHANNEL = np.dtype(
    [
        *workgroups.CHANNEL_FIELDS,
        *collective.CHANNEL_FIELDS,
        *link.CHANNEL_FIELDS,
        *memory.CHANNEL_FIELDS,
    ],
    align=True,
)


class State(NamedTuple):
    """State of the cycle loop: records, kernel tables, output buffers, memory models, ports."""

    fixed: np.ndarray
    gpu: np.ndarray
    kernel: np.ndarray
    context: np.ndarray
    channel: np.ndarray
    kernel_of: np.ndarray  # [workgroup]: number of the kernel in the queue
    tile_row: np.ndarray  # [workgroup]
    tile_column: np.ndarray
    outer_edge: np.ndarray
    inner_edge: np.ndarray
    output_start: np.ndarray  # see kernel.OutputAtoms
    output_atom: np.ndarray
    output_wave: np.ndarray
    output_channel: np.ndarray
    owner_atom: np.ndarray  # [g, entry]: where a fused GEMM stores; empty without such a GEMM
    per_wave: np.ndarray
    stored_atoms: np.ndarray  # [g, workgroup]: atoms of its tile that it stores, from the first on
    stored_per_wave: np.ndarray  # [g, workgroup, wavefront]
    slot_row: np.ndarray  # [g, kernel, slot]: workgroup whose tile a slot names
    values_from: np.ndarray  # [workgroup]: where its values begin in ``partial``
    wave_first: np.ndarray
    wave_start: np.ndarray
    line_request_start: np.ndarray  # [tile, step]: see tables.py
    line_request_line: np.ndarray  # in the channel
    line_request_mask: np.ndarray  # atoms of the line
    line_request_channel: np.ndarray
    chunk_start: np.ndarray  # [c, chunk + 1]
    chunk_atom: np.ndarray  # [c, index]: atoms of each chunk in the channel, ascending
    chunk_size: np.ndarray  # [chunk]: atoms of each chunk in all channels
    task: np.ndarray  # [g, task]: see gpu/collective.py
    operand: np.ndarray
    target: np.ndarray
    task_part: np.ndarray
    arrived: np.ndarray
    sums_arrived: np.ndarray
    sender_row: np.ndarray  # [kernel, slot]: see network/mirror.py
    wave_entries: np.ndarray
    wave_entry: np.ndarray
    wave_sent: np.ndarray
    copied_start: np.ndarray
    copied_atom: np.ndarray
    copied_channel: np.ndarray
    mirror_place: np.ndarray  # [place, column]: places of a fused GEMM's stores, by offset
    packet: np.ndarray  # scratch
    link: np.ndarray  # see network/records.py
    queue: np.ndarray
    hop: np.ndarray
    own_link: np.ndarray
    port_link: np.ndarray
    window_destination: np.ndarray
    first_hop: np.ndarray
    next_hop: np.ndarray
    copy_hop: np.ndarray
    copy_start: np.ndarray
    sum_entry: np.ndarray
    sums: np.ndarray
    sum_packets: np.ndarray
    packet_time: np.ndarray
    packet_place: np.ndarray
    packet_tag: np.ndarray
    wire_packet: np.ndarray
    receiver: np.ndarray  # [g, peer]: see network/link.py
    admission: np.ndarray
    admission_time: np.ndarray
    request: np.ndarray  # [place]: see memory/accesses.py
    free_token: np.ndarray
    back_time: np.ndarray
    back_token: np.ndarray
    stage_begin: np.ndarray  # [g, stage]: cycle, or -1; the kernels' stages follow each other
    stage_end: np.ndarray
    launch_late: np.ndarray  # [g, place]: cycles beyond a workgroup's launch time
    withheld: np.ndarray  # [g, place]: cycles in which flow control withheld a free slot
    hold: np.ndarray  # [g, place]: cycles in which the dispatcher must withhold a slot
    stores_held: np.ndarray  # [g, place]: cycles in which the link held the last store
    hold_stores: np.ndarray  # [g, place]: cycles by which the stores must begin later
    stored: np.ndarray  # [g, atom, 4]: the output buffer, in data mode
    epoch: np.ndarray  # [g, atom]
    partial: np.ndarray  # [g, value, 4]: the GEMM's results, carried by its stores
    followed: np.ndarray  # see lib/journal.py
    journal: np.ndarray
    samples: np.ndarray  # records, one after the other
    woken: np.ndarray  # scratch
    dram: DramState
    l2: L2State
    inputs: np.ndarray  # [g, word]
    outputs: np.ndarray


def new_state(
    gpus: int, channels: int, stages: int, *, kernels: int = 1, contexts: int = 1, **tables: Any
) -> State:
    """Make a state of zeros, with ``tables`` as fields of :class:`State`; unset cycles are -1."""
    fixed = np.zeros(1, _FIXED)
    fixed["channels"], fixed["kernels"], fixed["contexts"] = channels, kernels, contexts
    fixed["sample_interval"] = _FIRST_INTERVAL
    gpu = np.zeros(gpus, _GPU)
    for name in ("flusher", "refused", "read_address", "checked"):
        gpu[name] = -1
    kernel, context = np.zeros((gpus, kernels), _KERNEL), np.zeros((gpus, contexts), _CONTEXT)
    kernel["finish_cycle"] = context["done_cycle"] = -1
    per_workgroup = gpus, len(tables["tile_row"])
    tables |= mirror_tables(
        tables["output_start"],
        tables["output_wave"],
        tables["per_wave"],
        tables["chunk_start"],
        tables["chunk_atom"],
    )
    whole = np.diff(tables["output_start"])
    tables["stored_atoms"] = np.tile(whole, (gpus, 1))
    tables["values_from"] = np.zeros(len(whole), np.int64)
    tables["stored_per_wave"] = np.tile(tables["per_wave"], (gpus, 1, 1))
    tables |= new_journal(gpus, len(tables["tile_row"]))
    return State(
        fixed=fixed,
        gpu=gpu,
        kernel=kernel,
        context=context,
        channel=np.zeros(gpus * channels, _CHANNEL),
        kernel_of=np.zeros(len(tables["tile_row"]), np.int64),
        stage_begin=np.full((gpus, stages), -1, np.int64),
        stage_end=np.full((gpus, stages), -1, np.int64),
        launch_late=np.zeros(per_workgroup, np.int64),
        withheld=np.zeros(per_workgroup, np.int64),
        hold=np.zeros(per_workgroup, np.int64),
        stores_held=np.zeros(per_workgroup, np.int64),
        hold_stores=np.zeros(per_workgroup, np.int64),
        samples=np.zeros(_SAMPLE_ROWS, _SAMPLE),
        owner_atom=np.zeros((gpus, 0), np.int64),
        mirror_place=np.zeros((0, 3), np.int64),
        woken=np.zeros(MAX_WAITERS, np.int64),
        packet=np.zeros(len(PACKET), np.uint64),
        **link.ADMISSION_TABLES,
        **records.TABLES,
        **memory.TABLES,
        **tables,
    )
