"""Tests of bit errors in issue acknowledgements that wait in a channel's memory."""

import random

import cocotb

from rtl.channel.channel import Channel
from rtl.interface.encodings import Access, ErrorCode
from rtl.interface.layouts import ErrorReport, IssueAck, TileUpdates
from rtl.lib.secded import code_word
from tb.channel.tables import PARAMETERS
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.inside import in_halves, turn
from tb.payload import Fields

__all__ = ["injected_bits", "single_bit_error", "double_bit_error"]

_INPUTS = inputs_of(Channel(PARAMETERS))
_ISSUE_ACK, _UPDATES = Fields(IssueAck(PARAMETERS)), Fields(TileUpdates(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_CODE = code_word(IssueAck(PARAMETERS)).size  # a copy of the owner follows
_MEMORY = "issue_ack_buffer.waiting.words.storage"
_EVENTS = 8  # events that wait behind the buffer; later ones wait in its memory
_ISSUE_ACKS = 24
_ROW = 9
_WRONG = _EVENTS + _ROW  # acknowledgement with bit errors
_ALL = [*range(_ISSUE_ACKS)]
_PAIRS = 10

expect(
    *(
        f"waiting issue acknowledgement {what}"
        for what in ("corrected", "lost", "injected and corrected", "injected and lost")
    )
)


def _issue_ack(number: int) -> dict[str, int]:
    """Make an acknowledgement of a tile of its own, so that none joins another."""
    dispatch_index, wavefront = divmod(number, PARAMETERS.wavefronts)
    return {"dispatch_index": dispatch_index, "wavefront": wavefront, "owner": number % 2}


def _without(lost: int, *bits: int) -> tuple[list[int], int, list[dict[str, int]]]:
    """Return the expected results of a pass that loses an acknowledgement: its report has the tile
    as it was read, with inverted bits, and the right owner."""
    left = [number for number in _ALL if number != lost]
    error = dict.fromkeys(_REPORT.names, 0) | {"code": ErrorCode.TRACKER_CORRUPT.value}
    tile = _issue_ack(lost)
    word = _ISSUE_ACK.pack(_payload(lost)) ^ sum(1 << bit for bit in bits)
    read = _ISSUE_ACK.named(word % (1 << _ISSUE_ACK.width))
    return left, 0, [error | {name: read[name] for name in tile} | {"owner": tile["owner"]}]


def _payload(number: int) -> dict[str, int]:
    return _issue_ack(number) | {"atom": 10 * number, "access": Access.UPDATE.value}


def _inject(dut, bits: int) -> None:
    """Request an injection of 0, 1 or 2 bit errors into the next queued acknowledgement, from the
    next cycle on.
    """
    dut.inject__set.value = dut.inject__select.value = int(bits > 0)
    dut.inject__double.value = int(bits == 2)


async def _pass(
    dut, *bits: int, wrong: int = _WRONG, injected: int = 0
) -> tuple[list[int], int, list[dict[str, int]]]:
    """Pass acknowledgements through the channel, one of them with inverted or injected bits; return
    the acknowledgements that leave, the number of corrections, and the errors.
    """
    await reset(dut, _INPUTS)
    await next_cycle(dut)  # the memory owes nothing from before the reset
    for number in range(_ISSUE_ACKS):
        dut.issue_acks__payload.value = _ISSUE_ACK.pack(_payload(number))
        dut.issue_acks__valid.value = 1
        _inject(dut, injected if number == wrong - 1 else 0)
        await settled()
        assert bool(dut.inject__armed.value) == (injected > 0 and number == wrong)
        assert int(dut.issue_acks__ready.value)
        await next_cycle(dut)
    dut.issue_acks__valid.value = 0
    await next_cycle(dut)
    turn(in_halves(dut, _MEMORY, wrong - _EVENTS), *bits)
    dut.tile_issue_acks__ready.value = 1
    left, corrected, errors = [], 0, []
    for _ in range(4 * _ISSUE_ACKS):
        await settled()
        corrected += int(dut.corrected.value)
        if int(dut.errors__2__valid.value):
            errors.append(_REPORT.named(int(dut.errors__2__report.value)))
        if int(dut.tile_issue_acks__valid.value):
            event = _UPDATES.named(int(dut.tile_issue_acks__payload.value))
            number = event["dispatch_index"] * PARAMETERS.wavefronts + event["wavefront"]
            expected = _issue_ack(number) | {"atom": 10 * number, "count": 1}
            assert event == expected
            left.append(number)
        await next_cycle(dut)
    return left, corrected, errors


@cocotb.test()
async def single_bit_error(dut):
    """A single-bit error in any bit of a waiting issue acknowledgement is corrected: the
    acknowledgement leaves unchanged.
    """
    for bit in range(len(in_halves(dut, _MEMORY, 0))):
        # A wrong copy of the owner does no harm, and is not noticed.
        assert await _pass(dut, bit) == (_ALL, bit < _CODE, []), bit
        cover("waiting issue acknowledgement corrected")


@cocotb.test()
async def double_bit_error(dut):
    """Only the affected acknowledgement is lost; its tile is reported as read, to its owner."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    owner = _ISSUE_ACK.pack({"owner": 1}).bit_length() - 1
    for number in range(scaled(_PAIRS)):
        bits = rng.sample([bit for bit in range(_CODE) if bit != owner], 2)
        if number % 2:
            bits[0] = owner
        assert await _pass(dut, *bits) == _without(_WRONG, *bits)
        cover("waiting issue acknowledgement lost")


@cocotb.test()
async def injected_bits(dut):
    """Only the next issue acknowledgement that waits has the injected bit errors."""
    for wrong in (_WRONG, _WRONG + 1):  # one of each context
        assert await _pass(dut, wrong=wrong, injected=1) == (_ALL, 1, [])
        cover("waiting issue acknowledgement injected and corrected")
        assert await _pass(dut, wrong=wrong, injected=2) == _without(wrong)
        cover("waiting issue acknowledgement injected and lost")
