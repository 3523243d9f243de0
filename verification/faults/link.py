"""Two link endpoints that exchange packets over a wire with one fault."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rtl.interface.encodings import PacketKind
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from sysmodel.engine.native import Instance, build_component, call_step
from sysmodel.engine.ports import PortWord, port_words
from sysmodel.lib.compiled import cached_njit
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress

from .endpoint import OneChannelEndpoint

__all__ = ["LATENCY_CYCLES", "LINK", "PACKETS", "Exchange", "LinkPair", "Wire", "build_endpoint"]

LINK = LinkParameters(
    replay_depth=32,
    receive_depth=32,
    timeout_cycles=64,
    idle_cycles=32,
    down_cycles=4096,
    lifetime_cycles=1024,
)
LATENCY_CYCLES = 8
PACKETS = 40
"""Number of packets in each direction."""
_DRAIN_CYCLES = 256
_OPEN_CYCLES = 2 * LINK.lifetime_cycles + 128  # start of the traffic, after the session has begun
_ON_WIRE = 512

_PARAMETERS = T3Parameters(contexts=1, with_data=True)
_words = list(port_words(OneChannelEndpoint(_PARAMETERS, LINK).signature))
_INPUTS = sum(word.direction == "in" for word in _words)
_OUTPUTS = len(_words) - _INPUTS
_index = {word.name: word.index for word in _words}


def _payload(stream: str) -> list[PortWord]:
    """List the words of a stream's payload in the order of its fields."""
    control = (f"{stream}_valid", f"{stream}_ready")
    return [
        word for word in _words if word.name.startswith(f"{stream}_") and word.name not in control
    ]


FLIT_BITS = [(i, bit) for i, word in enumerate(_payload("send")) for bit in range(word.width)]
"""Place of each bit of a flit: word, and bit in it."""
PACKET_WIDTHS = [word.width for word in _payload("packets")]
_KIND, *_DATA = [
    place
    for name in ("packets_kind", "packets_data")
    for place, word in enumerate(_payload("packets"))
    if word.name.startswith(name)
]


class _Ports(NamedTuple):
    """Word numbers of an endpoint's payloads and their handshakes."""

    packets: np.ndarray
    o: np.ndarray
    send: np.ndarray
    receive: np.ndarray
    packets_valid: int
    packets_ready: int
    o_valid: int
    o_ready: int
    send_valid: int
    send_ready: int
    send_body_data: int
    receive_valid: int
    error_valid: int
    error_report_code: int


def _ports() -> _Ports:
    payloads = ("packets", "o", "send", "receive")
    packets, o, send, receive = (
        np.array([word.index for word in _payload(stream)]) for stream in payloads
    )
    return _Ports(
        packets, o, send, receive, *(_index[name] for name in _Ports._fields[len(payloads) :])
    )


@dataclass(frozen=True)
class Wire:
    """Fault of the wire.

    Attributes
    ----------
    way : int
        Direction: from this side to the other; -1 for both directions.
    number : int
        Number of the first affected flit.
    data_only : bool
        Count only the flits with a packet.
    copies, late : tuple of int
        For the first affected flit and each one after it: how often it arrives, and how many
        cycles late.
    again : int
        Cycles between the first and the second arrival of the same flit.
    wrong : tuple of int
        Bits of the first affected flit that are inverted.
    dark : tuple of int or None
        First cycle of an interruption, and the first cycle after it.
    """

    way: int
    number: int = 0
    data_only: bool = False
    copies: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    again: int = 0
    wrong: tuple[int, ...] = ()
    dark: tuple[int, int] | None = None


@dataclass(frozen=True)
class Exchange:
    """Result of a run of the two endpoints.

    Attributes
    ----------
    delivered : tuple of int
        Packets that arrived at side 0 and 1.
    right : bool
        The delivered packets are the first sent ones, each once, in order and unchanged.
    error : tuple
        Code and cycle of each side's first error, or None.
    replays, corrupt : int
        Number of replays, and of flits dropped as corrupt, on both sides together.
    begin : int or None
        Cycle of the fault, or None if it did not occur.
    cycles : int
        Cycle of the last delivery; the length of the run if packets are missing.
    silent_since : tuple of int
        Cycle of the last flit that arrived unchanged, for each side.
    """

    delivered: tuple[int, int]
    right: bool
    error: tuple[tuple[int, int] | None, ...]
    replays: int
    corrupt: int
    begin: int | None
    cycles: int
    silent_since: tuple[int, int]


def build_endpoint(progress: Report = no_progress) -> Path:
    """Build a shared library of an endpoint, or find it in the cache.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    """
    endpoint = OneChannelEndpoint(_PARAMETERS, LINK)
    return build_component(endpoint, _words, _INPUTS, _OUTPUTS, progress=progress)


class _Sides(NamedTuple):
    """Both endpoints: step function, and the instance and the port words of each side."""

    step: int
    handles: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray


class _Traffic(NamedTuple):
    """Traffic of each side: its packets, the cycle from which each is offered, received packets."""

    packets: np.ndarray
    offer: np.ndarray
    received: np.ndarray


class _Fault(NamedTuple):
    """Fault of the wire in the form that compiled code takes; see :class:`Wire`."""

    way: int
    number: int
    data_only: bool
    again: int
    dark: int
    bright: int
    copies: np.ndarray
    late: np.ndarray
    mask: np.ndarray


class _Times(NamedTuple):
    """Cycles: wire latency, start of packets and faults, time after the last packet, total."""

    latency: int
    open: int
    drain: int
    most: int


class _OnWire(NamedTuple):
    """Flits in flight, by sending side: arrival cycle (or -1), changed by the fault, words."""

    due: np.ndarray
    changed: np.ndarray
    words: np.ndarray


class _Counts(NamedTuple):
    """Counts of a run.

    For each side: packets sent and delivered, flits that count towards the fault, code and cycle
    of the first error, cycle of the last unchanged flit. For both: flits since the fault with the
    cycle of the fault, and the last cycle.
    """

    sent: np.ndarray
    delivered: np.ndarray
    flits: np.ndarray
    errors: np.ndarray
    unchanged: np.ndarray
    fault: np.ndarray
    end: np.ndarray


@cached_njit(nogil=True)
def _exchange(sides, ports, traffic, fault, times):
    """Simulate until all packets are delivered and the wire stays silent."""
    wanted = traffic.packets.shape[1]
    on_wire = _OnWire(
        np.full((2, _ON_WIRE), -1),
        np.zeros((2, _ON_WIRE), np.bool_),
        np.zeros((2, _ON_WIRE, len(ports.send)), np.uint64),
    )
    counts = _Counts(
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.full((2, 2), -1),
        np.full(2, -1),
        np.full(2, -1),
        np.zeros(1, np.int64),
    )
    cycle, last = 0, 0
    while cycle < times.most and (
        cycle - last < times.drain + (times.most if min(counts.delivered) < wanted else 0)
    ):
        for side in range(2):
            inputs, outputs = sides.inputs[side], sides.outputs[side]
            _offer(inputs, ports, traffic, counts, side, cycle)
            _arrive(inputs, ports, on_wire, counts, side, cycle)
            if outputs[ports.packets_ready] and inputs[ports.packets_valid]:
                counts.sent[side] += 1
            if outputs[ports.o_valid]:
                _deliver(outputs, ports, traffic, counts, side)
                last = cycle
            if outputs[ports.error_valid] and counts.errors[side, 0] < 0:
                counts.errors[side, 0] = np.int64(outputs[ports.error_report_code])
                counts.errors[side, 1] = cycle
            if outputs[ports.send_valid]:
                _send(outputs, ports, fault, times, on_wire, counts, side, cycle)
        for side in range(2):
            inputs, outputs = sides.inputs[side], sides.outputs[side]
            call_step(sides.step, sides.handles[side], inputs.ctypes.data, outputs.ctypes.data)
        cycle += 1
    counts.end[0] = last if min(counts.delivered) >= wanted else cycle
    return counts


@cached_njit(nogil=True)
def _offer(inputs, ports, traffic, counts, side, cycle):
    """Offer the next packet, and accept everything that the endpoint sends."""
    wanted, number = traffic.packets.shape[1], counts.sent[side]
    inputs[ports.packets_valid] = (
        number < wanted and cycle >= traffic.offer[side, min(number, wanted - 1)]
    )
    if inputs[ports.packets_valid]:
        for k in range(len(ports.packets)):
            inputs[ports.packets[k]] = traffic.packets[side, number, k]
    inputs[ports.o_ready] = 1
    inputs[ports.send_ready] = 1


@cached_njit(nogil=True)
def _arrive(inputs, ports, on_wire, counts, side, cycle):
    """Deliver the flit with the earliest arrival cycle."""
    there = 1 - side
    due = on_wire.due[there]
    first = -1
    for k in range(_ON_WIRE):
        if 0 <= due[k] <= cycle and (first < 0 or due[k] < due[first]):
            first = k
    inputs[ports.receive_valid] = first >= 0
    if first >= 0:
        for k in range(len(ports.receive)):
            inputs[ports.receive[k]] = on_wire.words[there, first, k]
        due[first] = -1
        if not on_wire.changed[there, first]:
            counts.unchanged[side] = cycle


@cached_njit(nogil=True)
def _deliver(outputs, ports, traffic, counts, side):
    """Record a packet that arrived, including the first few surplus ones."""
    number = counts.delivered[side]
    if number < traffic.received.shape[1]:
        for k in range(len(ports.o)):
            traffic.received[side, number, k] = outputs[ports.o[k]]
    counts.delivered[side] += 1


@cached_njit(nogil=True)
def _send(outputs, ports, fault, times, on_wire, counts, side, cycle):
    """Put a flit on the wire; the fault may drop, delay, change or repeat it."""
    concerned = cycle >= times.open and (fault.way == side or fault.way == -1)
    if concerned and fault.dark <= cycle < fault.bright:
        if counts.fault[1] < 0:
            counts.fault[1] = cycle
        return
    copies, late, changed = 1, 0, False
    if concerned and len(fault.copies) > 0:
        eligible = outputs[ports.send_body_data] or not fault.data_only
        if counts.fault[0] >= 0:
            counts.fault[0] += 1
        elif eligible and counts.flits[side] == fault.number:
            counts.fault[0], counts.fault[1], changed = 0, cycle, True
        if eligible:
            counts.flits[side] += 1
        if 0 <= counts.fault[0] < len(fault.copies):
            copies, late = fault.copies[counts.fault[0]], fault.late[counts.fault[0]]
    for copy in range(copies):
        k = 0
        while on_wire.due[side, k] >= 0:
            k += 1
        on_wire.due[side, k] = cycle + times.latency + late + copy * fault.again
        on_wire.changed[side, k] = changed and fault.mask.any()
        for word in range(len(ports.send)):
            on_wire.words[side, k, word] = outputs[ports.send[word]]
            if changed:
                on_wire.words[side, k, word] ^= fault.mask[word]


def _of_both(sides: np.ndarray) -> tuple[int, int]:
    first, second = sides.tolist()
    return first, second


class LinkPair:
    """Two connected endpoints, reset before every run; a context manager."""

    def __init__(self, library: Path):
        self._ports = _ports()
        self._sides = [Instance(library, _INPUTS, _OUTPUTS) for _ in range(2)]
        self._normal: dict[int, Exchange] = {}

    def __enter__(self) -> "LinkPair":
        return self

    def __exit__(self, *exception: object) -> None:
        for side in self._sides:
            side.close()

    def fault_free(self, seed: int) -> Exchange:
        """Run without a fault.

        Raises
        ------
        SimulationError
            If a packet is lost or changed.
        """
        if seed not in self._normal:
            normal = self.run(seed, None, most=1 << 14)
            if normal.delivered != (PACKETS, PACKETS) or not normal.right:
                raise SimulationError(f"the link endpoints fail without a fault: {normal}")
            self._normal[seed] = normal
        return self._normal[seed]

    def run(self, seed: int, wire: Wire | None, *, most: int) -> Exchange:
        """Send :data:`PACKETS` random packets each way, at random times.

        Parameters
        ----------
        seed : int
            Seed for the packets.
        wire : :class:`Wire` or None
            Fault of the wire; None for a run without one.
        most : int
            Most cycles of the run.
        """
        random = np.random.default_rng(seed)
        packets = np.stack(
            [random.integers(0, 1 << width, (2, PACKETS), np.uint64) for width in PACKET_WIDTHS],
            axis=-1,
        )
        ends = packets[..., _KIND] == PacketKind.END.value
        packets[..., _DATA] = np.where(ends[..., None], 0, packets[..., _DATA])  # have no data
        # Bursts at full rate with pauses between them.
        pauses = random.choice([0, 1, 20], (2, PACKETS + 1), p=[0.6, 0.3, 0.1])
        offer = _OPEN_CYCLES + np.cumsum(pauses, axis=1)
        wire = wire or Wire(way=-2)
        mask = np.zeros(len(self._ports.send), np.uint64)
        for bit in wire.wrong:
            word, position = FLIT_BITS[bit]
            mask[word] ^= np.uint64(1 << position)
        # A link that fails after the last packet must be reported, too.
        drain = 2 * LINK.down_cycles if wire.dark else _DRAIN_CYCLES
        dark, bright = wire.dark or (0, 0)
        fault = _Fault(
            *(wire.way, wire.number, wire.data_only, wire.again),
            *(dark + _OPEN_CYCLES, bright + _OPEN_CYCLES),
            *(np.array(wire.copies, np.int64), np.array(wire.late, np.int64), mask),
        )
        sides = _Sides(
            self._sides[0].step_address,
            np.array([side.handle for side in self._sides], np.uint64),
            np.zeros((2, _INPUTS), np.uint64),
            np.zeros((2, _OUTPUTS), np.uint64),
        )
        for side, out in zip(self._sides, sides.outputs, strict=True):
            side.reset(out)
        received = np.zeros((2, PACKETS + 8, len(PACKET_WIDTHS)), np.uint64)
        traffic = _Traffic(packets, offer, received)
        times = _Times(LATENCY_CYCLES, _OPEN_CYCLES, drain, most)
        counts = _exchange(sides, self._ports, traffic, fault, times)
        right = all(
            n <= PACKETS and np.array_equal(received[side, :n], packets[1 - side, :n])
            for side, n in enumerate(counts.delivered)
        )
        begin = counts.fault[1]
        return Exchange(
            delivered=_of_both(counts.delivered),
            right=bool(right),
            error=tuple((int(c), int(t)) if c >= 0 else None for c, t in counts.errors),
            replays=int(sides.outputs[:, _index["replays"]].sum()),
            corrupt=int(sides.outputs[:, _index["corrupt"]].sum()),
            begin=None if begin < 0 else int(begin),
            cycles=int(counts.end[0]),
            silent_since=_of_both(counts.unchanged),
        )
