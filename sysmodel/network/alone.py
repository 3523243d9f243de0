"""State of a network without the rest of a machine."""

from typing import NamedTuple

import numpy as np

from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, PACKET
from sysmodel.gpu.workgroups import KERNEL_FIELDS
from sysmodel.memory import accesses as memory

from . import link, records
from .capacity import Capacity
from .set_up import set_up_network

__all__ = ["NetworkState", "network_alone"]

_FIXED = np.dtype(
    [("channels", np.int64), *link.FIXED_FIELDS, *memory.FIXED_FIELDS],
    align=True,
)
_GPU = np.dtype([*link.GPU_FIELDS, *memory.GPU_FIELDS], align=True)
_KERNEL = np.dtype(KERNEL_FIELDS, align=True)
_CONTEXT = np.dtype([("kernel", np.int64), *link.CONTEXT_FIELDS], align=True)
_CHANNEL = np.dtype(link.CHANNEL_FIELDS, align=True)


class NetworkState(NamedTuple):
    """Fields of the cycle loop's state that the network uses; the mirror's tables are empty."""

    fixed: np.ndarray
    gpu: np.ndarray
    kernel: np.ndarray
    context: np.ndarray
    channel: np.ndarray
    output_start: np.ndarray
    output_atom: np.ndarray
    output_channel: np.ndarray
    chunk_start: np.ndarray
    chunk_atom: np.ndarray
    outer_edge: np.ndarray
    inner_edge: np.ndarray
    per_wave: np.ndarray
    slot_row: np.ndarray
    sender_row: np.ndarray
    wave_entries: np.ndarray
    wave_entry: np.ndarray
    wave_sent: np.ndarray
    copied_start: np.ndarray
    copied_atom: np.ndarray
    copied_channel: np.ndarray
    mirror_place: np.ndarray
    packet: np.ndarray
    link: np.ndarray
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
    receiver: np.ndarray
    admission: np.ndarray
    admission_time: np.ndarray
    inputs: np.ndarray  # [g, c, word]
    outputs: np.ndarray


def network_alone(capacity: Capacity, *, most_admissions: int = 1) -> NetworkState:
    """Make the state of a network at cycle 0."""
    gpus, channels = len(capacity.routes.senders), capacity.routes.channels
    none, table = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    state = NetworkState(
        fixed=np.zeros(1, _FIXED),
        gpu=np.zeros(gpus, _GPU),
        kernel=np.zeros((gpus, 1), _KERNEL),
        context=np.zeros((gpus, 1), _CONTEXT),
        channel=np.zeros(gpus * channels, _CHANNEL),
        output_start=none,
        output_atom=none,
        output_channel=none,
        chunk_start=table,
        chunk_atom=table,
        outer_edge=none,
        inner_edge=none,
        per_wave=table,
        slot_row=np.zeros((0, 0, 0), np.int64),
        sender_row=table,
        wave_entries=table,
        wave_entry=none,
        wave_sent=table,
        copied_start=none,
        copied_atom=none,
        copied_channel=none,
        mirror_place=table,
        packet=np.zeros(len(PACKET), np.uint64),
        **link.ADMISSION_TABLES,
        **records.TABLES,
        inputs=np.zeros((gpus, channels, CHANNEL_INPUTS), np.uint64),
        outputs=np.zeros((gpus, channels, CHANNEL_OUTPUTS), np.uint64),
    )
    state.fixed["channels"] = channels
    return set_up_network(state, capacity, most_admissions=most_admissions)
