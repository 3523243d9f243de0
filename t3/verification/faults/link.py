# amaranth: UnusedElaboratable=no
"""Two link endpoints with packets both ways, and a wire between them that does one thing wrong."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from sysmodel.engine.native import Instance, build_component, call_step
from sysmodel.engine.ports import PortWord, port_words
from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress

__all__ = ["LATENCY_CYCLES", "LINK", "PACKETS", "Exchange", "LinkPair", "Wire", "build_endpoint"]

LINK = LinkParameters(replay_depth=32, receive_depth=32, timeout_cycles=64, down_cycles=512)
LATENCY_CYCLES = 8
PACKETS = 40
"""Each way."""
_DRAIN_CYCLES = 256
_ON_WIRE = 512

_PARAMETERS = T3Parameters(with_data=True)
_words = list(port_words(LinkEndpoint(_PARAMETERS, LINK).signature))
_INPUTS = sum(word.direction == "in" for word in _words)
_OUTPUTS = len(_words) - _INPUTS
_index = {word.name: word.index for word in _words}


def _payload(stream: str) -> list[PortWord]:
    """Words of a stream's payload, in the order of its fields."""
    control = (f"{stream}_valid", f"{stream}_ready")
    return [
        word for word in _words if word.name.startswith(f"{stream}_") and word.name not in control
    ]


_COLUMNS = tuple(
    np.array([word.index for word in _payload(stream)])
    for stream in ("packets", "o", "send", "receive")
)
_send_words = [
    word for word in _words if word.name.startswith("send_body") or word.name == "send_crc"
]
FLIT_BITS = [(i, bit) for i, word in enumerate(_payload("send")) for bit in range(word.width)]
"""Word and bit of each bit of a flit, in the flit's order."""
PACKET_WIDTHS = [word.width for word in _payload("packets")]
_CONTROL = np.array(
    [
        _index[name]
        for name in (
            *("packets_valid", "o_ready", "send_ready", "receive_valid"),
            *("packets_ready", "o_valid", "send_valid", "send_body_data"),
            *("error_valid", "error_report_code"),
        )
    ]
)


@dataclass(frozen=True)
class Wire:
    """What the wire does wrong.

    Attributes
    ----------
    way : int
        From this side to the other; -1 for both ways.
    number : int
        First flit that is concerned.
    data_only : bool
        Only flits with a packet count towards it.
    copies, late : tuple of int
        Of it and of those after it: how often each arrives, and how many cycles later than it
        should. A second one comes ``again`` cycles after the first.
    again : int
    wrong : tuple of int
        Bits of the first one that are turned.
    dark : tuple of int or None
        First cycle in which nothing arrives, and the first in which it does again.
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
    """What came of it.

    Attributes
    ----------
    delivered : tuple of int
        Packets that arrived at side 0 and 1.
    right : bool
        They are the first ones of what was sent, once, in order and unchanged.
    error : tuple
        Code of each side's first error and its cycle, or None.
    replays, corrupt : int
        Of both sides.
    begin : int or None
        Cycle of the fault.
    cycles : int
        Until the last packet was delivered, or of the run.
    silent_since : tuple of int
        Of each side, the cycle of the last flit that arrived unchanged.
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
    """Shared library of an endpoint, from the cache if it was built before.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    """
    endpoint = LinkEndpoint(_PARAMETERS, LINK)
    return build_component(endpoint, _words, _INPUTS, _OUTPUTS, progress=progress)


@njit(cache=True, nogil=True)
def _exchange(
    step, handles, inputs, outputs, columns, control, packets, offer, received, plan, copies, late,
    mask, most,
):  # fmt: skip
    """Cycle after cycle; results go to ``received`` and to the array that is returned."""
    give, take, send, receive = columns
    (
        give_valid, take_ready, send_ready, receive_valid,
        give_ready, take_valid, send_valid, send_data, error_valid, error_code,
    ) = control  # fmt: skip
    way, number, data_only, again, dark, bright, latency, drain = plan
    wanted = packets.shape[1]
    due = np.full((2, _ON_WIRE), -1)  # cycle of arrival, or -1
    spoiled = np.zeros((2, _ON_WIRE), np.bool_)
    flits = np.zeros((2, _ON_WIRE, len(send)), np.uint64)
    sent, got, seen = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    begin, last = -1, 0
    hit = -1  # flits since the fault's first one, on its way
    found = np.full(8, -1)
    cycle = 0
    while cycle < most and cycle - last < drain + (most if min(got) < wanted else 0):
        for side in range(2):
            there = 1 - side
            i, o = inputs[side], outputs[side]
            i[give_valid] = (
                sent[side] < wanted and cycle >= offer[side, min(sent[side], wanted - 1)]
            )
            if i[give_valid]:
                for k in range(len(give)):
                    i[give[k]] = packets[side, sent[side], k]
            i[take_ready] = 1
            i[send_ready] = 1
            # What arrives first of all that is due.
            first = -1
            for k in range(_ON_WIRE):
                if 0 <= due[there, k] <= cycle and (first < 0 or due[there, k] < due[there, first]):
                    first = k
            i[receive_valid] = first >= 0
            if first >= 0:
                for k in range(len(receive)):
                    i[receive[k]] = flits[there, first, k]
                due[there, first] = -1
                if not spoiled[there, first]:
                    found[4 + side] = cycle
            if o[give_ready] and i[give_valid]:
                sent[side] += 1
            if o[take_valid]:
                if got[side] < received.shape[1]:
                    for k in range(len(take)):
                        received[side, got[side], k] = o[take[k]]
                got[side] += 1
                last = cycle
            if o[error_valid] and found[2 * side] < 0:
                found[2 * side] = np.int64(o[error_code])
                found[2 * side + 1] = cycle
            if not o[send_valid]:
                continue
            concerned = way == side or way == -1
            if dark <= cycle < bright and concerned:
                if begin < 0:
                    begin = cycle
                continue
            times, extra, wrong = 1, 0, False
            if concerned and len(copies) > 0:
                if hit >= 0:
                    hit += 1
                elif seen[side] == number and (o[send_data] or not data_only):
                    hit, begin, wrong = 0, cycle, True
                if o[send_data] or not data_only:
                    seen[side] += 1
                if 0 <= hit < len(copies):
                    times, extra = copies[hit], late[hit]
            for copy in range(times):
                k = 0
                while due[side, k] >= 0:
                    k += 1
                due[side, k] = cycle + latency + extra + copy * again
                spoiled[side, k] = wrong and mask.any()
                for word in range(len(send)):
                    flits[side, k, word] = o[send[word]]
                    if wrong:
                        flits[side, k, word] ^= mask[word]
        for side in range(2):
            call_step(step, handles[side], inputs[side].ctypes.data, outputs[side].ctypes.data)
        cycle += 1
    found[6], found[7] = begin, (last if min(got) >= wanted else cycle)
    return found, got


class LinkPair:
    """Two endpoints that are started anew for every fault; a context manager."""

    def __init__(self, library: Path):
        self._sides = [Instance(library, _INPUTS, _OUTPUTS) for _ in range(2)]

        self._normal: dict[int, Exchange] = {}

    def __enter__(self) -> "LinkPair":
        return self

    def __exit__(self, *exception: object) -> None:
        for side in self._sides:
            side.close()

    def fault_free(self, seed: int) -> Exchange:
        """The run without a fault.

        Raises
        ------
        SimulationError
            If not all packets are delivered.
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
            Of the packets.
        wire : :class:`Wire` or None
            The fault.
        most : int
            Cycles.
        """
        random = np.random.default_rng(seed)
        packets = np.stack(
            [random.integers(0, 1 << width, (2, PACKETS), np.uint64) for width in PACKET_WIDTHS],
            axis=-1,
        )
        # Bursts at full rate with pauses between them.
        pauses = random.choice([0, 1, 20], (2, PACKETS + 1), p=[0.6, 0.3, 0.1])
        offer = 16 + np.cumsum(pauses, axis=1)  # the first limit has arrived
        wire = wire or Wire(way=-2)
        mask = np.zeros(len(_COLUMNS[2]), np.uint64)
        for bit in wire.wrong:
            word, position = FLIT_BITS[bit]
            mask[word] ^= np.uint64(1 << position)
        dark, bright = wire.dark or (0, 0)
        # A link that fails when all has arrived must be missed, too.
        drain = 2 * LINK.down_cycles if wire.dark else _DRAIN_CYCLES
        plan = (wire.way, wire.number, wire.data_only, wire.again)
        inputs = np.zeros((2, _INPUTS), np.uint64)
        outputs = np.zeros((2, _OUTPUTS), np.uint64)
        for side, out in zip(self._sides, outputs, strict=True):
            side.reset(out)
        received = np.zeros((2, PACKETS + 8, len(PACKET_WIDTHS)), np.uint64)
        found, got = _exchange(
            self._sides[0].step_address,
            np.array([side.handle for side in self._sides], np.uint64),
            inputs,
            outputs,
            _COLUMNS,
            _CONTROL,
            packets,
            offer,
            received,
            np.array([*plan, dark, bright, LATENCY_CYCLES, drain], np.int64),
            np.array(wire.copies, np.int64),
            np.array(wire.late, np.int64),
            mask,
            most,
        )
        right = all(
            n <= PACKETS and np.array_equal(received[side, :n], packets[1 - side, :n])
            for side, n in enumerate(got)
        )
        errors = found[:4].reshape(2, 2)
        return Exchange(
            delivered=tuple(map(int, got)),
            right=bool(right),
            error=tuple((int(c), int(t)) if c >= 0 else None for c, t in errors),
            replays=int(outputs[:, _index["replays"]].sum()),
            corrupt=int(outputs[:, _index["corrupt"]].sum()),
            begin=None if found[6] < 0 else int(found[6]),
            cycles=int(found[7]),
            silent_since=tuple(map(int, found[4:6])),
        )
