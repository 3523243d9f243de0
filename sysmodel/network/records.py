"""Records of links, queues and hops in a machine's state, and the tables of the network."""

from collections import namedtuple
from typing import Any

import numpy as np

from sysmodel.engine.ports import PACKET

__all__ = ["HEADER_WORDS", "MOST_SUMS", "NO_HOP", "PACKET_WORDS", "TABLES", "TAG"]

# Words of a packet moved without data, and all words.
HEADER_WORDS, PACKET_WORDS = PACKET.data_0, len(PACKET)
NO_HOP = -1
MOST_SUMS = 4096
"""Sums of a channel that the switches hold while packets are missing."""

_LINK = np.dtype(
    [
        ("rate_bytes", np.float64),  # bytes per cycle of the simulated channels
        ("most_bytes", np.float64),  # largest credit
        ("credit_bytes", np.float64),
        ("atom_bytes", np.float64),  # of an atom, at the rate of the payload in the longest packets
        ("header_bytes", np.float64),  # of a packet's header, in the same way
        ("latency", np.int64),  # cycles, with the switch in front
        ("turn", np.int64),  # channel, or queue, that goes first
        ("first_queue", np.int64),
        ("queues", np.int64),
        ("waiting", np.int64),  # packets in the queues, and on the way there
        ("at_port", np.int64),  # 1: credit comes with each cycle of the GPU; 0: when it is needed
        ("credited", np.int64),  # cycle up to which the link has its credit, if not at a port
        ("sent_bytes", np.float64),  # at this rate
    ],
    align=True,
)

_QUEUE = np.dtype(
    [
        ("base", np.int64),  # first place in the tables
        ("mask", np.int64),  # places, a power of two, less one
        ("head", np.int64),
        ("count", np.int64),
        ("link", np.int64),
    ],
    align=True,
)

_HOP = np.dtype(
    [
        ("queue", np.int64),  # at the end; -1 at a receiver
        ("gpu", np.int64),  # receiver
        ("by_channel", np.int64),  # 1: the next records are those of the other channels
        ("count", np.int64),
        ("most", np.int64),
    ],
    align=True,
)

_SUM = np.dtype(
    [
        ("count", np.int64),  # packets that it has; 0: the place is free
        ("atom", np.int64),
        ("destination", np.int64),
        ("queue", np.int64),  # of the switch
        ("time", np.int64),  # cycle in which the last of its packets arrives
    ],
    align=True,
)

TABLES: dict[str, Any] = {
    "link": np.zeros(0, _LINK),  # [link of the fabric]
    "queue": np.zeros(0, _QUEUE),
    "hop": np.zeros(0, _HOP),
    "own_link": np.zeros(0, np.int64),  # links over which GPUs send, one GPU after the other
    "port_link": np.zeros((0, 0), np.int64),  # [plane, g]; -1 where packets take a queue
    "window_destination": np.zeros((0, 0), np.int64),  # [g, window]
    "first_hop": np.zeros((0, 0, 0), np.int64),  # [plane, g, window]
    "next_hop": np.zeros((0, 0, 0), np.int64),  # [plane, queue, destination]
    "copy_hop": np.zeros(0, np.int64),  # hops of copies
    "copy_start": np.zeros(0, np.int64),
    "sum_entry": np.zeros(0, _SUM),  # of one channel after the other
    "sums": np.zeros(0, np.int64),  # [channel]: sums in the table
    "sum_packets": np.zeros((0, 0, 0), np.int64),  # [plane, queue, receiver]: packets of a sum
    "packet_time": np.zeros(0, np.int64),  # cycle of arrival
    "packet_place": np.zeros(0, np.int64),  # of the packet in the following tables
    "packet_tag": np.zeros((0, 5), np.int64),
    "wire_packet": np.zeros((0, len(PACKET)), np.uint64),
}
"""Tables of the state. A hop is the number of its record, ``NO_HOP``, or -2 - *i* for the copies
that begin at ``copy_start[i]``. Time and place are circular buffers of a queue, or of a channel.
Sums are hashed by their atoms."""


_Tag = namedtuple("_Tag", ("destination", "channel", "hop", "sender", "continues"))
TAG = _Tag(*range(5))
"""Columns of an atom's tag: where it goes, the hop that it has taken, its sender's record of the
channel, and 1 if it has no header, since it continues the packet of the atom before it."""
