# amaranth: UnusedElaboratable=no
"""A DMA lane with a memory that answers in any order, in every cycle against the golden model."""

import random

import cocotb
import numpy as np

from rtl.dma.lane import DmaLane
from rtl.interface.layouts import DramRequest, Packet, ReadReturn, Segment
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma import fill_slot, step_lane
from sysmodel.engine.golden.layouts import DATA_WORDS
from sysmodel.engine.golden.queues import D, Q, back, commit, front, has, mark, room, waiting
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, put, words
from tb.payload import Fields
from tb.stream import Pace, StreamChecker

PARAMETERS = T3Parameters(
    address_bits=24, workgroup_bits=8, sets=8, ways=2, egress_slots=8, with_data=True
)
_SEGMENT, _REQUEST = Fields(Segment(PARAMETERS)), Fields(DramRequest(PARAMETERS))
_RETURN, _PACKET = Fields(ReadReturn(PARAMETERS)), Fields(Packet(PARAMETERS))
_ATOMS = 1 << PARAMETERS.atom_address_bits
_CYCLES = 3000

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
    "room for what flies only",
    "back-to-back sends",
    "remote address wraps",
    "wavefront advances within a segment",
    "wavefront wraps",
    "idle after work",
)


def make_dut(block: type = DmaLane):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


def _random_segment(rng: random.Random) -> dict[str, int]:
    """A segment that does not leave the channel's granule."""
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
        "workgroup": rng.getrandbits(p.workgroup_bits),
        "context": rng.getrandbits(p.context_bits),
        "kind": rng.getrandbits(1),
        "op": rng.randrange(3),
        "dtype": rng.randrange(3),
        "atom_offset": (remote - atom) % _ATOMS,
    }


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
    def levels(self) -> int:
        return int(self.state.channels[0]["levels"])

    def idle(self) -> bool:
        channel = self.state.channels[0]
        queues = any(has(self.levels, queue) for queue in (Q.segments, Q.dma_reads, Q.sends))
        return not (queues or channel["slots_used"] or channel["in_flight"])

    def _record(self, queue: str) -> list[int]:
        channel = self.state.channels[0]
        return words(channel[queue][front(channel["heads"], getattr(Q, queue))])

    async def cycle(self, *, read: bool, send: bool, slot: int | None = None) -> None:
        """One cycle: the segment is offered, and an outstanding read returns."""
        dut = self.dut
        dut.segments__valid.value = int(self.segment is not None)
        if self.segment:
            dut.segments__payload.value = _SEGMENT.pack(self.segment)
        dut.reads__ready.value, dut.sends__ready.value = int(read), int(send)
        data = _random_data(self.rng)
        dut.returns__valid.value = int(slot is not None)
        if slot is not None:
            dut.returns__payload.value = _RETURN.pack([slot, *data])
        await settled()
        self.checker.sample()
        self._compare()
        self._step(read, send, slot, data)
        await next_cycle(dut)

    def _compare(self) -> None:
        dut, levels = self.dut, self.levels
        assert bool(dut.segments__ready.value) == room(levels, Q.segments, D.segments)
        assert bool(dut.reads__valid.value) == has(levels, Q.dma_reads)
        assert bool(dut.sends__valid.value) == has(levels, Q.sends)
        assert bool(dut.idle.value) == self.idle()
        if has(levels, Q.dma_reads):
            atom, tag = self._record("dma_reads")
            expected = {"access": 0, "origin": 1, "atom": atom, "tag": tag}
            assert int(dut.reads__payload.value) == _REQUEST.pack(expected)
        if has(levels, Q.sends):
            packet = _PACKET.unpack(int(dut.sends__payload.value))
            assert packet == self._record("sends")

    def _step(self, read: bool, send: bool, slot: int | None, data: list[int]) -> None:
        state, channel, levels = self.state, self.state.channels[0], self.levels
        heads = int(channel["heads"])
        self._cover(read, send, slot)
        popped = pushed = 0
        if read and has(levels, Q.dma_reads):
            popped += mark(Q.dma_reads)
            self.outstanding.append(self._record("dma_reads")[1])
        if send and has(levels, Q.sends):
            popped += mark(Q.sends)
        if self.segment and room(levels, Q.segments, D.segments):
            put(channel["segments"][back(levels, heads, Q.segments)], self.segment)
            pushed += mark(Q.segments)
            self.segment = None
        full = channel["slots_used"] == PARAMETERS.egress_slots and has(levels, Q.segments)
        more_popped, more_pushed = step_lane(state, 0, levels, heads)
        leaves = channel["slots_used"] < PARAMETERS.egress_slots
        cover("slots full and the first leaves", full and leaves)
        if slot is not None:
            self.outstanding.remove(slot)
            fill_slot(state, 0, slot)
            # The model keeps words as signed numbers.
            state.slots[0, slot]["packet"]["data"].view(np.uint64)[:] = data
        channel["levels"], channel["heads"] = commit(
            levels, heads, popped + more_popped, pushed + more_pushed
        )

    def _cover(self, read: bool, send: bool, slot: int | None) -> None:
        p, channel, levels = PARAMETERS, self.state.channels[0], self.levels
        segment, used, head = self.segment, channel["slots_used"], channel["slot_head"]
        if segment:
            length, run = segment["length"], segment["wave_inner_log2"]
            waves = [(segment["offset"] + index) >> run for index in (0, length - 1)]
            cover("segment of one atom", length == 1)
            cover("segment of the whole interleave", length == p.interleave_atoms)
            remote = (segment["atom"] + segment["atom_offset"]) % _ATOMS
            cover("remote address wraps", remote + length > _ATOMS)
            cover("wavefront advances within a segment", waves[0] < waves[1])
            cover("wavefront wraps", segment["wavefront"] + waves[1] >= p.wavefronts)
            cover("segments full", not room(levels, Q.segments, D.segments))
        blocked = has(levels, Q.segments) and not room(levels, Q.dma_reads, D.dma_reads)
        cover("reads blocked", blocked and not read)
        cover("slots full", used == p.egress_slots and has(levels, Q.segments))
        sends = waiting(levels, Q.sends)
        flies = channel["in_flight"] != 0
        cover("egress blocked", sends == D.sends and not send)
        cover("room for what flies only", sends + flies == D.sends and flies)
        cover("returned out of order", slot is not None and slot != self.outstanding[0])
        last = slot == head and len(self.outstanding) == 1 and used == p.egress_slots
        cover("head returned last", slot is not None and last)
        cover(
            "slot filled and sent in consecutive cycles",
            self._filled_head and sends + flies < D.sends,
        )
        self._filled_head = slot is not None and slot == head and used > 0
        cover("back-to-back sends", self._sent and flies)
        self._sent = flies
        cover("idle after work", self._worked and self.idle())
        self._worked = not self.idle()


async def _start(dut, rng: random.Random) -> _Bench:
    await reset(dut, _INPUTS)
    return _Bench(dut, rng)


async def _drain(bench: _Bench) -> None:
    """Whatever is there leaves in a bounded time."""
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
            bench.segment = _random_segment(rng)
        slot = rng.choice(bench.outstanding) if bench.outstanding and acts["return"] else None
        await bench.cycle(read=acts["read"], send=acts["send"], slot=slot)
    await _drain(bench)


@cocotb.test()
async def egress_blocked(dut):
    """No more is read than there are slots, whatever the head waits for; then all of it leaves."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    bench = await _start(dut, rng)
    for _ in range(100):
        if bench.segment is None:
            bench.segment = _random_segment(rng)
        # The youngest first: the head waits longest.
        slot = bench.outstanding[-1] if len(bench.outstanding) > 1 else None
        await bench.cycle(read=True, send=False, slot=slot)
    reads = bench.checker.transfers["reads"]
    assert reads == PARAMETERS.egress_slots
    await _drain(bench)
    assert bench.checker.transfers["sends"] == bench.checker.transfers["reads"] > reads


@cocotb.test()
async def full_rate(dut):
    """An atom in every cycle, with data that return two cycles after their read."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    bench = await _start(dut, rng)
    for _ in range(300):
        if bench.segment is None:
            bench.segment = _random_segment(rng) | {"length": 1}
        slot = bench.outstanding[0] if bench.outstanding else None
        await bench.cycle(read=True, send=True, slot=slot)
    assert bench.checker.transfers["sends"] > 300 - 12
    await _drain(bench)
