"""Bench of a DMA lane: a memory answers in any order, compared with the golden model in every
cycle.
"""

import random

import cocotb
import numpy as np

from rtl.dma.lane import DmaLane
from rtl.interface.encodings import PacketKind
from rtl.interface.layouts import DramRequest, Packet, ReadReturn, Segment
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma.lane import READS, SEGMENTS, fill_slot, step_lane
from sysmodel.engine.golden.payloads.layouts import DATA_WORDS
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, put, words
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer

PARAMETERS = T3Parameters(
    contexts=1, address_bits=24, workgroup_bits=8, sets=8, ways=2, egress_slots=8, with_data=True
)
_SEGMENT, _REQUEST = Fields(Segment(PARAMETERS)), Fields(DramRequest(PARAMETERS))
_RETURN, _PACKET = Fields(ReadReturn(PARAMETERS)), Fields(Packet(PARAMETERS))
_ATOMS = 1 << PARAMETERS.atom_address_bits
_CYCLES = 3000
_END = PacketKind.END.value

expect(
    "segment of one atom",
    "segment of the whole interleave",
    "segments full",
    "reads blocked",
    "slots full",
    "slots full and the first leaves",
    "returned out of order",
    "head returned last",
    "slot filled and sent in consecutive cycles",
    "egress blocked",
    "segment aborted",
    "abort with data on its way",
    "back-to-back sends",
    "remote address wraps",
    "wavefront advances within a segment",
    "wavefront wraps",
    "idle after work",
    "marker in an empty lane",
    "marker behind outstanding reads",
    "two markers in a row",
    "marker waits for a slot",
    "marker aborted",
)


def make_dut(block: type = DmaLane):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _random_segment(rng: random.Random) -> dict[str, int]:
    """Draw a segment within a granule of the channel."""
    p = PARAMETERS
    length = rng.choice([1, p.interleave_atoms, rng.randint(1, p.interleave_atoms)])
    granule = rng.choice([0, _ATOMS - p.interleave_atoms, rng.randrange(_ATOMS)])
    granule -= granule % p.interleave_atoms
    atom = granule + rng.randint(0, p.interleave_atoms - length)
    remote = rng.choice([0, _ATOMS - 1, rng.randrange(_ATOMS)])
    last = (1 << 16) - p.interleave_atoms
    return {
        "atom": atom,
        "length": length,
        "offset": rng.choice([0, 5, 60, 1000, last, rng.randint(0, last)]),
        "wave_inner_log2": rng.choice([0, 1, 3, 6, 15, rng.randrange(16)]),
        "wavefront": rng.randrange(p.wavefronts),
        "slot": rng.getrandbits(p.dispatch_index_bits),
        "peers": rng.getrandbits(p.peers),
        "generation": rng.getrandbits(4),
        "kind": rng.getrandbits(1),
        "op": rng.randrange(3),
        "dtype": rng.randrange(3),
        "atom_offset": (remote - atom) % _ATOMS,
    }


def _random_marker(rng: random.Random) -> dict[str, int]:
    """Draw the segment of an END packet."""
    whole = {"kind": _END, "length": 1, "offset": 0, "atom_offset": 0, "wave_inner_log2": 15}
    return _random_segment(rng) | whole | {"atom": rng.randrange(_ATOMS)}


def _random_data(rng: random.Random) -> list[int]:
    return [rng.getrandbits(64) for _ in range(DATA_WORDS)]


class _Bench:
    """The lane and its model."""

    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.checker = StreamChecker(dut, ("segments", "reads", "returns", "sends"))
        self.state = golden_state(PARAMETERS)
        self.outstanding: list[int] = []  # slots of the reads that left, oldest first
        self.segment: dict[str, int] | None = None
        self._filled_head = self._sent = self._worked = False

    @property
    def lane(self) -> np.void:
        return self.state.channels[0]["lanes"][0]

    def idle(self) -> bool:
        held = ("segments_level", "reads_level", "slots_used", "has_ahead")
        return not any(self.lane[name] for name in held)

    @property
    def has_space(self) -> bool:
        """True if the queue has space for a segment."""
        return bool(self.lane["segments_level"] < SEGMENTS)

    def read(self) -> list[int]:
        """Return atom and slot of the offered read."""
        return words(self.lane["reads"][self.lane["reads_head"]])

    async def cycle(
        self, *, read: bool, send: bool, slot: int | None = None, aborting: bool = False
    ) -> None:
        """Drive one cycle: the segment is offered, and an outstanding read returns."""
        dut = self.dut
        segment = None if self.segment is None else _SEGMENT.pack(self.segment)
        offer(dut, "segments", segment)
        dut.reads__ready.value, dut.sends__ready.value = int(read), int(send)
        dut.aborting.value = int(aborting)
        data = _random_data(self.rng)
        comes_back = None if slot is None else _RETURN.pack([slot, *data])
        offer(dut, "returns", comes_back)
        await settled()
        self.checker.sample()
        self._compare()
        self._step(read, send, slot, data, aborting)
        await next_cycle(dut)

    def _compare(self) -> None:
        dut, lane = self.dut, self.lane
        assert bool(dut.segments__ready.value) == self.has_space
        assert bool(dut.reads__valid.value) == bool(lane["reads_level"])
        assert bool(dut.sends__valid.value) == bool(lane["has_ahead"])
        assert bool(dut.idle.value) == self.idle()
        if lane["reads_level"]:
            atom, tag = self.read()
            expected = {"access": 0, "origin": 1, "atom": atom, "tag": tag}
            assert int(dut.reads__payload.value) == _REQUEST.pack(expected)
        if lane["has_ahead"]:
            packet, expected = _PACKET.unpack(int(dut.sends__payload.value)), words(lane["ahead"])
            # The data of an END packet are those of an earlier atom in its slot.
            compared = -DATA_WORDS if lane["ahead"]["kind"] == _END else None
            assert packet[:compared] == expected[:compared]

    def _step(
        self, read: bool, send: bool, slot: int | None, data: list[int], aborting: bool
    ) -> None:
        state, lane = self.state, self.lane
        self._cover(read, send, slot, aborting)
        reads, sends = read and bool(lane["reads_level"]), send and bool(lane["has_ahead"])
        if reads:
            self.outstanding.append(self.read()[1])
        if self.segment and self.has_space:
            behind = (lane["segments_head"] + lane["segments_level"]) % SEGMENTS
            put(lane["segments"][behind], self.segment)
            lane["segments_pushed"] = 1
            self.segment = None
        full = lane["slots_used"] == PARAMETERS.egress_slots and lane["segments_level"]
        step_lane(state.config, state.slots, 0, 0, lane, aborting, reads, sends, slot is not None)
        leaves = lane["slots_used"] < PARAMETERS.egress_slots
        cover("slots full and the first leaves", full and leaves)
        if slot is not None:
            self.outstanding.remove(slot)
            # The model keeps words as signed numbers.
            fill_slot(state.slots, 0, slot)
            state.slots[0, slot]["packet"]["data"].view(np.uint64)[:] = data

    def _cover(self, read: bool, send: bool, slot: int | None, aborting: bool) -> None:
        p, lane, segment = PARAMETERS, self.lane, self.segment
        used, head, waits = lane["slots_used"], lane["slot_head"], lane["segments_level"]
        if segment:
            length, run = segment["length"], segment["wave_inner_log2"]
            waves = [(segment["offset"] + index) >> run for index in (0, length - 1)]
            cover("segment of one atom", length == 1)
            cover("segment of the whole interleave", length == p.interleave_atoms)
            remote = (segment["atom"] + segment["atom_offset"]) % _ATOMS
            cover("remote address wraps", remote + length > _ATOMS)
            cover("wavefront advances within a segment", waves[0] < waves[1])
            cover("wavefront wraps", segment["wavefront"] + waves[1] >= p.wavefronts)
            cover("segments full", not self.has_space)
        cover("reads blocked", waits and lane["reads_level"] == READS and not read)
        cover("slots full", used == p.egress_slots and waits)
        self._cover_marker(aborting)
        ahead = bool(lane["has_ahead"])
        cover("egress blocked", ahead and not send)
        cover("returned out of order", slot is not None and slot != self.outstanding[0])
        last = slot == head and len(self.outstanding) == 1 and used == p.egress_slots
        cover("head returned last", slot is not None and last)
        leaves = not ahead or send
        cover("slot filled and sent in consecutive cycles", self._filled_head and leaves)
        self._filled_head = slot is not None and slot == head and used > 0
        cover("back-to-back sends", self._sent and ahead and send)
        self._sent = ahead and send
        cover("segment aborted", aborting and waits and lane["segment_index"])
        cover("abort with data on its way", aborting and self.outstanding)
        cover("idle after work", self._worked and self.idle())
        self._worked = not self.idle()

    def _cover_marker(self, aborting: bool) -> None:
        """Record the cover points of a marker that is the oldest segment."""
        lane = self.lane
        waits, first = lane["segments_level"], int(lane["segments_head"])
        kinds = [lane["segments"][(first + index) % SEGMENTS]["kind"] for index in range(waits)]
        if kinds[:1] != [_END]:
            return
        empty = not lane["slots_used"] and not lane["has_ahead"] and not lane["reads_level"]
        cover("marker in an empty lane", empty and not aborting)
        cover("marker behind outstanding reads", self.outstanding and lane["reads_level"])
        cover("two markers in a row", kinds == [_END] * 2)
        cover("marker waits for a slot", lane["slots_used"] == PARAMETERS.egress_slots)
        cover("marker aborted", aborting)


async def _start(dut, rng: random.Random) -> _Bench:
    await reset(dut, _INPUTS)
    return _Bench(dut, rng)


async def _drain(bench: _Bench) -> None:
    """All atoms in the lane leave in a bounded time."""
    left = 300
    while not bench.idle() or bench.outstanding or bench.segment:
        assert left, "What was put does not leave"
        left -= 1
        slot = bench.outstanding[0] if bench.outstanding else None
        await bench.cycle(read=True, send=True, slot=slot)
    await bench.cycle(read=True, send=True)


@cocotb.test()
async def random_traffic(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = await _start(dut, rng)
    pace = Pace(rng, ("segment", "read", "return", "send"))
    for _ in range(scaled(_CYCLES)):
        acts = pace.acts()
        if bench.segment is None and acts["segment"]:
            bench.segment = (_random_marker if rng.random() < 0.2 else _random_segment)(rng)
        slot = rng.choice(bench.outstanding) if bench.outstanding and acts["return"] else None
        aborting = rng.random() < 0.01
        await bench.cycle(read=acts["read"], send=acts["send"], slot=slot, aborting=aborting)
    await _drain(bench)


@cocotb.test()
async def egress_blocked(dut):
    """The lane never has more reads than slots, however long the head waits; then all atoms
    leave.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await _start(dut, rng)
    for _ in range(100):
        if bench.segment is None:
            bench.segment = _random_segment(rng)
        # The youngest read returns first, so the head waits longest.
        slot = bench.outstanding[-1] if len(bench.outstanding) > 1 else None
        await bench.cycle(read=True, send=False, slot=slot)
    reads = bench.checker.transfers["reads"]
    assert reads == PARAMETERS.egress_slots
    await _drain(bench)
    assert bench.checker.transfers["sends"] == bench.checker.transfers["reads"] > reads


@cocotb.test()
async def markers_need_no_read(dut):
    """An END packet leaves behind the atoms of earlier segments, and without a read of its own."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    bench = await _start(dut, rng)
    bench.segment = _random_marker(rng)
    for _ in range(6):
        await bench.cycle(read=False, send=True)
    assert bench.checker.transfers["sends"] == 1 and bench.idle()
    bench.segment = _random_segment(rng) | {"length": 1}
    await bench.cycle(read=True, send=True)
    for _ in range(20):
        bench.segment = bench.segment or _random_marker(rng)
        await bench.cycle(read=True, send=True)
    assert bench.checker.transfers["reads"] == bench.checker.transfers["sends"] == 1
    assert bench.lane["slots_used"] == PARAMETERS.egress_slots
    await _drain(bench)
    assert bench.checker.transfers["sends"] > PARAMETERS.egress_slots
    assert bench.checker.transfers["reads"] == 1


@cocotb.test()
async def full_rate(dut):
    """The lane sends an atom in nearly every second cycle if data return two cycles after their
    read.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = await _start(dut, rng)
    for _ in range(300):
        if bench.segment is None:
            bench.segment = _random_segment(rng) | {"length": 1}
        slot = bench.outstanding[0] if bench.outstanding else None
        await bench.cycle(read=True, send=True, slot=slot)
    assert bench.checker.transfers["sends"] > 0.45 * 300
    await _drain(bench)


@cocotb.test()
async def unrequested_data(dut):
    """A return without a read sends nothing."""
    rng = random.Random(cocotb.RANDOM_SEED + 4)
    for slot in range(PARAMETERS.egress_slots):
        bench = await _start(dut, rng)
        bench.outstanding.append(slot)
        await bench.cycle(read=True, send=True, slot=slot)
        for _ in range(4):
            await bench.cycle(read=True, send=True)
        assert not bench.checker.transfers["sends"]


@cocotb.test()
async def aborts(dut):
    """Segments not yet read are dropped; outstanding reads return and leave in a bounded time."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    bench = await _start(dut, rng)
    for begun in range(24):
        for _ in range(begun):
            if bench.segment is None:
                bench.segment = _random_segment(rng)
            await bench.cycle(read=True, send=False)
        for _ in range(SEGMENTS + 2):
            await bench.cycle(read=True, send=True, aborting=True)
        assert not bench.lane["segments_level"] and not bench.lane["reads_level"]
        await _drain(bench)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
