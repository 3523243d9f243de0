"""Bench of the buffer of issue acknowledgements, with bit errors in its memory, against a model in
every cycle.
"""

import random

import cocotb

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport, IssueAck
from rtl.lib.secded import code_word
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.issue_ack_buffer.dut import DEPTH, PARAMETERS, FaultyBuffer
from tb.issue_ack_buffer.reference import Buffer, Entry
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer

make_dut = FaultyBuffer

_INPUTS = inputs_of(make_dut())
_ISSUE_ACK = Fields(IssueAck(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_OWNER = _ISSUE_ACK.pack({"owner": PARAMETERS.contexts - 1})
_CODE = code_word(IssueAck(PARAMETERS)).size
_BITS = _CODE + PARAMETERS.owner_bits  # with the copy of the owner
_CYCLES = 2000

expect(
    "straight through",
    "kept, because the output is not ready",
    "kept, because others wait",
    "full",
    "refused while full and giving",
    "empty after full",
    "back to back through the memory",
    "a read waits for what comes",
    "corrected a bit of the issue acknowledgement",
    "corrected a check bit",
    "a wrong copy of the owner",
    "corrected twice in a row",
    "lost",
    "lost the only one",
    "lost between others",
    "lost with a wrong owner",
    "injected: one bit",
    "injected: two bits",
    "goes straight while an injection waits",
)


class _Bench:
    """Buffer of issue acknowledgements, and its model."""

    def __init__(self, dut):
        self.dut, self.model = dut, Buffer(DEPTH)
        # An acknowledgement that passes through combinationally follows the input and the output.
        self.checker = StreamChecker(dut, ("i",), unheld=("o",))
        self.given = self.taken = self.lost = 0
        self._was_full = self._corrected = False
        self._injected = 0  # inverted bits of the next word

    async def cycle(
        self,
        issue_ack: int | None,
        *,
        ready: bool,
        turned: int = 0,
        inject: int | None = None,
    ) -> bool:
        """Drive one cycle; return whether the issue acknowledgement was accepted. ``inject`` is the
        number of bit errors to inject, None without the strobe.
        """
        dut, model = self.dut, self.model
        offer(dut, "i", issue_ack)
        dut.o__ready.value, dut.turned.value = int(ready), turned
        dut.inject__set.value = int(inject is not None)
        dut.inject__select.value, dut.inject__double.value = int(bool(inject)), int(inject == 2)
        await settled()
        self.checker.sample()
        self._cover(issue_ack, ready, turned)
        wrong = ((turned ^ self._injected) % (1 << _CODE)).bit_count()
        offered = None if issue_ack is None else Entry(issue_ack, wrong)
        straight = model.empty and ready
        outputs = model.step(offered, ready=ready)
        self._follow_injection(offered and outputs.takes, straight, inject)
        assert bool(dut.i__ready.value) == outputs.takes
        assert bool(dut.o__valid.value) == (outputs.gives is not None)
        if outputs.gives is not None:
            assert int(dut.o__payload.value) == outputs.gives
        assert bool(dut.corrected.value) == outputs.corrected
        assert bool(dut.error__valid.value) == (outputs.lost is not None)
        if outputs.lost is not None:
            self._check_report(outputs.lost)
        taken = issue_ack is not None and outputs.takes
        self.given += taken
        self.taken += ready and outputs.gives is not None
        self.lost += outputs.lost is not None
        cover("corrected twice in a row", outputs.corrected and self._corrected)
        self._corrected = outputs.corrected
        await next_cycle(dut)
        return taken

    def _follow_injection(self, taken: object, straight: bool, inject: int | None) -> None:
        injected = self._injected
        assert bool(self.dut.inject__armed.value) == (injected != 0)
        cover("goes straight while an injection waits", injected and taken and straight)
        if taken and not straight:
            cover("injected: one bit", injected == 1)
            cover("injected: two bits", injected == 3)
            self._injected = 0
        if inject is not None:
            self._injected = (1 << inject) - 1

    def _check_report(self, lost: int) -> None:
        """Check the code and the owner of the error, and its tile as far as it is readable: at most
        two bits differ.
        """
        report = _REPORT.named(int(self.dut.error__report.value))
        assert report["code"] == ErrorCode.TRACKER_CORRUPT.value
        issue_ack = _ISSUE_ACK.named(lost)
        wrong = sum(
            (report[name] ^ issue_ack[name]).bit_count() for name in ("dispatch_index", "wavefront")
        )
        assert report["owner"] == issue_ack["owner"]
        assert wrong <= 2

    def _cover(self, issue_ack: int | None, ready: bool, turned: int) -> None:
        model, offered = self.model, issue_ack is not None
        full, gives = not model.takes, bool(model.checked) and ready
        self._was_full = full or (self._was_full and not model.empty)
        cover("straight through", offered and model.empty and ready)
        cover("kept, because the output is not ready", offered and model.empty and not ready)
        cover("kept, because others wait", offered and not model.empty and ready and not full)
        cover("full", full and offered)
        cover("refused while full and giving", full and offered and gives)
        cover("empty after full", self._was_full and len(model.checked) == 1 and gives)
        end, after = model.end, bool(model.inner)
        leaves = end is not None and len(model.checked) < 2
        if offered and not full and after:
            cover("a read waits for what comes", len(model.inner) % 2 == 0 and leaves)
        if leaves:
            cover("back to back through the memory", model.checked and after and ready)
            cover("lost", end.wrong > 1)
            cover("lost the only one", end.wrong > 1 and not model.checked and not after)
            cover("lost between others", end.wrong > 1 and model.checked and after)
        if turned.bit_count() == 1 and offered and not full:
            in_issue_ack = turned < 1 << _ISSUE_ACK.width
            cover("corrected a bit of the issue acknowledgement", in_issue_ack)
            cover("corrected a check bit", not in_issue_ack and turned < 1 << _CODE)
            cover("a wrong copy of the owner", turned >= 1 << _CODE)
        if offered and not full and turned.bit_count() == 2 and turned < 1 << _CODE:
            cover("lost with a wrong owner", turned & _OWNER)

    async def drain(self) -> None:
        """Run until the buffer is empty; each entry has then left, or was reported."""
        for _ in range(DEPTH + 6):
            await self.cycle(None, ready=True)
        assert self.model.empty
        assert self.given == self.taken + self.lost


def _turned(rng: random.Random, rates: tuple[float, float]) -> int:
    """Draw the inverted bits of a word: none, one or two, at these rates."""
    one, two = rates
    draw = rng.random()
    number = 1 if draw < one else 2 if draw < one + two else 0
    return sum(1 << bit for bit in rng.sample(range(_BITS), number))


async def _random(dut, *rates: tuple[float, float], injections: float = 0) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench, issue_ack = _Bench(dut), None
    pace = Pace(rng, ("put", "take"))
    for cycle in range(scaled(_CYCLES)):
        if cycle % 100 == 0:
            chosen = rng.choice(rates)
        acts = pace.acts()
        if issue_ack is None and acts["put"]:
            issue_ack = rng.getrandbits(_ISSUE_ACK.width)
        # Inverted bits do not count while the issue acknowledgement waits in front of the buffer.
        turned, inject = _turned(rng, chosen), None
        if injections and rng.random() < injections:
            inject = rng.choice([0, 1, 2])
        if await bench.cycle(issue_ack, ready=acts["take"], turned=turned, inject=inject):
            issue_ack = None
    if issue_ack is not None:
        while not await bench.cycle(issue_ack, ready=True):
            pass
    await bench.drain()


@cocotb.test()
async def random_traffic(dut):
    """Random traffic leaves in order, each acknowledgement once and unchanged."""
    await _random(dut, (0, 0))


@cocotb.test()
async def bit_errors(dut):
    """A single-bit error of a word is corrected; a word with two bit errors is dropped and
    reported."""
    await _random(dut, (0.1, 0), (0, 0.1), (0.3, 0.3), (1, 0))


@cocotb.test()
async def injections(dut):
    """Injected bit errors are corrected, or dropped and reported."""
    await _random(dut, (0, 0), injections=0.3)


@cocotb.test()
async def every_bit_error(dut):
    """Errors in each bit of a word, and in each pair of bits that are adjacent, or of which one
    belongs to the owner or to its copy, are handled."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    ones = [1 << bit for bit in range(_BITS)]
    owners = [bit for bit in range(_BITS) if (_OWNER | -1 << _CODE) >> bit & 1]
    twos = [3 << bit for bit in range(_BITS - 1)]
    twos += [1 << owner | 1 << bit for owner in owners for bit in range(_BITS) if bit != owner]
    # Neither the first acknowledgement nor those behind it bypass the memory.
    await bench.cycle(rng.getrandbits(_ISSUE_ACK.width), ready=False)
    for turned in ones + twos:
        assert await bench.cycle(rng.getrandbits(_ISSUE_ACK.width), ready=True, turned=turned)
    await bench.drain()


@cocotb.test()
async def fill_then_drain_then_full_rate(dut):
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for number in range(DEPTH + 2):
        assert await bench.cycle(number, ready=False)
    late = DEPTH + 2
    for _ in range(3):
        assert not await bench.cycle(late, ready=False)
    for _ in range(DEPTH + 4):
        if await bench.cycle(late, ready=True):
            late = None
    # One per cycle, except for the read that waits for the late acknowledgement.
    assert bench.taken == DEPTH + 3
    assert late is None
    await bench.cycle(0, ready=False)
    for number in range(50):
        assert await bench.cycle(number, ready=True)
    await bench.drain()


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
